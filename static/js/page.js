// The theme switch and the copy buttons: the only behaviour every page has.
function announceTheme() {
  document.dispatchEvent(new CustomEvent("halflife:theme"));
}

document.querySelector("[data-theme-switch]").addEventListener("click", () => {
  const next = themeInForce() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem("halflife-theme", next);
  announceTheme();
});
for (const query of ["(prefers-color-scheme: dark)", "print"]) {
  matchMedia(query).addEventListener("change", announceTheme);
}

// One listener for all copy buttons, so that those of a refreshed part work as well.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
  const shape = button.querySelector("use");
  const before = shape.getAttribute("href");
  shape.setAttribute("href", before.replace(/#.*/, "#check"));
  setTimeout(() => shape.setAttribute("href", before), 1500);
});
