"""Judging programs outside a run's steps: queued in the database, leased, fenced and judged once.

A wake-up for execute workers announces these too. Lost and repeated messages are harmless: a job is due until a
judgement or a lasting failure is committed under its lease.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, and_, bindparam, func, or_, select, tuple_, update
from sqlalchemy.orm import Session, undefer

from app.db.base import UtcDateTime
from app.db.models import Attempt, JobPurpose, JudgingJob, ProblemRow, Run, Trajectory, Transcript
from app.db.session import Database, persistently
from app.domain.errors import InputError, LeaseLost, NotFoundError, SandboxError, StorageError
from app.domain.programs import Program
from app.services.judge_program import CachedJudge, Judged
from app.services.steps.situation import stored_problem
from app.services.steps.transitions import MAX_TRIES, backoff

MAX_PROGRAM_BYTES = 256 * 1024
"""Size of a program tried by hand; those of the published sets have a few kilobytes."""

log = logging.getLogger(__name__)

_NOW = bindparam("now", type_=UtcDateTime())


def _due(purpose: JobPurpose) -> ColumnElement[bool]:
    free = or_(JudgingJob.lease_expires_at.is_(None), JudgingJob.lease_expires_at <= _NOW)
    return and_(JudgingJob.purpose == purpose, JudgingJob.due_at <= _NOW, free)


# Made once: building the statements anew takes longer than running them.
_ANY_DUE = select(or_(*(select(JudgingJob.id).where(_due(purpose)).exists() for purpose in JobPurpose)))
_NEXT = [
    select(JudgingJob)
    .where(_due(purpose))
    .order_by(JudgingJob.due_at, JudgingJob.id)
    .limit(1)
    .with_for_update(skip_locked=True)
    for purpose in (JobPurpose.TRIAL, JobPurpose.REJUDGE)
]
_HELD = (
    select(JudgingJob)
    .where(
        JudgingJob.id == bindparam("job"),
        JudgingJob.lease_number == bindparam("lease"),
        JudgingJob.lease_expires_at.is_not(None),
    )
    .with_for_update()
)


@dataclass(frozen=True, slots=True)
class JobClaim:
    """A job held by this worker until its lease runs out."""

    job_id: int
    lease_number: int


def submit_trial(db: Database, problem_set_id: int, problem_id: int, program: Program) -> int:
    """Queue a program for a problem, and return the job's id. The caller wakes the workers afterwards.

    Raises NotFoundError, InputError for an empty program or one above MAX_PROGRAM_BYTES.
    """
    size = sum(len(source.encode("utf-8", "surrogatepass")) for source in program.files.values())
    if not any(source.strip() for source in program.files.values()):
        raise InputError("program: there is nothing to judge")
    if size > MAX_PROGRAM_BYTES:
        raise InputError(f"program: {size:,} bytes are more than the {MAX_PROGRAM_BYTES:,} that can be tried here")
    with db.write() as session:
        row = session.get(ProblemRow, problem_id)
        if row is None or row.problem_set_id != problem_set_id:
            raise NotFoundError(f"problem set {problem_set_id} has no problem {problem_id}")
        now = datetime.now(UTC)
        job = JudgingJob(
            purpose=JobPurpose.TRIAL, problem_id=problem_id, program=dict(program.files), created_at=now, due_at=now
        )
        session.add(job)
        session.flush()
        return job.id


def claim_job(db: Database, lease_seconds: float) -> JobClaim | None:
    """Claim the next due job: trials first, since a person waits for them; None where none is due."""
    now = datetime.now(UTC)
    # Workers ask at every step of a run, and mostly find nothing: they must not queue for the write lock.
    with db.query() as connection:
        if not connection.scalar(_ANY_DUE, {"now": now}):
            return None
    with db.write() as session:
        for query in _NEXT:
            job = session.scalar(query, {"now": now})
            if job is not None:
                job.lease_number += 1
                job.lease_expires_at = now + timedelta(seconds=lease_seconds)
                job.waiting_for = None
                return JobClaim(job.id, job.lease_number)
    return None


def due_jobs(db: Database) -> int:
    """How many jobs are due."""
    condition = or_(*(_due(purpose) for purpose in JobPurpose))
    with db.read() as session:
        return session.scalar(select(func.count(JudgingJob.id)).where(condition), {"now": datetime.now(UTC)}) or 0


def judge_job(db: Database, claim: JobClaim, judge: CachedJudge) -> None:
    """Judge the program of a claimed job and store the judgement. No transaction is open meanwhile.

    A sandbox that fails puts the job off and, after MAX_TRIES, ends it with an error.
    Raises LeaseLost, StorageError.
    """
    try:
        judged = _judge(db, claim, judge)
    except SandboxError as failure:
        _put_off(db, claim, f"the sandbox: {failure}", lasting=False)
        return
    except InputError as refusal:
        _put_off(db, claim, str(refusal), lasting=True)
        return
    persistently(lambda: _finish(db, claim, judged))


class JudgingJobs:
    """What an execute worker does beside its steps. `perform_next` is called from several threads."""

    def __init__(self, db: Database, judge: CachedJudge, lease_seconds: float) -> None:
        self._db = db
        self._judge = judge
        self._lease_seconds = lease_seconds
        self._held: set[JobClaim] = set()
        self._lock = threading.Lock()

    def perform_next(self) -> bool:
        """Claim and judge one due job; False where none is due. Raises StorageError."""
        claim = claim_job(self._db, self._lease_seconds)
        if claim is None:
            return False
        with self._lock:
            self._held.add(claim)
        try:
            self._perform(claim)
        except LeaseLost:
            log.warning("lease lost", extra={"job": claim.job_id, "lease": claim.lease_number})
        finally:
            with self._lock:
                self._held.discard(claim)
        return True

    def _perform(self, claim: JobClaim) -> None:
        try:
            judge_job(self._db, claim, self._judge)
        except (LeaseLost, StorageError):
            raise
        except Exception as error:
            # A fault of ours must not hold a job for ever, nor end the worker.
            log.exception("job failed", extra={"job": claim.job_id})
            _put_off(self._db, claim, f"internal error: {type(error).__name__}: {error}", lasting=False)

    def renew(self) -> None:
        """Extend the leases of jobs under way."""
        with self._lock:
            held = [(claim.job_id, claim.lease_number) for claim in self._held]
        if not held:
            return
        with self._db.write() as session:
            session.execute(
                update(JudgingJob)
                .where(
                    tuple_(JudgingJob.id, JudgingJob.lease_number).in_(held), JudgingJob.lease_expires_at.is_not(None)
                )
                .values(lease_expires_at=datetime.now(UTC) + timedelta(seconds=self._lease_seconds))
                .execution_options(synchronize_session=False)
            )

    def due(self) -> int:
        """How many jobs are due: what the sweep wakes workers for."""
        return due_jobs(self._db)


def _judge(db: Database, claim: JobClaim, judge: CachedJudge) -> Judged:
    with db.read() as session:
        job = session.scalar(
            select(JudgingJob)
            .where(JudgingJob.id == claim.job_id, JudgingJob.lease_number == claim.lease_number)
            .options(undefer(JudgingJob.program))
        )
        if job is None:
            raise _lost(claim)
        files, run = job.program, None
        if job.attempt_id is not None:
            files, run = session.execute(
                select(Transcript.program, Run)
                .join(Attempt, Attempt.id == Transcript.attempt_id)
                .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
                .join(Run, Run.id == Trajectory.run_id)
                .where(Transcript.attempt_id == job.attempt_id)
            ).one()
    problem, tests_hash = stored_problem(db, job.problem_id)
    if run is not None:
        problem = replace(problem, limits=run.protocol.limits(problem.limits))
    return judge.judge(Program(files or {}), problem, tests_hash=tests_hash, cancelled=_gone(db, claim))


def _gone(db: Database, claim: JobClaim) -> Callable[[], bool]:
    """Whether the job was discarded or taken over, so that judging on is no use."""

    def gone() -> bool:
        with db.read() as session:
            lease = session.scalar(select(JudgingJob.lease_number).where(JudgingJob.id == claim.job_id))
        return lease != claim.lease_number

    return gone


def _finish(db: Database, claim: JobClaim, judged: Judged) -> None:
    with db.write() as session:
        job = _fenced(session, claim)
        judgement = judged.judgement
        job.judgement = asdict(judgement)
        job.verdict = judgement.verdict
        job.visible_passed = judgement.visible_passed
        job.visible_total = judgement.visible_total
        _close(job)
        judged.keep(session)


def _put_off(db: Database, claim: JobClaim, reason: str, *, lasting: bool) -> None:
    with db.write() as session:
        job = _fenced(session, claim)
        job.failures += 1
        if lasting or job.failures == MAX_TRIES:
            job.error = reason if lasting else f"after {MAX_TRIES} tries: {reason}"
            _close(job)
        else:
            job.due_at = datetime.now(UTC) + timedelta(seconds=backoff(job.failures, None))
            job.lease_expires_at = None
            job.waiting_for = reason


def _close(job: JudgingJob) -> None:
    job.due_at = job.lease_expires_at = job.waiting_for = None
    job.finished_at = datetime.now(UTC)


def _fenced(session: Session, claim: JobClaim) -> JudgingJob:
    job = session.scalar(_HELD, {"job": claim.job_id, "lease": claim.lease_number})
    if job is None:
        raise _lost(claim)
    return job


def _lost(claim: JobClaim) -> LeaseLost:
    return LeaseLost(f"lease {claim.lease_number} of judging job {claim.job_id} is no longer held")
