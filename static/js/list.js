// Keeps the list of runs current while one of them is under way: asks for the same page and takes its rows. Nothing is
// exchanged under a reader's hands.
const table = document.querySelector("[data-refresh]");
const EVERY = 5_000;

async function refresh() {
  if (!document.hidden && !table.matches(":hover, :focus-within")) {
    const answer = await fetch(location.href).catch(() => null);
    const page = answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
    const rows = page?.querySelector("table.runs tbody");
    if (rows) {
      const chosen = new Set([...table.querySelectorAll("tbody input:checked")].map((box) => box.value));
      for (const box of rows.querySelectorAll("input")) box.checked = chosen.has(box.value);
      table.querySelector("tbody").replaceWith(rows);
    }
    if (rows && !page.querySelector("[data-refresh]")) return;
  }
  setTimeout(refresh, EVERY);
}

setTimeout(refresh, EVERY);
