"""Every chart on every page has a sentence, a table of its figures and files of them, and is drawn as it may be."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Served
from tests.e2e.test_boards_and_links import share
from tests.e2e.test_pages_in_a_browser import PATHS, address

DRAWN = """() => [...document.querySelectorAll("[role=img], [data-chart]")].filter(chart => !chart.closest("td"))
  .map(chart => ({
    sentence: document.getElementById(chart.getAttribute("aria-labelledby"))?.innerText ?? chart.ariaLabel ?? "",
    rows: document.getElementById(chart.getAttribute("aria-details"))?.querySelectorAll("tbody tr").length ?? 0,
  }))"""
"""Charts outside tables, each by its name and the rows of its table."""

FITS = """height => {
  const room = name => document.querySelector(name).getBoundingClientRect();
  const [chart, drawing] = [room("#chart"), room("#chart .main-svg")];
  return Math.abs(chart.height - height) < 1 && Math.abs(drawing.height - height) < 1
    && Math.abs(chart.width - drawing.width) < 1;
}"""
"""Whether the first chart has this height and its drawing all of its room."""

TRACES = [
    {"type": "scatter", "x": [0, 1], "y": [1, 2]},
    {"type": "bar", "x": [0, 1], "y": [1, 2]},
    {"type": "box", "y": [1, 2, 3]},
    {"type": "heatmap", "z": [[1, 2], [3, 4]], "colorscale": "Cividis"},
    {
        "type": "sankey",
        "node": {"label": ["AC", "WA"]},
        "link": {"source": [0], "target": [1], "value": [3]},
    },
]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that says what the policy refused."""
    context = browser.new_context()
    context.add_init_script(
        "document.addEventListener('securitypolicyviolation', event =>"
        " console.error('violation', event.violatedDirective, event.blockedURI))"
    )
    yield context.new_page()
    context.close()


def test_each_has_a_sentence_a_table_and_files(browser: Browser, page: Page, served: Served) -> None:
    reader = browser.new_context(java_script_enabled=False)
    board = f"/leaderboard?set={served.example.problem_set}"
    shared = [share(reader, served, path) for path in (board, f"/runs/{served.example.completed}")]
    reader.close()
    found = 0
    for url in [*(served.url + address(served, path) for path in PATHS), *shared]:
        page.goto(url)
        charts = page.evaluate(DRAWN)
        found += len(charts)
        for chart in charts:
            assert chart["sentence"].endswith("."), (url, chart)
            assert chart["rows"], (url, chart)
        files = page.locator("a[download]").evaluate_all("links => links.map(link => link.href)")
        assert bool(charts) <= bool(files), url
        for file in files:
            answer = page.request.get(file)
            assert answer.ok, file
            assert answer.body(), file
    # Five runs with verdicts have a curve and bars, the rounds of repairs two charts, the two pages of refinement two
    # each, and a comparison four; the rest one each: arms, board, its link, the run's, the calculator, how it is
    # computed, and the plane.
    assert found == 2 * 5 + 2 + 2 * 2 + 4 + 7


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: str(trace["type"]))
def test_every_kind_is_drawn_under_the_policy(page: Page, served: Served, trace: dict[str, object]) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{served.url}/runs/{served.example.completed}")
    page.evaluate("trace => Plotly.newPlot('chart', [trace], {}, {displayModeBar: false})", trace)
    expect(page.locator(f"#chart .{trace['type']}layer, #chart g.{trace['type']}").first).to_be_attached()
    assert page.evaluate("document.getElementById('chart').data[0].type") == trace["type"]
    assert said == []


def test_a_chart_fills_its_card_and_keeps_its_room(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{served.url}/runs/{served.example.completed}")
    chart = page.locator("#chart")
    cards = [page.locator(".beside > .card").nth(number).bounding_box() for number in (0, 1)]
    assert None not in cards
    assert cards[0]["height"] == cards[1]["height"]
    height = chart.evaluate("chart => chart.clientHeight")
    # Nothing of the card is empty: below the chart stands the table's line alone.
    assert cards[0]["height"] - height < 120
    assert height > 500
    page.locator("#chart-figures > summary").click()
    expect(page.locator("#points")).to_be_visible()
    assert chart.evaluate("chart => chart.clientHeight") == height
    page.wait_for_function(FITS, arg=height)
    page.set_viewport_size({"width": 375, "height": 800})
    page.wait_for_function(FITS, arg=360)
