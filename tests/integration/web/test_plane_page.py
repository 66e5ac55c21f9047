"""Runs on the plane of precision and pass rate, beside published rows, on both databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.config import Settings
from app.db.session import Database
from app.main import create_app
from tests.fixtures.example_data import EPOCH, store_model
from tests.fixtures.repairs import HASTY, PATIENT, store_repair_run, store_repair_set
from tests.integration.web.conftest import BASE_URL
from tests.integration.web.test_pages import words


@pytest.fixture
def client(database_url: str, tmp_path: Path) -> Iterator[TestClient]:
    """Pages over an empty database."""
    with TestClient(
        create_app(Settings(home=tmp_path / "home", database_url=database_url)), base_url=BASE_URL
    ) as opened:
        yield opened


def test_the_plane_shows_the_runs_of_one_set_and_published_rows_named_as_such(
    client: TestClient, database: Database
) -> None:
    with database.write() as session:
        problem_set, _ = store_repair_set(session, EPOCH)
        model = store_model(session, "priced", price=0.2)
        for replies in (PATIENT, HASTY):
            store_repair_run(session, problem_set, model, replies, EPOCH)
    shown = words(client.get("/precision").text)
    for text in [
        "2 runs: 1 pass with precision, 1 pass-oriented: regenerating; hollow are 9 published rows of PDB-Single.",
        "priced, run 1: precision 80.1 %, pass rate 100.0 %, 12 items",
        "GPT-5.1-Codex, published (PDB-Single): precision 39.7 ± 0.8 %, pass rate 76.1 ± 1.1 %",
        "halflife prompt, first repair, then 2 debugging attempts",
        "README: hard subset",
        "Not measured here, and on other programs",
    ]:
        assert text in shown, text
    board = words(client.get("/leaderboard").text)
    # The columns of repairs are shown by themselves where runs repair, each with its interval.
    assert "Precision, % Recall, % F1, % Pass rate, % Tokens" in board
    assert "80.1 57.9 – 100.0 % 91.7" in board
    (first, second) = client.get("/api/leaderboard?sort=precision").json()["rows"]
    assert (first["run"], second["run"]) == (1, 2)
    assert round(second["precision"], 4) == 0.5801
    none = words(client.get("/precision?published=none&precision=90&pass=95").text)
    assert "2 runs: 1 pass-oriented: regenerating, 1 weak and imprecise." in none
    assert "published (PDB-Single)" not in none
    kept = '<input type="hidden" name="unfinished" value="1">'
    assert kept in client.get("/precision?unfinished=1").text
    assert kept not in client.get("/precision").text


def test_without_a_run_the_plane_says_what_to_do(client: TestClient) -> None:
    shown = words(client.get("/precision").text)
    assert "No run repairs known bugs yet. Import a problem set with buggy programs, then start a run" in shown
    assert "Claude-Sonnet-4.5" in shown
