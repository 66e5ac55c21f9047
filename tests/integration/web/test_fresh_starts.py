"""A baseline and its arms on their page, as files, over the API and on the command line."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.config import Settings
from app.db.models import ModelEndpoint
from app.main import create_app
from app.services.share_attempts import share_attempts
from tests.fixtures.engine import RIGHT, WRONG, Engine, store_problems, store_script
from tests.integration.web.conftest import BASE_URL
from tests.integration.web.test_pages import words

KEYS = ["both", *(f"gained-{n}" for n in range(8)), "neither"]


def replies(**solved_at: int) -> dict[str, list[dict[str, object]]]:
    return {
        key: [
            {
                "text": RIGHT if solved_at.get(key.partition("-")[0]) == t else WRONG,
                "prompt_tokens": 90,
                "completion_tokens": 10,
            }
            for t in range(4)
        ]
        for key in KEYS
    }


@pytest.fixture
def client(engine: Engine, database_url: str, tmp_path: Path) -> Iterator[TestClient]:
    """Pages over a baseline, run 1, that solved one problem of ten at its first answer. Its model has learnt since."""
    problems = store_problems(engine.database, engine.sandbox, KEYS)
    model = store_script(engine.database, engine.home, {"replies": replies(both=0)})
    assert engine.submit(problems, model, attempts=4) == 1
    engine.drain()
    with engine.database.write() as session:
        endpoint = session.scalars(select(ModelEndpoint)).one()
        endpoint.script = {**(endpoint.script or {}), "replies": replies(both=0, gained=2)}
    settings = Settings(home=tmp_path / "home", database_url=database_url)
    with TestClient(create_app(settings), base_url=BASE_URL, follow_redirects=False) as opened:
        yield opened


def finish(engine: Engine) -> None:
    engine.drain()
    while share_attempts(engine.database):
        engine.drain()


def test_from_the_form_to_the_figures(client: TestClient, engine: Engine) -> None:
    assert 'href="/runs/1/fresh-starts"' in client.get("/runs/1").text
    assert "This run has no arms yet" in words(client.get("/runs/1/fresh-starts").text)
    sent = client.post("/runs/1/fresh-starts", data={"arm": ["resample", "t50"], "more": "once:1"})
    assert (sent.status_code, sent.headers["location"]) == (303, "/runs/1/fresh-starts")
    waiting = words(client.get("/runs/2").text)
    assert "Waiting for its baseline: 10 problems will go on from attempts of run 1, which they share." in waiting
    assert "t50: the baseline's curve has no t_50" in words(client.get("/runs/1/fresh-starts").text)
    finish(engine)

    listed = words(client.get("/runs").text)
    assert "fresh starts: before every attempt (pure resampling)" in listed
    assert "fresh starts: once, after 1 debugging attempt" in listed
    # Under the run for phones, and among the protocol; of the baseline there is none.
    assert listed.count("fresh starts:") == 2 * 2
    shown = words(client.get("/runs/1/fresh-starts").text)
    assert client.get("/runs/3/fresh-starts").text.count("Fresh starts") >= 1
    for text in [
        # Both arms gain eight problems of ten and lose none: p = 2/2⁸ = 0.0078, twice that after Holm over two arms.
        "Against the baseline, before every attempt (pure resampling): +80.0 points",
        "p = 0.02 after Holm",
        "once, after 1 debugging attempt",
        "88 after a fresh start 0 0.0078 0.0039 0.02",
        # Resampling: attempt 0 of ten problems at 100 tokens is shared; then 2 · 8 and 3 more.
        "2,9001,000 shared, not paid again",
        "10 problems paired; smallest difference to be found",
        "gained-3 (baseline)",
        "diamonds are attempts at which problems start afresh.",
    ]:
        assert text in shown, text
    document = client.get("/api/runs/2/fresh-starts").json()
    assert document["baseline"] == 1
    baseline, resample, once = document["arms"]
    assert baseline["against_baseline"] is None
    assert (resample["arm"], once["arm"]) == ("resample", "once:1")
    assert resample["fresh_starts"] == {"1": 9, "2": 9, "3": 1}
    assert once["fresh_starts"] == {"2": 9}
    assert resample["against_baseline"]["gained"] == [f"gained-{n}" for n in range(8)]
    assert resample["against_baseline"]["p_exact"] == pytest.approx(2 / 256)
    assert document["to_come"] == [{"theta": 50, "shares": True, "refused": "the baseline's curve has no t_50"}]
    rows = list(csv.DictReader(io.StringIO(client.get("/runs/1/fresh-starts.csv").text)))
    assert [row["run"] for row in rows] == ["1", "2", "3"]
    assert [row["gained"] for row in rows] == ["", "8", "8"]
    assert float(rows[1]["difference"]) == pytest.approx(0.8)


def test_what_cannot_be_started_says_why_and_starts_nothing(client: TestClient) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({}, "Choose at least one"),
        ({"more": "once:3"}, "would start afresh at attempt 4, but the last of 4 attempts is attempt 3"),
        ({"more": "sometimes"}, "one of none, once:N"),
        ({"arm": ["every:2"], "more": "t0"}, "θ must be between 1 and 99 percent"),
    ]
    for data, reason in refused:
        answer = client.post("/runs/1/fresh-starts", data=data)
        assert answer.status_code == 422, data
        assert reason in words(answer.text), (data, words(answer.text)[-1500:])
    assert len(client.get("/api/runs").json()["runs"]) == 1
    assert client.post("/api/runs/1/fresh-starts", json={"arms": ["none"]}).status_code == 400
    assert client.get("/runs/99/fresh-starts").status_code == 404


def test_a_run_and_its_arms_start_together(client: TestClient, engine: Engine) -> None:
    form = {
        "problem_set": "1",
        "model": "1",
        "attempts": "4",
        "arm": ["every:2"],
        "more_arms": "once:1",
        "arms_independent": "1",
    }
    assert client.post("/runs", data=form).status_code == 303
    runs = client.get("/api/runs").json()["runs"]
    assert [run["id"] for run in runs] == [4, 3, 2, 1]
    assert "independent" in words(client.get("/runs/2/fresh-starts").text)
    wrong = client.post("/runs", data=form | {"more_arms": "once:9"})
    assert wrong.status_code == 422
    assert len(client.get("/api/runs").json()["runs"]) == 4


def test_a_run_of_its_own_may_start_afresh(client: TestClient, engine: Engine) -> None:
    form = {"problem_set": "1", "model": "1", "attempts": "4", "fresh_start": "once", "fresh_start_after": "1"}
    assert client.post("/runs", data=form).status_code == 303
    shown = words(client.get("/runs/2").text)
    assert "Fresh startsonce, after 1 debugging attempt" in shown
    assert "--fresh-start once:1" in shown
    wrong = client.post("/runs", data=form | {"fresh_start_after": "3"})
    assert wrong.status_code == 422
    assert "would start afresh at attempt 4" in words(wrong.text)
