"""The leaderboard and shared links in Chromium: drawn without a fault, and working without scripts."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.e2e.conftest import Served
from tests.e2e.visits import wrong_with


@pytest.fixture
def reader(browser: Browser) -> Iterator[BrowserContext]:
    """A browser whose user turned scripts off."""
    context = browser.new_context(java_script_enabled=False)
    yield context
    context.close()


def share(reader: BrowserContext, served: Served, path: str) -> str:
    """Make a link by the form; returns its address."""
    page = reader.new_page()
    page.goto(served.url + path)
    page.get_by_role("link", name="Share", exact=True).click()
    page.get_by_role("button", name="Make the link").click()
    address = page.locator("pre code").inner_text()
    page.close()
    return address


def test_nothing_is_wrong_with_the_pages(browser: Browser, reader: BrowserContext, served: Served) -> None:
    board = f"/leaderboard?set={served.example.problem_set}&unfinished=1"
    run = f"/runs/{served.example.completed}"
    links = [share(reader, served, path).removeprefix(served.url) for path in (board, run)]
    context = browser.new_context()
    for path in (board, "/share", f"/share/new?run={served.example.completed}", *links):
        assert wrong_with(context, served.url, path) == []
    context.close()


def test_the_board_is_sorted_narrowed_and_opened_without_scripts(reader: BrowserContext, served: Served) -> None:
    page = reader.new_page()
    page.goto(f"{served.url}/leaderboard?set={served.example.problem_set}")
    header = page.locator("th[aria-sort]")
    expect(header).to_have_attribute("aria-sort", "descending")
    expect(header).to_contain_text("Final accuracy")
    page.get_by_role("link", name="E0, %").click()
    expect(page.locator("th[aria-sort]")).to_contain_text("E0")
    page.get_by_text("Columns and rows").click()
    page.get_by_role("checkbox", name="Gain").uncheck()
    page.get_by_label("t_80").check()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_role("columnheader", name="t_80, attempts")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Gain, points")).to_have_count(0)
    expect(page.locator("th[aria-sort]")).to_contain_text("E0")
    page.get_by_text("Conditions and command").first.click()
    expect(page.get_by_text("halflife runs create --problems HumanEval@1").first).to_be_visible()


@pytest.mark.parametrize("path", ["/runs", "/leaderboard?set={}"])
def test_runs_are_chosen_in_a_list_and_compared_without_scripts(
    reader: BrowserContext, served: Served, path: str
) -> None:
    page = reader.new_page()
    page.goto(served.url + path.format(served.example.problem_set))
    for run in (served.example.completed, served.example.cancelled):
        page.get_by_label(f"Choose run {run} to compare").check()
    page.get_by_role("button", name="Compare the chosen runs").click()
    page.wait_for_url("**/compare?runs=*")
    expect(page.get_by_role("heading", name="Compare 2 runs")).to_be_visible()
    page.get_by_role("link", name="Only where they differ").click()
    page.locator(".ends tbody a").first.click()
    expect(page.get_by_text("Attempt 0 · first answer")).to_be_visible()


def test_a_run_is_exported_and_its_link_revoked_without_scripts(reader: BrowserContext, served: Served) -> None:
    address = share(reader, served, f"/runs/{served.example.completed}")
    page = reader.new_page()
    page.goto(address)
    expect(page.get_by_role("heading", name="codestral:22b on HumanEval")).to_be_visible()
    expect(page.get_by_text("58.5 %", exact=True)).to_be_visible()
    page.goto(f"{served.url}/runs/{served.example.completed}")
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV, a row an attempt").click()
    assert download.value.suggested_filename == f"run-{served.example.completed}.csv"
    page.goto(f"{served.url}/share")
    page.get_by_role("button", name="Revoke the link to codestral:22b on HumanEval").first.click()
    expect(page.get_by_role("cell", name="revoked").first).to_be_visible()
    page.goto(address)
    expect(page.get_by_role("heading", name="This link was revoked")).to_be_visible()
