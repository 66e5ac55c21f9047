"""Programs judged outside runs: each once, whoever dies, whatever is repeated, and no failure of ours as a verdict."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import delete, select, update
from sqlalchemy.orm import undefer

from app.adapters.queue import Queue, make_celery
from app.config import Settings
from app.db.models import ExecutionResult, JobPurpose, JudgingJob, ProblemRow, RunStatus, Trajectory
from app.db.session import Database
from app.domain.errors import InputError, LeaseLost, NotFoundError, SandboxError
from app.domain.ports import Execution, ExecutionOutcome, Sandbox
from app.domain.programs import Program
from app.domain.work import Step, WorkerKind
from app.services.claim import Claim
from app.services.judge_program import CachedJudge
from app.services.judging_jobs import MAX_PROGRAM_BYTES, JudgingJobs, judge_job, submit_trial
from app.services.judging_queue import JobClaim, claim_job, due_jobs
from app.services.steps.run import run
from app.services.steps.transitions import Wakes
from tests.fixtures.engine import RIGHT, Engine, store_problems, store_script
from workers.base import Worker

TRIALS = [JobPurpose.TRIAL]
MINUS = Program.single("def add(a, b):\n    return a - b\n")


class Watched:
    """The real sandbox; `before` is called ahead of each execution and may fail it."""

    def __init__(self, real: Sandbox, before: Callable[[], object]) -> None:
        self._real = real
        self._before = before
        self.name = real.name
        self.memory_tier = real.memory_tier

    def run(
        self, execution: Execution, *, cancelled: Callable[[], bool] = lambda: False, alone: bool = False
    ) -> ExecutionOutcome:
        self._before()
        if cancelled():
            raise SandboxError("cancelled")
        return self._real.run(execution, cancelled=cancelled, alone=alone)

    def close(self) -> None:
        """The real one is the whole suite's."""


@pytest.fixture
def problem(engine: Engine) -> tuple[int, int]:
    """(problem set, problem): addition."""
    problem_set = store_problems(engine.database, engine.sandbox, ["a"])
    with engine.database.read() as session:
        return problem_set, session.scalars(select(ProblemRow.id)).one()


def job_row(database: Database, job_id: int) -> JudgingJob:
    with database.read() as session:
        return session.scalars(
            select(JudgingJob).where(JudgingJob.id == job_id).options(undefer(JudgingJob.judgement))
        ).one()


def make_due(database: Database, job_id: int, **values: Any) -> None:
    with database.write() as session:
        session.execute(update(JudgingJob).where(JudgingJob.id == job_id).values(**values))


def test_a_trial_is_judged_once(engine: Engine, problem: tuple[int, int]) -> None:
    db = engine.database
    executions: list[int] = []
    jobs = JudgingJobs(db, CachedJudge(db, Watched(engine.sandbox, lambda: executions.append(1))), 30.0)
    job_id = submit_trial(db, *problem, MINUS)
    assert due_jobs(db) == 1
    assert jobs.perform_next()
    # A message that comes twice finds nothing.
    assert not jobs.perform_next()
    assert (len(executions), due_jobs(db)) == (1, 0)
    row = job_row(db, job_id)
    assert (row.verdict, row.error, row.due_at, row.lease_expires_at) == ("WA", None, None, None)
    assert row.finished_at is not None
    assert row.judgement is not None
    # 1 − 2 = −1 instead of 3; 0 − 0 is right, 5 − (−5) is not.
    assert row.judgement["cases_passed"] == 1
    assert row.judgement["first_failure"]["actual"] == "-1"
    # The same program again comes from the cache.
    submit_trial(db, *problem, MINUS)
    assert jobs.perform_next()
    assert len(executions) == 1


def test_many_workers_claim_each_job_once(engine: Engine, problem: tuple[int, int]) -> None:
    jobs = {submit_trial(engine.database, *problem, Program.single(f"# {n}\n")) for n in range(12)}
    start = threading.Barrier(4, timeout=20)

    def claim_all() -> list[int]:
        start.wait()
        return [claim.job_id for claim in iter(lambda: claim_job(engine.database, 30.0, TRIALS), None)]

    with ThreadPoolExecutor(4) as pool:
        claimed = [job for one in [pool.submit(claim_all) for _ in range(4)] for job in one.result()]
    assert sorted(claimed) == sorted(jobs)


def test_a_worker_that_stood_still_writes_nothing(engine: Engine, problem: tuple[int, int]) -> None:
    db = engine.database
    job_id = submit_trial(db, *problem, MINUS)
    stale = claim_job(db, 30.0, TRIALS)
    assert stale is not None
    assert claim_job(db, 30.0, TRIALS) is None
    make_due(db, job_id, lease_expires_at=datetime.now(UTC) - timedelta(seconds=1))
    fresh = claim_job(db, 30.0, TRIALS)
    assert fresh == JobClaim(job_id, stale.lease_number + 1, JobPurpose.TRIAL)
    judge = CachedJudge(db, engine.sandbox)
    with pytest.raises(LeaseLost):
        judge_job(db, stale, judge)
    assert job_row(db, job_id).verdict is None
    judge_job(db, fresh, judge)
    assert job_row(db, job_id).verdict == "WA"
    with pytest.raises(LeaseLost):
        judge_job(db, fresh, judge)


def test_a_broken_sandbox_is_no_verdict(engine: Engine, problem: tuple[int, int]) -> None:
    db = engine.database

    def fail() -> None:
        raise SandboxError("out of processes")

    jobs = JudgingJobs(db, CachedJudge(db, Watched(engine.sandbox, fail)), 30.0)
    job_id = submit_trial(db, *problem, MINUS)
    for tries in range(1, 8):
        assert jobs.perform_next()
        row = job_row(db, job_id)
        assert (row.failures, row.waiting_for, row.finished_at) == (tries, "the sandbox: out of processes", None)
        assert row.due_at is not None
        assert row.due_at > datetime.now(UTC)
        make_due(db, job_id, due_at=datetime.now(UTC))
    assert jobs.perform_next()
    row = job_row(db, job_id)
    assert (row.verdict, row.judgement, row.due_at) == (None, None, None)
    assert row.error == "after 8 tries: the sandbox: out of processes"
    assert row.finished_at is not None
    with db.read() as session:
        assert session.scalars(select(ExecutionResult)).all() == []


def test_a_fault_of_ours_ends_neither_worker_nor_job(engine: Engine, problem: tuple[int, int]) -> None:
    db = engine.database

    def fail() -> None:
        raise ZeroDivisionError("ours")

    job_id = submit_trial(db, *problem, MINUS)
    assert JudgingJobs(db, CachedJudge(db, Watched(engine.sandbox, fail)), 30.0).perform_next()
    row = job_row(db, job_id)
    assert (row.failures, row.waiting_for) == (1, "internal error: ZeroDivisionError: ours")
    make_due(db, job_id, due_at=datetime.now(UTC))
    assert JudgingJobs(db, CachedJudge(db, engine.sandbox), 30.0).perform_next()
    assert job_row(db, job_id).verdict == "WA"


def test_a_fault_of_ours_in_a_job_that_was_taken_over_ends_nothing(engine: Engine, problem: tuple[int, int]) -> None:
    db = engine.database
    job_id = submit_trial(db, *problem, MINUS)

    def taken_over() -> None:
        make_due(db, job_id, lease_expires_at=datetime.now(UTC) - timedelta(seconds=1))
        assert claim_job(db, 30.0, TRIALS) is not None
        raise ZeroDivisionError("ours")

    assert JudgingJobs(db, CachedJudge(db, Watched(engine.sandbox, taken_over)), 30.0).perform_next()
    row = job_row(db, job_id)
    assert (row.lease_number, row.failures, row.waiting_for) == (2, 0, None)


def test_a_discarded_job_is_stopped(engine: Engine, problem: tuple[int, int]) -> None:
    db = engine.database

    def discard() -> None:
        with db.write() as session:
            session.execute(delete(JudgingJob))

    submit_trial(db, *problem, MINUS)
    assert JudgingJobs(db, CachedJudge(db, Watched(engine.sandbox, discard)), 30.0).perform_next()
    with db.read() as session:
        assert session.scalars(select(JudgingJob)).all() == []
        assert session.scalars(select(ExecutionResult)).all() == []


def test_a_renewed_lease_is_not_taken_over(engine: Engine, problem: tuple[int, int]) -> None:
    db = engine.database
    job_id = submit_trial(db, *problem, MINUS)
    seen: list[JobClaim | None] = []

    def stand_still() -> None:
        make_due(db, job_id, lease_expires_at=datetime.now(UTC) + timedelta(milliseconds=1))
        jobs.leases.renew()
        seen.append(claim_job(db, 30.0, TRIALS))

    jobs = JudgingJobs(db, CachedJudge(db, Watched(engine.sandbox, stand_still)), 30.0)
    assert jobs.perform_next()
    assert seen == [None]
    assert job_row(db, job_id).verdict == "WA"


@pytest.mark.parametrize("source", ["", " \n\t\n", "#" * (MAX_PROGRAM_BYTES + 1)], ids=["empty", "blank", "too large"])
def test_what_is_no_program_is_refused(engine: Engine, problem: tuple[int, int], source: str) -> None:
    with pytest.raises(InputError, match=r"^program: "):
        submit_trial(engine.database, *problem, Program.single(source))
    assert due_jobs(engine.database) == 0


def test_a_problem_belongs_to_its_set(engine: Engine, problem: tuple[int, int]) -> None:
    problem_set, problem_id = problem
    for pair in ((problem_set + 1, problem_id), (problem_set, problem_id + 1)):
        with pytest.raises(NotFoundError):
            submit_trial(engine.database, *pair, MINUS)


def test_hostile_sources_are_stored_as_they_are(engine: Engine, problem: tuple[int, int]) -> None:
    program = Program({"solution.py": MINUS.source, "\x00\ud800": "\udfff</script>"})
    job_id = submit_trial(engine.database, *problem, program)
    with engine.database.read() as session:
        assert session.scalars(select(JudgingJob.program).where(JudgingJob.id == job_id)).one() == program.files


def test_a_worker_judges_jobs_beside_its_steps(engine: Engine, problem: tuple[int, int]) -> None:
    """Woken for a run alone, it does both; an idle one finds in its sweep what no message announced."""
    db = engine.database
    model = store_script(db, engine.home, {"default": RIGHT})
    run_ids = [engine.submit(problem[0], model, attempts=1) for _ in range(2)]
    trials = [submit_trial(db, *problem, Program.single(f"# {n}\n")) for n in range(2)]
    judge = CachedJudge(db, engine.sandbox)
    done: list[str] = []

    def step(claim: Claim) -> Wakes:
        done.append("step")
        return run(db, claim, judge)

    for asked in engine.claim(WorkerKind.GENERATE, n=2):
        engine.perform(asked)
    worker = Worker(
        WorkerKind.EXECUTE,
        db,
        Queue(make_celery(Settings(home=engine.home))),
        {Step.RUN: step},
        concurrency=1,
        lease_seconds=30.0,
        sweep_seconds=0.2,
        jobs=[JudgingJobs(db, CachedJudge(db, Watched(engine.sandbox, lambda: done.append("job"))), 30.0)],
    )
    worker.drain()
    assert done == ["step", "job", "step", "job"]
    assert [engine.run_row(run_id).status for run_id in run_ids] == [RunStatus.COMPLETED] * 2
    assert [job_row(db, trial).verdict for trial in trials] == ["RE", "RE"]

    messages = engine.home / "queue" / "messages"
    assert list(messages.iterdir()) == []
    submit_trial(db, *problem, MINUS)
    worker._sweep()
    (message,) = messages.iterdir()
    assert ".execute." in message.name


def test_failed_executions_of_a_run_are_counted(engine: Engine, problem: tuple[int, int]) -> None:
    db = engine.database
    model = store_script(db, engine.home, {"default": RIGHT})
    run_id = engine.submit(problem[0], model, attempts=1)
    (asked,) = engine.claim(WorkerKind.GENERATE)
    engine.perform(asked)

    def fail() -> None:
        raise SandboxError("out of processes")

    for _ in range(2):
        (claim,) = engine.claim(WorkerKind.EXECUTE)
        run(db, claim, CachedJudge(db, Watched(engine.sandbox, fail)))
        with db.write() as session:
            session.execute(update(Trajectory).values(due_at=datetime.now(UTC)))
    engine.drain()
    (trajectory,) = engine.trajectories(run_id)
    # Failures in a row begin anew with a verdict; what the page counts stays.
    assert (trajectory.outcome, trajectory.failures, trajectory.sandbox_failures) == ("solved", 0, 2)
