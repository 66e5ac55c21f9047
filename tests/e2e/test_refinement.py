"""A grid in a browser: its heatmap, on a desktop and a phone, light and dark; and a challenge set without scripts."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from app.config import Settings
from app.db.session import Database
from app.domain.protocol.policy import Protocol
from tests.e2e.conftest import serve
from tests.e2e.visits import AXE, SERIOUS
from tests.fixtures.example_data import store_model, store_problem_set, store_run

CELLS = [(0.1, 0.3, 4), (0.1, 0.95, 6), (0.9, 0.3, 9), (0.9, 0.95, 7)]
"""Temperature, top-p, and how many of sixteen problems are solved at once; as many again are later."""


@pytest.fixture(scope="module")
def site(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A grid of four cells, runs 1 to 4."""
    home = tmp_path_factory.mktemp("refinement")
    shutil.copy(sqlite_template, home / "halflife.db")
    settings = Settings(home=home)
    database = Database(settings.database)
    with database.write() as session:
        problem_set, problems = store_problem_set(session, "Grid", 20)
        for number, problem in enumerate(problems):
            problem.difficulty = ("easy", "medium", "hard")[number % 3]
        model = store_model(session, "qwen2.5-coder:7b", price=0.2)
        for temperature, top_p, solved in CELLS:
            ways = [("A",)] * solved + [("W", "R", "A")] * solved + [("W", "T", "W")] * (20 - 2 * solved)
            run = store_run(
                session, problem_set, problems, model, ways,
                protocol=Protocol(attempts=3, temperature=temperature, top_p=top_p),
            )  # fmt: skip
            run.baseline_run_id = None if run.id == 1 else 1
    database.close()
    with serve(settings) as url:
        yield url


@pytest.mark.parametrize("width", [1280, 375])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_heatmap_is_drawn_and_the_page_is_in_order(browser: Browser, site: str, width: int, scheme: str) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type != "log" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{site}/runs/3/grid")
    expect(page.locator("#grid-chart .annotation-text").filter(has_text=re.compile(r"^90\.0$"))).to_be_visible()
    page.get_by_role("link", name="pass@1", exact=True).click()
    expect(page.locator("#grid-chart .annotation-text").filter(has_text=re.compile(r"^45\.0$"))).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Before axe, whose own styles the policy refuses.
    assert said == []
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(AXE)
    assert page.evaluate(SERIOUS) == []
    context.close()


def test_a_challenge_set_is_made_without_scripts(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/runs/1/refinement")
    page.get_by_role("link", name="All runs of the set").click()
    for run in (1, 2):
        page.get_by_label(f"Take run {run} into a challenge set").check()
    page.get_by_label("Problems", exact=True).fill("99")
    page.get_by_label("Name of the set").fill("hardest")
    page.get_by_role("button", name="Make the set").click()
    expect(page.get_by_text("failed 16 problems, fewer than 99")).to_be_visible()
    expect(page.get_by_label("Take run 2 into a challenge set")).to_be_checked()
    page.get_by_label("Problems", exact=True).fill("4")
    page.get_by_role("button", name="Make the set").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("hardest")
    expect(page.get_by_text("ties are broken by key")).to_be_visible()
    context.close()
