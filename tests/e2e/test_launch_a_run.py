"""The main job as a newcomer does it: start Halflife by its command, launch a run in the browser, see its curve."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from app.config import ROOT, Settings
from tests.fixtures.chat_server import ChatServer

RUN_SECONDS = 120_000
"""Milliseconds, as Playwright counts."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`halflife serve` on an empty home."""
    home = tmp_path_factory.mktemp("home")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = Settings(home=home, port=port)
    command = [str(Path(sys.executable).parent / "halflife"), "serve"]
    environment = {"PATH": "/usr/bin:/bin", **settings.environment()}
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        first_line = server.stderr.readline()
        assert f"http://127.0.0.1:{port}" in first_line, first_line + server.stderr.read()
        yield f"http://127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGINT)
        # Ctrl-C ends all of it, in order.
        with server:
            assert server.wait(30) == 0


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose console must stay silent."""
    opened = browser.new_page()
    troubles: list[str] = []
    opened.on("console", lambda m: troubles.append(m.text) if m.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    yield opened
    opened.close()
    assert troubles == []


def test_a_run_of_the_baseline_shows_its_curve(address: str, page: Page) -> None:
    page.goto(address)
    page.get_by_role("link", name="New run").first.click()
    page.get_by_label("Problem set").select_option(label=_option(page, "starter"))
    page.get_by_label("Model", exact=True).select_option(label=_option(page, "repair-search"))
    page.get_by_label("Debug: the model is given a buggy program").check()
    page.get_by_label("Only the first", exact=True).fill("12")
    page.get_by_label("Attempts", exact=True).fill("3")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_role("heading", name="repair-search on starter")).to_be_visible()
    # The page follows the run by itself.
    expect(page.locator("#live")).to_contain_text("Completed", timeout=RUN_SECONDS)
    expect(page.locator("#live .scatterlayer .point").first).to_be_attached()
    expect(page.locator("#live")).to_contain_text("E0, solved at the first repair")
    expect(page.locator("#live")).to_contain_text("of 12")
    # Twelve trajectories, each a link to its attempts.
    links = page.locator("a[href*='/trajectories/']")
    links.last.click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("details[open]").first).to_contain_text(
        re.compile("Accepted|Wrong answer|Runtime error|Time limit")
    )


def test_a_run_is_judged_again(address: str, page: Page) -> None:
    """The run of the test before: by the same rules nothing changes, in sight of whoever waits for it."""
    page.goto(address)
    page.get_by_role("link", name="repair-search").first.click()
    page.get_by_role("button", name="Re-judge").click()
    expect(page.get_by_role("heading", name="What it does to the figures")).to_be_visible(timeout=RUN_SECONDS)
    expect(page.locator("h2").first).to_contain_text("0 verdicts of ")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("link", name="by judge ")).to_be_visible()


def test_a_program_is_tried(address: str, page: Page) -> None:
    page.goto(f"{address}/problem-sets")
    page.get_by_role("link", name="starter").first.click()
    page.get_by_role("link", name="beacon_overlap").click()
    page.get_by_role("link", name="buggy: common-factor").click()
    page.get_by_role("button", name="Judge it").click()
    # The verdict comes without a reload.
    expect(page.locator("#verdict")).to_contain_text("Wrong answer", timeout=RUN_SECONDS)
    expect(page.locator("#verdict")).to_contain_text("First failing case")
    expect(page.locator("#verdict")).to_contain_text("limit by")
    page.get_by_role("link", name="the reference").click()
    page.get_by_role("button", name="Judge it").click()
    expect(page.locator("#verdict")).to_contain_text("Accepted", timeout=RUN_SECONDS)


def test_a_model_is_added_and_asked(address: str, page: Page, chat_server: ChatServer) -> None:
    page.goto(f"{address}/models")
    page.get_by_label("Name").fill("remote")
    page.get_by_label("Base URL").fill(chat_server.base_url)
    page.get_by_label("Model", exact=True).fill("normal")
    page.get_by_label("API key").fill("sk-not-to-be-shown-1234")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("heading", name="remote")).to_be_visible()
    assert "sk-not-to-be-shown" not in page.content()

    page.goto(f"{address}/runs/new")
    page.get_by_label("Problem set").select_option(label=_option(page, "starter"))
    page.get_by_label("Model", exact=True).select_option(label=_option(page, "remote"))
    page.get_by_label("Only these problems").fill("beacon_overlap")
    page.get_by_role("button", name="Iterative refinement").click()
    expect(page.get_by_label("Attempts", exact=True)).to_have_value("10")
    expect(page.locator("#plan")).to_contain_text("1 – 10")
    page.get_by_label("Attempts", exact=True).fill("2")
    page.get_by_role("button", name="Preview again").click()
    # Exactly what is sent, for the one problem chosen.
    expect(page.locator("#plan")).to_contain_text("def beacon_overlap(")
    expect(page.locator("#plan")).to_contain_text("unknown")
    assert chat_server.bodies == []

    # The dry run has a tab of its own; the form stays as it is.
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Dry run of one problem").click()
    dry = opened.value
    expect(dry.locator("#live")).to_contain_text("Completed", timeout=RUN_SECONDS)
    expect(dry.locator("#live")).to_contain_text("It is on no board.")
    dry.close()
    assert len(chat_server.bodies) == 1
    assert chat_server.bodies[0]["messages"][0]["content"] in page.locator("#plan").inner_text()

    chat_server.bodies.clear()
    page.get_by_role("button", name="Start the run").click()
    expect(page.locator("#live")).to_contain_text("Completed", timeout=RUN_SECONDS)
    # "def f(): return 1" defines no beacon_overlap. Both attempts are asked for, and each reply is 7 + 3 tokens.
    expect(page.locator("#live")).to_contain_text("20 tokens")
    assert len(chat_server.bodies) == 2
    assert chat_server.headers[0]["authorization"] == "Bearer sk-not-to-be-shown-1234"


def _option(page: Page, text: str) -> str:
    """The whole label of the option that holds `text`."""
    return page.locator("option", has_text=text).first.inner_text()
