"""A run by earlier rules on its pages: it says so, is judged again, and its caveats stay after that."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from app.config import Settings
from app.db.models import Attempt, Run, Trajectory, Transcript
from app.domain.protocol.policy import Disclosure, Protocol
from app.judge.judge import JUDGE_VERSION
from app.main import create_app
from tests.fixtures.earlier_rules import EARLIER, judge_jobs, store_outdated_run
from tests.fixtures.engine import Engine
from tests.integration.web.conftest import BASE_URL
from tests.integration.web.test_pages import words


@pytest.fixture
def client(engine: Engine, database_url: str, tmp_path: Path) -> Iterator[TestClient]:
    """Pages over an outdated run, 1."""
    assert store_outdated_run(engine) == 1
    settings = Settings(home=tmp_path / "home", database_url=database_url)
    with TestClient(create_app(settings), base_url=BASE_URL, follow_redirects=False) as opened:
        yield opened


def test_outdated_verdicts_are_announced_wherever_they_are_shown(client: TestClient, engine: Engine) -> None:
    assert f"judge {EARLIER}; today's is {JUDGE_VERSION}" in client.get("/runs").text
    shown = words(client.get("/runs/1").text)
    # 14 programs have a verdict by a judge; replies without one have none.
    assert (
        f"Judging outdated: 14 verdicts of this run are by earlier rules; today's judge is version {JUDGE_VERSION}"
        in shown
    )
    assert "judging outdated" in words(client.get("/runs/1/trajectories/1").text)
    (line,) = client.get("/api/runs").json()["runs"]
    run = client.get("/api/runs/1").json()
    for document in (line, run):
        assert (document["judge_version"], document["judging_outdated"]) == (EARLIER, True)
    assert run["caveats"]["outdated"] == 14
    attempt = client.get("/api/runs/1/trajectories/1").json()["attempts"][0]
    assert (attempt["judge_version"], attempt["judging_outdated"]) == (EARLIER, True)


def test_from_the_button_to_the_new_verdicts(
    client: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = client.post("/runs/1/rejudgings")
    assert (sent.status_code, sent.headers["location"]) == (303, "/runs/1/rejudgings/1")
    begun = client.get("/runs/1/rejudgings/1").text
    assert "0 of 14 done" in begun
    assert 'hx-get="/runs/1/rejudgings/1/live"' in begun
    assert "see what judge" in client.get("/runs/1").text
    judge_jobs(engine)
    preview = client.get("/runs/1/rejudgings/1").text
    assert "hx-get" not in preview
    shown = words(preview)
    for text in [
        "4 verdicts of 14 would change",
        # Solved at attempt 0, 1, 2, 3; E0 = 1/6, then 0; A = 4/6, then 3/6.
        "Now 4 of 6 1, 1, 1, 1 16.7 66.7",
        f"By judge {JUDGE_VERSION} 3 of 6 0, 2, 1, 0 0.0 50.0",
        "b, attempt 1 Wrong answer Accepted",
        "c, attempt 0 Accepted Wrong answer",
        "d, attempt 3 Accepted Wrong answer",
        "f, attempt 1 Runtime error Wrong answer",
    ]:
        assert text in shown
    assert 'href="/runs/1/trajectories/2#attempt-1"' in preview
    over_api = client.get("/api/runs/1/rejudgings/1").json()
    assert (over_api["programs"], over_api["changed"], over_api["appliable"]) == (14, 4, True)
    assert ([change["label"][-1] for change in over_api["changes"]], over_api["next_after"]) == (list("bcdf"), None)
    last = client.get("/api/runs/1/rejudgings/1?after=3").json()
    assert [(change["label"][-1], change["from"], change["to"]) for change in last["changes"]] == [("f", "RE", "WA")]
    monkeypatch.setattr("app.web.api.rejudgings.PAGE", 3)
    assert client.get("/api/runs/1/rejudgings/1").json()["next_after"] == 3
    assert {"from": "AC", "to": "WA", "count": 2} in over_api["matrix"]
    assert (over_api["before"]["solved"], over_api["after"]["solved"], over_api["after"]["surplus"]) == (4, 3, 2)

    assert client.post("/runs/1/rejudgings/1/apply").headers["location"] == "/runs/1"
    shown = words(client.get("/runs/1").text)
    assert "outdated" not in shown
    for text in [
        "0 of 6",
        "1 ended early (censored: a re-judging took back the verdict it ended on)",
        "2 surplus attempts behind the end of their problem: outside every figure",
        # Attempt 1 of f alone: that of b is its last one that counts.
        "1 attempt re-judged midway",
        f"by judge {JUDGE_VERSION}, applied",
    ]:
        assert text in shown
    assert client.get("/api/runs/1").json()["caveats"] == {
        "weak": 0,
        "near_limit": 0,
        "unsandboxed": 0,
        "sandbox_failures": 0,
        "outdated": 0,
        "ended_early": 1,
        "surplus": 2,
        "rejudged_midway": 1,
        "recorded": 0,
    }
    assert "4 verdicts of 14 changed" in words(client.get("/runs/1/rejudgings/1").text)
    b = client.get("/api/runs/1/trajectories/2").json()
    assert (b["outcome"], b["solved_at"], [attempt["surplus"] for attempt in b["attempts"]]) == (
        "solved",
        1,
        [False, False, True, True],
    )
    assert [old["verdict"] for old in b["attempts"][1]["superseded"]] == ["WA"]
    shown = words(client.get("/runs/1/trajectories/2").text)
    assert shown.count("surplus, does not count") == 2
    assert f"Before re-judgingWrong answer, by judge {EARLIER}" in shown
    lines = client.get("/api/runs/1/trajectories").json()["trajectories"]
    # Attempts that count, and the last verdict among them.
    assert [(line["attempts"], line["last_verdict"]) for line in lines[1:3]] == [(2, "AC"), (1, "WA")]
    assert client.post("/runs/1/rejudgings/1/apply").status_code == 409


def test_discarding_over_the_api(client: TestClient, engine: Engine) -> None:
    assert client.post("/api/runs/1/rejudgings").json()["status"] == "open"
    assert client.post("/api/runs/1/rejudgings/1/discard").json()["status"] == "discarded"
    assert client.get("/api/runs/1").json()["judging_outdated"] is True
    assert client.get("/api/runs/2/rejudgings/1").status_code == 404
    assert client.post("/api/runs/2/rejudgings").status_code == 404


@pytest.mark.parametrize("disclosure", list(Disclosure))
def test_a_hidden_case_is_shown_only_where_the_protocol_discloses_all(
    client: TestClient, engine: Engine, disclosure: Disclosure
) -> None:
    first = engine.attempts(engine.trajectories(1)[0].id)[0]
    with engine.database.write() as session:
        session.execute(update(Run).values(protocol=Protocol(attempts=4, disclosure=disclosure)))
        transcript = session.get_one(Transcript, first.id)
        transcript.first_failure = {
            **(transcript.first_failure or {}),
            "index": 2,
            "visible": False,
            "input": "(555, 5)",
        }
    page = client.get("/runs/1/trajectories/1").text
    failure = client.get("/api/runs/1/trajectories/1").json()["attempts"][0]["first_failure"]
    if disclosure is Disclosure.ALL:
        assert "(555, 5)" in page
        assert (failure["input"], failure["disclosed"]) == ("(555, 5)", True)
    else:
        assert "(555, 5)" not in page
        assert "hidden from models: shown only where the protocol discloses all cases" in page
        assert failure == {"index": 2, "visible": False, "disclosed": False}


def test_what_limits_trust_is_counted(client: TestClient, engine: Engine) -> None:
    """Each flag on one attempt that counts, and on one that does not: b's last attempts, once it is solved at 1."""
    b = engine.trajectories(1)[1]
    with engine.database.write() as session:
        session.execute(update(Trajectory).where(Trajectory.id == b.id).values(attempts_judged=2, sandbox_failures=3))
        for index in (0, 3):
            at = (Attempt.trajectory_id == b.id, Attempt.attempt_index == index)
            session.execute(update(Attempt).where(*at).values(weak=True, near_limit=True, sandbox="none"))
    caveats = client.get("/api/runs/1").json()["caveats"]
    assert (caveats["weak"], caveats["near_limit"], caveats["unsandboxed"]) == (1, 1, 1)
    assert (caveats["sandbox_failures"], caveats["surplus"]) == (3, 2)
    shown = words(client.get("/runs/1").text)
    for text in [
        "1 weak verdict:",
        "1 verdict near the time limit, where a busy machine could decide",
        "3 executions failed for the sandbox",
    ]:
        assert text in shown
    shown = words(client.get(f"/runs/1/trajectories/{b.id}").text)
    for text in ["near limit", "weak", "3 executions failed for the sandbox's sake"]:
        assert text in shown
