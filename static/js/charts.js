// Draws each figure from the JSON beside it, in the theme in force, and again when either changes.
const drawn = new WeakMap();

// A chart follows the room that it has.
const rooms = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const { width, height } = target._fullLayout;
    const moved = Math.abs(target.clientWidth - width) >= 1 || Math.abs(target.clientHeight - height) >= 1;
    if (target.clientHeight && moved) Plotly.Plots.resize(target);
  }
});

// Beside facts that is what they leave it; the table under it, once opened, must not take that away.
function keepRoom(event) {
  const card = event.target.closest("summary")?.closest(".beside > .card");
  const chart = card?.querySelector(":scope > .chart");
  if (chart) card.style.setProperty("--room", `${chart.clientHeight}px`);
}

function drawCharts() {
  for (const element of document.querySelectorAll("[data-chart]")) {
    const source = document.getElementById(element.dataset.chart).textContent;
    const theme = themeInForce();
    if (drawn.get(element) === theme + source) continue;
    drawn.set(element, theme + source);
    const figure = JSON.parse(source)[theme];
    // What a reader zoomed in on or switched off stays so when the figure is drawn anew.
    figure.layout.uirevision = "kept";
    // A narrow chart has no room for the legend beside the name of its axis.
    if (element.clientWidth < 660 && figure.layout.showlegend !== false) {
      Object.assign(figure.layout.legend, { orientation: "v", x: 0, xanchor: "left", y: -0.27, yanchor: "top" });
      const names = figure.data.filter((trace) => trace.showlegend !== false).length;
      figure.layout.margin.b = 66 + 19 * names;
      element.style.height = `${Math.max(360, 230 + figure.layout.margin.b)}px`;
    }
    Plotly.react(element, figure.data, figure.layout, { displayModeBar: false });
    rooms.observe(element);
  }
}

drawCharts();
document.addEventListener("click", keepRoom);
document.addEventListener("halflife:theme", drawCharts);
document.addEventListener("halflife:figures", drawCharts);
