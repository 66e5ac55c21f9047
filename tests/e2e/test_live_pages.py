"""A run's page in Chromium while the run goes on: over a stream, by asking, and without scripts."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import create_engine, text

from tests.e2e.conftest import Served

Change = Callable[..., None]
ENDED = 100
"""Problems of the example's run under way, of which 43 have ended."""


@pytest.fixture
def change(served: Served) -> Iterator[Change]:
    """Sets columns of the run under way, as a worker's transaction does; put back at the end."""
    engine = create_engine(f"sqlite:///{served.home}/halflife.db")

    def write(**values: object) -> None:
        columns = ", ".join(f"{name} = :{name}" for name in values)
        with engine.begin() as connection:
            connection.execute(
                text(f"UPDATE runs SET {columns}, revision = revision + 1 WHERE id = :id"),  # noqa: S608
                {**values, "id": served.example.running},
            )

    yield write
    write(trajectories_ended=43, status="running", status_reason=None)
    engine.dispose()


@pytest.fixture(params=["stream", "asking"])
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """A page whose console stays silent, in a browser with and without streams of events."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    if request.param == "asking":
        context.add_init_script("delete window.EventSource")
    opened = context.new_page()
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    yield opened
    context.close()
    assert faults == []


def test_a_run_is_followed_in_place_until_it_ends(page: Page, served: Served, change: Change) -> None:
    page.goto(f"{served.url}/runs/{served.example.running}")
    page.get_by_text("Figures of the chart").click()
    expect(page.get_by_text("43 of 100 problems ended")).to_be_visible()
    link = page.locator("#trajectories tbody a").first
    link.focus()
    chart = page.locator(".chart").bounding_box()
    change(trajectories_ended=44)
    expect(page.get_by_text("44 of 100 problems ended")).to_be_visible()
    # What a reader opened stays open, what they stand on stays theirs, and what they look at stays where it is.
    expect(page.get_by_role("columnheader", name="At risk Nt")).to_be_visible()
    expect(link).to_be_focused()
    assert page.locator(".chart").bounding_box() == chart
    expect(page.locator(".chart .main-svg").first).to_be_visible()

    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    change(status="paused", status_reason="key refused by the server (status 401)")
    expect(page.get_by_text("key refused by the server (status 401)")).to_be_visible()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    expect(page.get_by_role("button", name="Pause")).to_be_hidden()
    assert page.locator(".chart").bounding_box() == chart

    change(trajectories_ended=ENDED, status="completed", status_reason=None)
    expect(page.locator("#notice")).to_contain_text("Completed")
    assert page.locator(".chart").bounding_box()["y"] == pytest.approx(chart["y"], abs=20)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(3000)
    assert asked == []


def test_what_a_reader_switched_off_in_a_chart_stays_off(browser: Browser, served: Served, change: Change) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{served.url}/runs/{served.example.running}")
    fit = page.locator(".legend .traces").first
    page.locator(".legendtoggle").first.click()
    expect(fit).to_have_css("opacity", "0.5")
    engine = create_engine(f"sqlite:///{served.home}/halflife.db")
    waiting = "UPDATE trajectories SET attempts_judged = :judged WHERE run_id = :run AND position = 99"
    with engine.begin() as connection:
        connection.execute(text(waiting), {"judged": 1, "run": served.example.running})
    change(trajectories_ended=48)
    # One more problem than the 60 is at risk at the first attempt.
    expect(page.locator("#points td").nth(2)).to_have_text("61")
    expect(fit).to_have_css("opacity", "0.5")
    with engine.begin() as connection:
        connection.execute(text(waiting), {"judged": 0, "run": served.example.running})
    engine.dispose()
    context.close()


def test_the_list_keeps_itself_current(browser: Browser, served: Served, change: Change) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{served.url}/runs")
    expect(page.get_by_text("43 of 100")).to_be_visible()
    change(trajectories_ended=47)
    expect(page.get_by_text("47 of 100")).to_be_visible(timeout=15_000)
    context.close()


def test_a_stream_that_broke_goes_on_where_it_was(browser: Browser, served: Served, change: Change) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{served.url}/runs/{served.example.running}")
    context.set_offline(True)
    change(trajectories_ended=45)
    page.wait_for_timeout(500)
    context.set_offline(False)
    expect(page.get_by_text("45 of 100 problems ended")).to_be_visible(timeout=15_000)
    context.close()


def test_without_scripts_the_page_is_loaded_again(browser: Browser, served: Served, change: Change) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{served.url}/runs/{served.example.running}")
    change(trajectories_ended=46)
    expect(page.get_by_text("46 of 100 problems ended")).to_be_visible(timeout=20_000)
    context.close()
