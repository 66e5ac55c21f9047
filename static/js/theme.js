// Runs before the page is drawn, so that a chosen theme does not flash the other one first.
function themeInForce() {
  if (matchMedia("print").matches) return "light";
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
}

const chosenTheme = localStorage.getItem("halflife-theme");
if (chosenTheme === "light" || chosenTheme === "dark") document.documentElement.dataset.theme = chosenTheme;
