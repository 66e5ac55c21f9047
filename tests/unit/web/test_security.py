"""Who is refused by a server without login."""

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app.web.security import LoopbackOnly


def _answer(_request: object) -> PlainTextResponse:
    return PlainTextResponse("reached")


@pytest.fixture
def client() -> TestClient:
    app = Starlette(routes=[Route("/", _answer, methods=["GET", "POST"])])
    return TestClient(LoopbackOnly(app, host="halflife.internal"))


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8000", "127.0.0.1:8000", "[::1]", "[::1]:8000", "LOCALHOST", "halflife.internal:80"],
)
def test_names_of_this_machine_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).text == "reached"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost@evil.example", "[::1", ""]
)
def test_foreign_names_are_refused(client: TestClient, host: str) -> None:
    answer = client.get("/", headers={"Host": host})
    assert answer.status_code == 400
    assert "reached" not in answer.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://localhost:8000"}, 200),
        ({"Origin": "http://localhost:9000"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({}, 200),
    ],
)
def test_changes_are_taken_from_our_own_pages_and_from_programs(
    client: TestClient, headers: dict[str, str], status: int
) -> None:
    assert client.post("/", headers={"Host": "localhost:8000", **headers}).status_code == status


def test_reading_from_elsewhere_is_harmless(client: TestClient) -> None:
    assert client.get("/", headers={"Host": "localhost", "Origin": "https://evil.example"}).status_code == 200
