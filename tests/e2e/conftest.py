"""A real browser, and the application on a free loopback port."""

import contextlib
import shutil
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, expect, sync_playwright

from app.config import Settings
from app.db.session import Database
from app.main import create_app
from tests.fixtures.example_data import Example, store_example

CHROMIUM = "/usr/bin/chromium"
START_SECONDS = 20

# Other tests may keep the cores busy meanwhile: what is expected may take its time.
expect.set_options(timeout=15_000)


@dataclass(frozen=True)
class Served:
    """The example behind an address."""

    url: str
    home: Path
    example: Example


# Not for the session: Playwright keeps an event loop running in this thread, and later tests start their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium without anything that talks to the network by itself."""
    arguments = [
        "--no-sandbox",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--disable-gpu",
    ]
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield opened
        opened.close()


@contextlib.contextmanager
def serve(settings: Settings) -> Iterator[str]:
    """Serve the application on this machine, in a thread; gives its address.

    On a free port, unless the settings hold the address under which browsers are to find it.
    """
    port = settings.port if settings.team else 0
    with socket.create_server(("127.0.0.1", port)) as listener:
        server = uvicorn.Server(uvicorn.Config(create_app(settings), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(START_SECONDS)


@pytest.fixture(scope="session")
def served(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The example over SQLite."""
    home = tmp_path_factory.mktemp("served")
    shutil.copy(sqlite_template, home / "halflife.db")
    settings = Settings(home=home)
    database = Database(settings.database)
    example = store_example(database)
    database.close()
    with serve(settings) as url:
        yield Served(url, home, example)
