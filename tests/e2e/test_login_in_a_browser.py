"""A team's installation in a real browser: logging in, sending forms, making a token, logging out."""

import contextlib
import shutil
import socket
from pathlib import Path

from argon2 import PasswordHasher
from cryptography.fernet import Fernet
from playwright.sync_api import Browser, Page

from app.config import Settings
from app.db.session import Database
from tests.e2e.conftest import serve
from tests.e2e.visits import AXE, SERIOUS
from tests.fixtures.example_data import store_example

PASSWORD = "correct horse battery"


def serious_of(page: Page, said: list[str]) -> list[str]:
    """What axe finds serious on a page; that it offends against the policy itself is not counted as said."""
    before = list(said)
    page.evaluate(AXE)
    found: list[str] = page.evaluate(SERIOUS)
    said[:] = before
    return found


def test_a_team(browser: Browser, sqlite_template: Path, tmp_path: Path) -> None:
    shutil.copy(sqlite_template, tmp_path / "halflife.db")
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    settings = Settings(
        home=tmp_path,
        port=port,
        public_url=f"http://127.0.0.1:{port}",
        password=PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD),
        secret_key=Fernet.generate_key().decode(),
    )
    database = Database(settings.database)
    example = store_example(database)
    database.close()
    said: list[str] = []
    for scripts in (True, False):
        context = browser.new_context(java_script_enabled=scripts)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        with serve(settings) as url:
            page.goto(f"{url}/runs/{example.paused}")
            assert page.title() == "Log in · Halflife"
            assert not scripts or serious_of(page, said) == []
            page.fill("#password", PASSWORD)
            page.click("main button")
            assert page.url == f"{url}/runs/{example.paused}"
            (cookie,) = context.cookies()
            assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")

            page.goto(f"{url}/tokens")
            page.fill("#name", f"with scripts: {scripts}")
            page.click("text=Make the token")
            assert page.locator("pre code").first.text_content().startswith("hl_")
            assert not scripts or serious_of(page, said) == []
            page.click("footer >> text=Log out")
            assert page.url == f"{url}/login"
            page.goto(f"{url}/tokens")
            assert page.url == f"{url}/login?next=/tokens"
        context.close()
    assert said == []
