"""Putting back what infrastructure cut short, and a run's clock through pauses."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from app.db.models import Run, RunStatus, Trajectory, TrajectoryOutcome
from app.db.queries.progress import progress
from app.domain.errors import ConflictError, NotFoundError
from app.domain.work import WorkerKind
from app.services.control_run import cancel_run, pause_run, resume_run
from app.services.retry_run import retry_run
from app.services.steps.failure import put_off_failed
from app.services.steps.transitions import MAX_TRIES
from tests.fixtures.engine import RIGHT, WRONG, Engine, requests_sent, store_problems, store_script

SAID = {"prompt_tokens": 100, "completion_tokens": 20}


def fail(engine: Engine, run_id: int, position: int, kind: WorkerKind) -> None:
    """Let the due step of a trajectory fail until it is given up."""
    for _ in range(MAX_TRIES):
        with engine.database.write() as session:
            due = update(Trajectory).where(Trajectory.run_id == run_id, Trajectory.position == position)
            session.execute(due.values(due_at=datetime.now(UTC)))
        (claim,) = engine.claim(kind)
        assert claim.trajectory_id == engine.trajectories(run_id)[position].id
        put_off_failed(engine.database, claim, "the sandbox: broken", sandbox=kind is WorkerKind.EXECUTE)


def test_only_what_failed_is_done_again_and_nothing_judged_is_asked_again(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b", "c"])
    replies = {"a": [{"text": RIGHT, **SAID}], "b": [{"text": WRONG, **SAID}, {"text": RIGHT, **SAID}]}
    model = store_script(engine.database, engine.home, {"default": {"text": RIGHT, **SAID}, "replies": replies})
    run_id = engine.submit(problems, model, attempts=3, max_in_flight=1)
    # a is solved. b is asked and judged once, asked again, and its second program cannot be judged. c cannot be asked.
    for kind in (WorkerKind.GENERATE, WorkerKind.EXECUTE) * 2:
        engine.perform(engine.claim(kind)[0])
    engine.perform(engine.claim(WorkerKind.GENERATE)[0])
    fail(engine, run_id, 1, WorkerKind.EXECUTE)
    fail(engine, run_id, 2, WorkerKind.GENERATE)
    ended = engine.run_row(run_id)
    assert (ended.status, ended.trajectories_ended, ended.trajectories_solved) == (RunStatus.COMPLETED, 3, 1)
    asked = requests_sent(engine.home)
    assert asked == [("a", 0), ("b", 0), ("b", 1)]

    assert retry_run(engine.database, run_id) == 2
    again = engine.run_row(run_id)
    assert (again.status, again.finished_at, again.trajectories_ended) == (RunStatus.RUNNING, None, 1)
    assert again.revision > ended.revision
    assert again.active_since is not None
    a, b, c = engine.trajectories(run_id)
    assert (a.outcome, b.outcome, c.outcome) == (TrajectoryOutcome.SOLVED, None, None)
    assert (b.step, c.step) == ("run", "ask")
    # b is judged; c is asked and judged.
    assert engine.drain() == 3
    done = engine.run_row(run_id)
    assert (done.status, done.trajectories_ended, done.trajectories_solved) == (RunStatus.COMPLETED, 3, 3)
    assert requests_sent(engine.home) == [*asked, ("c", 0)]
    # Four replies of 120 tokens; the failed tries of c sent nothing.
    assert (done.tokens_spent, done.tokens_reserved) == (480, 0)
    with pytest.raises(ConflictError, match="nothing to retry"):
        retry_run(engine.database, run_id)


def test_what_cannot_be_retried_is_refused(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b"])
    model = store_script(engine.database, engine.home, {"default": RIGHT})
    run_id = engine.submit(problems, model)
    fail(engine, run_id, 0, WorkerKind.GENERATE)
    with engine.database.write() as session:
        session.get_one(Run, run_id).judge_version -= 1
    with pytest.raises(ConflictError, match="re-judge it first"):
        retry_run(engine.database, run_id)
    with engine.database.write() as session:
        session.get_one(Run, run_id).judge_version += 1
    cancel_run(engine.database, run_id)
    with pytest.raises(ConflictError, match="was cancelled and stays so"):
        retry_run(engine.database, run_id)
    with pytest.raises(NotFoundError):
        retry_run(engine.database, 99)
    with engine.database.read() as session:
        outcomes = session.scalars(select(Trajectory.outcome).order_by(Trajectory.position)).all()
    assert outcomes == [TrajectoryOutcome.INFRASTRUCTURE, TrajectoryOutcome.CANCELLED]


def test_a_paused_run_stands_still_and_keeps_its_time(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b"])
    model = store_script(engine.database, engine.home, {"default": {"text": RIGHT, **SAID}})
    run_id = engine.submit(problems, model)
    engine.perform(engine.claim(WorkerKind.GENERATE)[0])
    with engine.database.write() as session:
        session.get_one(Run, run_id).active_since = datetime.now(UTC) - timedelta(seconds=100)
    pause_run(engine.database, run_id)
    paused = engine.run_row(run_id)
    assert (paused.status, paused.active_since) == (RunStatus.PAUSED, None)
    assert paused.active_seconds == pytest.approx(100, abs=5)
    # The stored reply waits for its verdict until the run goes on.
    assert engine.drain() == 0
    with pytest.raises(ConflictError, match="is paused, not running"):
        pause_run(engine.database, run_id)
    later = datetime.now(UTC) + timedelta(hours=1)
    assert progress(paused, later).seconds == paused.active_seconds

    resume_run(engine.database, run_id)
    engine.drain()
    done = engine.run_row(run_id)
    assert (done.status, done.tokens_spent, done.active_since) == (RunStatus.COMPLETED, 240, None)
    assert paused.active_seconds <= done.active_seconds < paused.active_seconds + 60
    # Two problems in about 100 seconds are 1.2 a minute.
    assert progress(done, later).per_minute == pytest.approx(1.2, abs=0.1)
