"""What a run waits for, as its page, the list, the API and the command line tell it."""

from datetime import UTC, datetime, timedelta

import pytest

from app.db.models import Run, Trajectory
from app.db.queries.progress import Wait, WaitKind, run_waits
from app.domain.work import WorkerKind
from app.services.control_run import PAUSED_BY_HAND, pause_run
from app.services.steps.failure import put_off_failed
from tests.fixtures.engine import RIGHT, Engine, store_problems, store_script


def wait(engine: Engine, run_id: int, now: datetime) -> Wait | None:
    with engine.database.read() as session:
        return run_waits(session, [session.get_one(Run, run_id)], now).get(run_id)


def test_a_run_waits_for_a_worker_for_a_retry_and_for_a_person(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b"])
    model = store_script(engine.database, engine.home, {"default": RIGHT})
    run_id = engine.submit(problems, model)
    now = datetime.now(UTC)
    # It has just begun: a worker may be on its way.
    assert wait(engine, run_id, now) is None
    later = now + timedelta(seconds=40)
    idle = wait(engine, run_id, later)
    assert idle is not None
    assert (idle.kind, idle.problems, idle.reason) == (WaitKind.WORKER, 2, None)
    assert (later - idle.since).total_seconds() == pytest.approx(40, abs=5)

    (claim,) = engine.claim(WorkerKind.GENERATE, lease_seconds=300)
    assert wait(engine, run_id, later) is None
    put_off_failed(engine.database, claim, "the model: 429 Too Many Requests")
    with engine.database.read() as session:
        due_at = session.get_one(Trajectory, claim.trajectory_id).due_at
    # The other problem is due and taken by nobody, but the failure says more.
    assert wait(engine, run_id, later) == Wait(
        WaitKind.RETRY, 1, reason="the model: 429 Too Many Requests", next_try_at=due_at
    )

    pause_run(engine.database, run_id)
    assert wait(engine, run_id, later) == Wait(WaitKind.PERSON, 2, reason=PAUSED_BY_HAND)
