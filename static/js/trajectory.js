// Keys of a trajectory's page, and an attempt named by the address folded open.
const summaries = () => [...document.querySelectorAll(".timeline summary")].filter((s) => s.parentElement.matches(".card"));

function move(step) {
  const all = summaries();
  const reached = all.indexOf(document.activeElement);
  const next = reached < 0 ? (step > 0 ? 0 : all.length - 1) : reached + step;
  const target = all[Math.min(Math.max(next, 0), all.length - 1)];
  if (!target) return;
  target.parentElement.open = true;
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: "start" });
}

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  ArrowRight: () => document.querySelector("[rel=next]")?.click(),
  ArrowLeft: () => document.querySelector("[rel=prev]")?.click(),
  "/": () => document.querySelector("[type=search]").focus(),
};

// Single keys get in the way of speech input and of slips: they can be switched off, and stay so.
const KEPT = "halflife-keys";
const keysSwitch = document.querySelector("[data-keys]");
const keysOn = () => localStorage.getItem(KEPT) !== "off";
if (keysSwitch) {
  keysSwitch.checked = keysOn();
  keysSwitch.addEventListener("change", () => localStorage.setItem(KEPT, keysSwitch.checked ? "on" : "off"));
}

document.addEventListener("keydown", (event) => {
  if (!keysOn()) return;
  // Not while somebody types, nor where the arrows scroll what is wider than its box.
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, .scroll")) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

function openNamed() {
  const named = location.hash && document.querySelector(`.timeline > ${CSS.escape(location.hash).replace("\\#", "#")} > details`);
  if (named) named.open = true;
}

openNamed();
addEventListener("hashchange", openNamed);
