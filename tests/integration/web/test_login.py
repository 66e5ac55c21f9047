"""A team's installation: who gets in, what a form must bring, and what a token may do."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from argon2 import PasswordHasher
from cryptography.fernet import Fernet
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from app.config import Settings
from app.db.session import Database
from app.domain.errors import InputError
from app.main import create_app
from app.services.api_tokens import create_token, list_tokens, revoke_token
from app.web import auth
from app.web.auth import Door, Failures
from tests.integration.web.test_pages import words

ADDRESS = "https://halflife.example"
PASSWORD = "correct horse battery"
# The hash of a real installation takes 64 MB and a core for a moment; this one takes nothing.
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
SECRET = Fernet.generate_key().decode()


def settings(home: Path, database_url: str | None = None, **changes: str) -> Settings:
    given = {"public_url": ADDRESS, "password": CHEAP, "secret_key": SECRET, **changes}
    return Settings(home=home, database_url=database_url, **given)


@pytest.fixture
def team(database: Database, database_url: str, tmp_path: Path) -> Iterator[TestClient]:
    """A browser that has not logged in yet."""
    with TestClient(create_app(settings(tmp_path, database_url)), base_url=ADDRESS, follow_redirects=False) as client:
        yield client


def form_token(client: TestClient, path: str = "/login") -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', client.get(path).text)
    assert found is not None
    return found[1]


def log_in(client: TestClient, password: str = PASSWORD, **fields: str):
    return client.post("/login", data={"csrf_token": form_token(client), "password": password, **fields})


# --- without a login ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/runs", "/models", "/tokens", "/computed", "/no-such-page"])
def test_pages_lead_to_the_login(team: TestClient, path: str) -> None:
    answer = team.get(path)
    assert answer.status_code == 303
    assert answer.headers["location"] == ("/login" if path == "/" else f"/login?next={path}")


@pytest.mark.parametrize("path", ["/api/models", "/api/openapi.json", "/metrics", "/api/no-such-thing"])
def test_programs_are_asked_for_a_token(team: TestClient, path: str) -> None:
    answer = team.get(path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="Halflife"'
    assert answer.json() == {"error": "send an API token: Authorization: Bearer hl_…"}


def test_scripts_of_a_page_that_was_left_open_are_told(team: TestClient) -> None:
    assert team.get("/runs/1/changes", headers={"Sec-Fetch-Dest": "empty"}).status_code == 401
    assert team.get("/runs/1", headers={"Sec-Fetch-Dest": "document"}).status_code == 303


def test_the_login_page_offers_nothing_that_leads_back_to_it(team: TestClient) -> None:
    links = set(re.findall(r'<a [^>]*href="(/[^"]*)"', team.get("/login").text))
    assert links == {"/runs"}
    log_in(team)
    assert {"/runs/new", "/models", "/tokens"} < set(re.findall(r'<a [^>]*href="(/[^"]*)"', team.get("/models").text))


def test_nothing_can_be_changed(team: TestClient, database: Database) -> None:
    assert team.post("/tokens", data={"name": "x", "csrf_token": form_token(team)}).headers["location"] == "/login"
    assert team.post("/api/models", json={}).status_code == 401
    assert list_tokens(database) == []


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/login", "/static/css/theme.css"])
def test_what_is_open(team: TestClient, path: str) -> None:
    assert team.get(path).status_code == 200


# --- logging in -----------------------------------------------------------------------------------------------------


def test_the_password_opens_what_was_asked_for(team: TestClient) -> None:
    answer = log_in(team, next="/models?x=1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/models?x=1")
    shown = team.get("/models")
    assert shown.status_code == 200
    assert shown.headers["cache-control"] == "private, no-cache"
    assert "Log out" in shown.text
    assert team.get("/login?next=/models").headers["location"] == "/models"


def test_the_cookie_is_kept_from_scripts_other_sites_and_plain_connections(team: TestClient) -> None:
    cookie = log_in(team).headers["set-cookie"]
    assert cookie.startswith("__Host-halflife=")
    assert set(cookie.split("; ")[1:]) == {"HttpOnly", "Max-Age=43200", "Path=/", "SameSite=lax", "Secure"}


def test_a_wrong_password(team: TestClient) -> None:
    answer = log_in(team, "correct horse batterz")
    assert answer.status_code == 403
    assert "This is not the password." in words(answer.text)
    assert team.get("/models").status_code == 303


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example", "/\\evil.example", "/login", "x", ""])
def test_the_login_leads_nowhere_else(team: TestClient, wanted: str) -> None:
    assert log_in(team, next=wanted).headers["location"] == "/runs"


def test_a_login_gets_a_session_of_its_own(team: TestClient) -> None:
    before = form_token(team)
    log_in(team)
    assert team.post("/tokens", data={"name": "x", "csrf_token": before}).status_code == 403


def test_logging_out(team: TestClient) -> None:
    log_in(team)
    assert team.post("/logout", data={"csrf_token": form_token(team, "/models")}).headers["location"] == "/login"
    assert team.get("/models").status_code == 303


def test_five_wrong_passwords_are_enough(team: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        assert log_in(team, "wrong").status_code == 403
    answer = log_in(team)
    assert answer.status_code == 429
    assert 290 < int(answer.headers["retry-after"]) <= 300  # the tries took a while
    assert "Try again in 5 minutes." in words(answer.text)
    # The clock of this module alone: on a false one of everybody's, servers of other tests would sleep for minutes.
    later = time.monotonic() + 301
    monkeypatch.setattr(auth, "time", SimpleNamespace(monotonic=lambda: later))
    assert log_in(team).status_code == 303


def test_failures_are_counted_by_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "_MOST_ADDRESSES", 3)
    failures = Failures()
    for last in range(5):
        failures.note(f"2001:db8::{last}")  # one /64
        failures.note("192.0.2.1")
    assert failures.wait_seconds("2001:db8::ffff") > 0
    assert failures.wait_seconds("2001:db8:0:1::1") == 0
    assert failures.wait_seconds("192.0.2.2") == 0
    for last in range(2, 5):
        failures.note(f"192.0.2.{last}")  # the oldest are forgotten, so that memory stays bounded
    assert failures.wait_seconds("192.0.2.1") == 0


def test_a_session_ends(team: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(team)
    kept = dict(team.cookies)
    with TestClient(create_app(settings(tmp_path)), base_url=ADDRESS, cookies=kept, follow_redirects=False) as same:
        assert same.get("/login").status_code == 303  # it is signed, not stored: another process takes it too
    for changes in ({"password": "another password"}, {"secret_key": Fernet.generate_key().decode()}):
        app = create_app(settings(tmp_path, **changes))
        with TestClient(app, base_url=ADDRESS, cookies=kept, follow_redirects=False) as changed:
            assert changed.get("/login").status_code == 200
    monkeypatch.setattr(auth, "SESSION_SECONDS", -1)
    assert team.get("/models").status_code == 303


def test_the_settings_hold_the_password_or_its_hash(tmp_path: Path) -> None:
    for password in (PASSWORD, CHEAP):
        door = Door(settings(tmp_path, password=password))
        assert door.knows(PASSWORD)
        assert not door.knows("correct horse batterz")
        assert not door.knows(CHEAP)
    with pytest.raises(InputError, match="begins like an argon2 hash, but is none"):
        Door(settings(tmp_path, password="$argon2id$v=19$no-hash"))


@pytest.mark.parametrize("missing", ["password", "secret_key"])
def test_a_team_is_not_served_without_its_secrets(tmp_path: Path, missing: str) -> None:
    incomplete = settings(tmp_path).model_copy(update={missing: None})
    with pytest.raises(InputError, match="needs HALFLIFE_PUBLIC_URL, HALFLIFE_PASSWORD and HALFLIFE_SECRET_KEY"):
        create_app(incomplete)


# --- forms ----------------------------------------------------------------------------------------------------------


def changing_routes(client: TestClient) -> list[tuple[str, str]]:
    routes: list[tuple[str, str]] = []

    def walk(items, prefix=""):
        for item in items:
            inner = getattr(item, "original_router", None)
            if isinstance(item, APIRoute):
                path = re.sub(r"\{[a-z_]+\}", "1", prefix + item.path)
                routes.extend((method, path) for method in (item.methods or ()) - {"GET", "HEAD", "OPTIONS"})
            elif inner is not None:
                walk(inner.routes, prefix)

    walk(client.app.routes)
    return routes


def test_every_change_needs_the_sessions_token(team: TestClient) -> None:
    log_in(team)
    routes = changing_routes(team)
    assert {("POST", "/tokens"), ("POST", "/runs"), ("POST", "/runs/1/cancel"), ("POST", "/api/models")} <= set(routes)
    for method, path in routes:
        for token in (None, "", "x", form_token(team, "/models")[:-4] + "AAA="):
            sent = {} if token is None else {"csrf_token": token}
            assert team.request(method, path, data=sent).status_code == 403, (method, path)
        assert team.request(method, path, json={}).status_code == 403, (method, path)
    page = team.post("/logout")
    assert "Load its page again." in words(page.text)


def test_another_sessions_token_is_refused(team: TestClient, database_url: str, tmp_path: Path) -> None:
    log_in(team)
    with TestClient(create_app(settings(tmp_path, database_url)), base_url=ADDRESS) as other:
        log_in(other)
        theirs = form_token(other, "/models")
    assert team.post("/tokens", data={"name": "x", "csrf_token": theirs}).status_code == 403
    assert team.post("/tokens", data={"name": "x", "csrf_token": form_token(team, "/models")}).status_code == 201


def test_partial_updates_send_it_as_a_header(team: TestClient) -> None:
    log_in(team)
    body = re.search(r"<body hx-headers='\{\"X-CSRF-Token\": \"([^\"]+)\"\}'>", team.get("/models").text)
    assert body is not None
    assert team.post("/tokens", data={"name": "x"}, headers={"X-CSRF-Token": body[1]}).status_code == 201


def test_each_page_brings_another_token(team: TestClient) -> None:
    log_in(team)
    assert form_token(team, "/models") != form_token(team, "/models")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": ADDRESS}, 201),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
)
def test_changes_come_from_our_own_pages(team: TestClient, headers: dict[str, str], status: int) -> None:
    log_in(team)
    sent = {"name": "x", "csrf_token": form_token(team, "/models")}
    answer = team.post("/tokens", data=sent, headers=headers)
    assert answer.status_code == status
    assert status == 201 or "The dashboard's own address is https://halflife.example" in answer.text


# --- tokens ---------------------------------------------------------------------------------------------------------


def test_a_token_from_its_page_opens_the_api(team: TestClient, database: Database) -> None:
    log_in(team)
    made = team.post("/tokens", data={"name": "nightly", "csrf_token": form_token(team, "/tokens")})
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    token = re.search(r"hl_[\w-]{43}", made.text)
    assert token is not None
    assert token[0] not in team.get("/tokens").text
    team.cookies.clear()
    bearer = {"Authorization": f"Bearer {token[0]}"}
    assert team.get("/api/models", headers=bearer).json() == {"models": [], "next_after": None}
    new = {"name": "m", "base_url": "https://8.8.8.8/v1", "model": "m"}
    assert team.post("/api/models", json=new, headers=bearer).status_code == 201
    assert team.get("/metrics", headers=bearer).status_code == 200
    assert list_tokens(database)[0].last_used_at is not None

    log_in(team)
    assert (
        team.post("/tokens/revoke", data={"name": "nightly", "csrf_token": form_token(team, "/tokens")}).status_code
        == 303
    )
    assert "revoked" in words(team.get("/tokens").text)
    team.cookies.clear()
    assert team.get("/api/models", headers=bearer).status_code == 401


@pytest.mark.parametrize("host", ["localhost", "169.254.169.254", "[::1]"])
def test_a_model_in_the_servers_own_network_is_refused(team: TestClient, host: str) -> None:
    log_in(team)
    new = {"name": "m", "base_url": f"http://{host}/v1", "model": "m", "csrf_token": form_token(team, "/models")}
    answer = team.post("/models", data=new)
    assert answer.status_code == 422
    assert 'id="base_url-error"' in answer.text
    assert "which is no public address" in words(answer.text)
    assert "there are no models" in words(team.get("/models").text).lower()


def test_a_wrong_token_is_refused_even_with_a_session(team: TestClient, database: Database) -> None:
    log_in(team)
    revoked = create_token(database, "revoked")
    revoke_token(database, "revoked")
    for wrong in ("", "hl_wrong", revoked):
        answer = team.get("/api/models", headers={"Authorization": f"Bearer {wrong}"})
        assert answer.status_code == 401
        assert answer.json() == {"error": "this API token is unknown or was revoked"}


def test_a_name_that_is_taken_is_said_at_its_field(team: TestClient, database: Database) -> None:
    create_token(database, "nightly")
    log_in(team)
    answer = team.post("/tokens", data={"name": "nightly", "csrf_token": form_token(team, "/tokens")})
    assert answer.status_code == 422
    assert "There is, or was, a token called 'nightly' already." in words(answer.text)


def test_a_database_that_is_away_is_no_wrong_token(tmp_path: Path) -> None:
    away = settings(tmp_path, f"sqlite:///{tmp_path}/missing/halflife.db")
    with TestClient(create_app(away), base_url=ADDRESS) as client:
        answer = client.get("/api/models", headers={"Authorization": "Bearer hl_x"})
    assert answer.status_code == 503
    assert "cannot be opened" in answer.json()["error"]


# --- one machine ----------------------------------------------------------------------------------------------------


def test_one_machine_asks_for_nothing(tmp_path: Path, sqlite_template: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "halflife.db").write_bytes(sqlite_template.read_bytes())
    with TestClient(create_app(Settings(home=home)), base_url="http://127.0.0.1:8000") as client:
        page = client.get("/models")
        assert page.status_code == 200
        assert "csrf_token" not in page.text
        assert "hx-headers" not in page.text
        assert client.get("/login").status_code == 404
        assert client.get("/tokens").status_code == 404
