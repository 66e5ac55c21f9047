"""What an operator watches: metrics, by hand, and workers' signs of life."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from app.config import Settings
from app.db.models import Attempt, Heartbeat, ModelRequestRow, RequestState, Trajectory
from app.db.session import Database
from app.domain.work import WorkerKind
from app.main import create_app
from app.services.heartbeats import beat, leave
from app.web import metrics
from tests.fixtures.example_data import store_model, store_problem_set, store_run
from tests.integration.web.conftest import BASE_URL, Workshop

START = datetime(2026, 1, 1, tzinfo=UTC)


def told(client: TestClient) -> dict[str, float]:
    """The samples of /metrics by name and labels."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    lines = (line for line in answer.text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def heartbeat(database: Database, worker: str, kind: WorkerKind, slots: int, busy: int) -> None:
    beat(database, worker, kind, slots=slots, busy=busy, started_at=START)


def test_a_new_installation_tells_zeros(workshop: Workshop) -> None:
    found = told(workshop.client)
    assert set(found.values()) == {0.0}
    # Of two kinds: steps due, their age, workers, slots, busy slots. Four statuses, eight verdicts (one of them for
    # recorded failures of an unknown kind), two directions of tokens, four kinds of failure.
    assert len(found) == 2 * 5 + 4 + 8 + 2 + 4


def test_workers_and_slots(workshop: Workshop) -> None:
    for name, slots, busy in (("a", 3, 1), ("b", 3, 3), ("silent", 9, 9)):
        heartbeat(workshop.database, name, WorkerKind.EXECUTE, slots, busy)
    heartbeat(workshop.database, "c", WorkerKind.GENERATE, 16, 0)
    with workshop.database.write() as session:
        long_ago = datetime.now(UTC) - timedelta(seconds=90)
        session.execute(update(Heartbeat).where(Heartbeat.worker == "silent").values(seen_at=long_ago))
    found = told(workshop.client)
    assert found['halflife_workers{kind="execute"}'] == 2
    assert found['halflife_slots{kind="execute"}'] == 6
    assert found['halflife_slots_busy{kind="execute"}'] == 4
    assert found['halflife_slots{kind="generate"}'] == 16
    assert 90 <= found['halflife_worker_heartbeat_age_seconds{kind="execute",worker="silent"}'] < 150
    assert found['halflife_worker_heartbeat_age_seconds{kind="generate",worker="c"}'] < 60


def test_a_run_that_nobody_works_on_ages(workshop: Workshop) -> None:
    body = {"problem_set_id": workshop.problem_set, "model_id": workshop.model, "in_flight": 2}
    run_id = workshop.client.post("/api/runs", json=body).json()["id"]
    with workshop.database.write() as session:
        session.execute(update(Trajectory).values(due_at=datetime.now(UTC) - timedelta(seconds=100)))
    found = told(workshop.client)
    # Two of its three problems may be under way at once.
    assert found['halflife_queue_due{kind="generate"}'] == 2
    assert 100 <= found['halflife_queue_age_seconds{kind="generate"}'] < 160
    assert found['halflife_queue_due{kind="execute"}'] == 0
    assert found['halflife_queue_age_seconds{kind="execute"}'] == 0
    assert workshop.client.post(f"/api/runs/{run_id}/cancel").status_code < 300
    assert told(workshop.client)['halflife_queue_age_seconds{kind="generate"}'] == 0


@pytest.fixture
def judged(database: Database, database_url: str, tmp_path: Path) -> Iterator[TestClient]:
    """A run of two trajectories, one of which was given up, and failures of each kind."""
    with database.write() as session:
        problem_set, problems = store_problem_set(session, "Small", 2)
        model = store_model(session, "priced", price=0.2)
        run = store_run(session, problem_set, problems, model, [("W", "A"), ("W", "infrastructure")])
        attempts = session.scalars(select(Attempt).order_by(Attempt.id)).all()
        for attempt, tokens in zip(attempts, [(100, 10), (20, 2), (None, None)], strict=True):
            attempt.prompt_tokens, attempt.completion_tokens = tokens
        for number, trajectory in enumerate(session.scalars(select(Trajectory).where(Trajectory.run_id == run.id))):
            trajectory.sandbox_failures = 2 + number
            for lease, state in enumerate((RequestState.ANSWERED, RequestState.FAILED, RequestState.POSSIBLY_BILLED)):
                request = {"attempt_index": 0, "lease_number": lease, "state": state, "tokens_reserved": 1}
                session.add(ModelRequestRow(trajectory_id=trajectory.id, sent_at=START, **request))
    with TestClient(create_app(Settings(home=tmp_path, database_url=database_url)), base_url=BASE_URL) as client:
        yield client


def test_results_and_failures(judged: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    found = told(judged)
    assert found['halflife_runs{status="completed"}'] == 1
    assert found['halflife_verdicts{verdict="AC"}'] == 1
    assert found['halflife_verdicts{verdict="WA"}'] == 2
    assert found['halflife_verdicts{verdict="TLE"}'] == 0
    assert found['halflife_tokens_total{direction="prompt"}'] == 100 + 20
    assert found['halflife_tokens_total{direction="completion"}'] == 10 + 2
    assert found['halflife_infrastructure_failures_total{what="sandbox"}'] == 2 + 3
    assert found['halflife_infrastructure_failures_total{what="request"}'] == 2
    assert found['halflife_infrastructure_failures_total{what="request_possibly_billed"}'] == 2
    assert found['halflife_infrastructure_failures_total{what="trajectory_given_up"}'] == 1
    # Totals are told again for some seconds, whoever asks.
    with database.write() as session:
        session.execute(update(Attempt).where(Attempt.verdict == "WA").values(verdict="TLE"))
    assert told(judged)['halflife_verdicts{verdict="TLE"}'] == 0
    monkeypatch.setattr(metrics, "_TOTALS_SECONDS", -1.0)
    monkeypatch.setattr(metrics, "_TOTALS_SHARE", 0)
    assert told(judged)['halflife_verdicts{verdict="TLE"}'] == 2


def test_signs_of_life(database: Database) -> None:
    heartbeat(database, "a", WorkerKind.EXECUTE, 2, 0)
    heartbeat(database, "b", WorkerKind.EXECUTE, 2, 0)
    with database.write() as session:
        old = datetime.now(UTC) - timedelta(days=1, seconds=1)
        session.execute(update(Heartbeat).where(Heartbeat.worker == "b").values(seen_at=old))
    before = datetime.now(UTC)
    heartbeat(database, "a", WorkerKind.EXECUTE, 2, 1)
    with database.read() as session:
        (row,) = session.scalars(select(Heartbeat)).all()
    assert (row.worker, row.kind, row.slots, row.busy, row.started_at) == ("a", "execute", 2, 1, START)
    assert row.seen_at >= before
    leave(database, "a")
    with database.read() as session:
        assert session.scalars(select(Heartbeat)).all() == []
