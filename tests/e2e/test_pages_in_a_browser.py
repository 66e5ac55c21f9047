"""Every page in Chromium, on a desktop and a phone, light and dark: no error, nothing off origin, nothing serious."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import Served
from tests.e2e.visits import wrong_with

PATHS = [
    "/runs",
    "/runs/new",
    "/runs/{completed}",
    "/runs/{running}",
    "/runs/{paused}",
    "/runs/{cancelled}",
    "/runs/{repairs}",
    "/runs/{waiting}",
    "/runs/{completed}/fresh-starts",
    "/runs/{completed}/grid",
    "/runs/{completed}/refinement",
    "/runs/{cancelled}/refinement?count_last=1&published=1",
    "/refinement?set={problem_set}",
    "/runs/{patient}/precision",
    "/runs/{hasty}/precision?precision=30&show=imprecise",
    "/runs/{hasty}/precision/{rewritten_item}",
    "/runs/{patient}/precision/{audited_item}?lines=all",
    "/precision",
    "/runs/{completed}/trajectories/{repaired_trajectory}",
    "/runs/{hostile}/trajectories/{hostile_trajectory}",
    "/runs/{completed}/trajectories/{repaired_trajectory}?q=sorted&open=all",
    "/leaderboard",
    "/compare",
    "/compare?runs={completed},{cancelled},{running}",
    "/models",
    "/models/{model}",
    "/problem-sets",
    "/problem-sets/new",
    "/recordings/new",
    "/problem-sets/{problem_set}?q=eval/1&buggy=1",
    "/problem-sets/{problem_set}",
    "/problem-sets/{problem_set}/problems/{problem}",
    "/problem-sets/{problem_set}/problems/{coded_problem}",
    "/computed",
    "/calculator?solved=84,17,4,1,3,0&of=164&problems=164&attempts=6&first=50",
]


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_wrong_with_a_page(browser: Browser, served: Served, path: str) -> None:
    context = browser.new_context()
    assert wrong_with(context, served.url, address(served, path)) == []
    context.close()


def test_the_chart_follows_the_theme_and_the_choice_is_kept(browser: Browser, served: Served) -> None:
    context = browser.new_context(color_scheme="light")
    page = context.new_page()
    page.goto(f"{served.url}/runs/{served.example.completed}")
    # Behind the two edges of the careful fit's band.
    curve = page.locator(".chart .js-line").nth(2)
    expect(curve).to_have_css("stroke", "rgb(0, 114, 178)")
    page.get_by_role("button", name="Switch between light and dark").click()
    expect(curve).to_have_css("stroke", "rgb(86, 180, 233)")
    page.goto(f"{served.url}/models")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    context.close()


def test_a_trajectory_is_walked_through_by_keys(browser: Browser, served: Served) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    address = f"{served.url}/runs/{served.example.completed}/trajectories/{served.example.repaired_trajectory}"
    page.goto(f"{address}#attempt-0")
    opened = page.locator(".timeline details.card[open] .attempt-name")
    # The last attempt, and the one that the address names.
    expect(opened).to_have_text(["Attempt 0 · first answer", "Attempt 2"])
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(":focus .attempt-name")).to_have_text("Attempt 1")
    expect(opened).to_have_count(3)
    page.keyboard.press("k")
    expect(page.locator(":focus .attempt-name")).to_have_text("Attempt 0 · first answer")
    page.keyboard.press("/")
    # What is typed is text, not keys.
    page.keyboard.type("jk")
    expect(page.get_by_label("Search the attempts")).to_have_value("jk")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(r"/trajectories/\d+$"))
    expect(page.get_by_role("link", name="Previous")).to_have_attribute("href", address.removeprefix(served.url))
    context.close()


def test_the_keys_of_a_trajectory_stay_switched_off(browser: Browser, served: Served) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    path = f"/runs/{served.example.completed}/trajectories/{served.example.repaired_trajectory}"
    page.goto(served.url + path)
    page.get_by_label("Keys").uncheck()
    page.reload()
    expect(page.get_by_label("Keys")).not_to_be_checked()
    for key in ("j", "k", "/", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator(":focus")).to_have_count(0)
    assert page.url == served.url + path
    page.get_by_label("Keys").check()
    page.locator("h1").click()
    page.keyboard.press("j")
    expect(page.locator(":focus .attempt-name")).to_have_text("Attempt 0 · first answer")
    context.close()


def test_pages_work_without_scripts(browser: Browser, served: Served) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{served.url}/runs/{served.example.completed}")
    page.get_by_text("Figures of the chart").click()
    expect(page.get_by_role("cell", name="50.9 – 65.8")).to_be_visible()
    page.get_by_role("link", name="Unsolved", exact=True).click()
    page.locator("#trajectories tbody a").first.click()
    expect(page.get_by_text("Attempt 0 · first answer")).to_be_visible()
    page.get_by_label("Search the attempts").fill("has_close")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text("“has_close” is in")).to_be_visible()
    page.goto(f"{served.url}/runs/new")
    page.get_by_label("Attempts", exact=True).fill("none")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_text("Enter a whole number.")).to_be_visible()
    expect(page.get_by_label("Attempts", exact=True)).to_have_value("none")
    context.close()


def address(served: Served, path: str) -> str:
    return path.format(**{name: getattr(served.example, name) for name in served.example.__slots__})
