"""What holds for every answer: headers, health, failures, and the banner of an unsandboxed installation."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.config import SandboxChoice, Settings
from app.main import create_app
from tests.integration.web.conftest import BASE_URL, Site
from tests.integration.web.test_pages import words


@pytest.mark.parametrize("path", ["/runs", "/x", "/static/css/theme.css", "/api/runs", "/healthz"])
def test_every_answer_carries_the_security_headers(site: Site, path: str) -> None:
    headers = site.client.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'self'; ")
    assert "unsafe" not in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


def test_no_page_holds_inline_script_or_style(site: Site) -> None:
    for path in ("/runs", f"/runs/{site.example.completed}", "/computed"):
        markup = site.client.get(path).text
        assert "style=" not in markup
        assert "<style" not in markup
        assert "onclick" not in markup
        assert markup.count("<script") == markup.count("<script src=") + markup.count('<script type="application/json"')


def test_a_site_that_works_is_ready(site: Site) -> None:
    assert site.client.get("/healthz").text == "ok\n"
    ready = site.client.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"ready": True, "database": "ok", "broker": "ok"})


def test_a_foreign_page_can_neither_read_nor_change_anything(site: Site) -> None:
    assert site.client.get("/runs", headers={"Host": "evil.example"}).status_code == 400
    path = f"/runs/{site.example.paused}/resume"
    assert site.client.post(path, headers={"Origin": "https://evil.example"}).status_code == 403
    assert "Paused:" in words(site.client.get(f"/runs/{site.example.paused}").text)


@pytest.fixture
def broken(tmp_path: Path) -> TestClient:
    """An application whose database lies in a folder that does not exist."""
    settings = Settings(home=tmp_path, database_url=f"sqlite:///{tmp_path}/missing/halflife.db")
    return TestClient(create_app(settings), base_url=BASE_URL)


def test_a_site_without_its_services_lives_but_is_not_ready(tmp_path: Path) -> None:
    broken = {"database_url": f"sqlite:///{tmp_path}/missing/halflife.db", "broker_url": "redis://127.0.0.1:1/0"}
    with TestClient(create_app(Settings(home=tmp_path, **broken)), base_url=BASE_URL) as client:
        assert client.get("/healthz").status_code == 200
        answer = client.get("/readyz")
    assert answer.status_code == 503
    wrong = answer.json()
    assert not wrong["ready"]
    assert "cannot be opened" in wrong["database"]
    assert "Connection refused" in wrong["broker"]


def test_a_database_without_its_schema_is_not_ready(tmp_path: Path) -> None:
    with TestClient(create_app(Settings(home=tmp_path)), base_url=BASE_URL) as client:
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["database"]) == (
        503,
        "the schema is not the current one: run `halflife migrate`",
    )


@pytest.mark.parametrize("path", ["/runs", "/runs/1"])
def test_a_database_that_cannot_be_used_is_said_in_words(broken: TestClient, path: str) -> None:
    with broken:
        answer = broken.get(path)
    assert answer.status_code == 503
    shown = words(answer.text)
    assert "The database cannot be used right now" in shown
    assert "check its folder's permissions" in shown


def test_the_api_says_it_in_json(broken: TestClient) -> None:
    with broken:
        answer = broken.get("/api/runs")
    assert answer.status_code == 503
    assert "cannot be opened" in answer.json()["error"]


def test_a_defect_answers_without_its_details(tmp_path: Path) -> None:
    app = create_app(Settings(home=tmp_path))

    def fail() -> None:
        raise RuntimeError("a detail nobody should see")

    app.add_api_route("/fail", fail)
    with TestClient(app, base_url=BASE_URL, raise_server_exceptions=False) as client:
        answer = client.get("/fail")
    assert answer.status_code == 500
    assert "detail" not in words(answer.text).replace("holds the details", "")
    assert answer.headers["content-security-policy"].startswith("default-src 'self'")


def test_an_unsandboxed_installation_says_so_on_every_page(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, sandbox=SandboxChoice.UNSANDBOXED)
    with TestClient(create_app(settings), base_url=BASE_URL) as client:
        for path in ("/computed", "/x"):
            assert "Unsandboxed. Programs written by models run on this machine" in words(client.get(path).text)
