// The theme switch and the copy buttons: the only behaviour every page has.
function announceTheme() {
  document.dispatchEvent(new CustomEvent("halflife:theme"));
}

const themeSwitch = document.querySelector("[data-theme-switch]");
themeSwitch.hidden = false;
themeSwitch.addEventListener("click", () => {
  const next = themeInForce() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem("halflife-theme", next);
  announceTheme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", announceTheme);

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
    const shape = button.querySelector("use");
    const before = shape.getAttribute("href");
    shape.setAttribute("href", before.replace(/#.*/, "#check"));
    setTimeout(() => shape.setAttribute("href", before), 1500);
  });
}
