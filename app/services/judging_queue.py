"""The queue of programs judged outside a run's steps: due in the database, leased and fenced.

A wake-up for execute workers announces these too. Lost and repeated messages are harmless: a job is due until what it
asks for, or a lasting failure, is committed under its lease.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, and_, bindparam, func, or_, select
from sqlalchemy.orm import Session

from app.db.base import UtcDateTime
from app.db.models import JobPurpose, JudgingJob
from app.db.session import Database
from app.domain.errors import LeaseLost
from app.services.steps.transitions import MAX_TRIES, backoff

_NOW = bindparam("now", type_=UtcDateTime())


def _due(purpose: JobPurpose) -> ColumnElement[bool]:
    free = or_(JudgingJob.lease_expires_at.is_(None), JudgingJob.lease_expires_at <= _NOW)
    return and_(JudgingJob.purpose == purpose, JudgingJob.due_at <= _NOW, free)


# Made once: building the statements anew takes longer than running them.
_ANY_DUE = {purpose: select(select(JudgingJob.id).where(_due(purpose)).exists()) for purpose in JobPurpose}
ANY_JOB_DUE: ColumnElement[bool] = select(JudgingJob.id).where(or_(*map(_due, JobPurpose))).exists()
"""Whether a job is due at `:now`."""
_NEXT = {
    purpose: select(JudgingJob)
    .where(_due(purpose))
    .order_by(JudgingJob.due_at, JudgingJob.id)
    .limit(1)
    .with_for_update(skip_locked=True)
    for purpose in JobPurpose
}
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
    purpose: JobPurpose


def claim_job(db: Database, lease_seconds: float, purposes: Sequence[JobPurpose]) -> JobClaim | None:
    """Claim the next due job for one of the purposes, in their order; None where none is due."""
    now = datetime.now(UTC)
    # A job of another purpose may be all that is due: asking for these must not queue for the write lock.
    with db.query() as connection:
        due = [purpose for purpose in purposes if connection.scalar(_ANY_DUE[purpose], {"now": now})]
    if not due:
        return None
    with db.write() as session:
        for purpose in due:
            job = session.scalar(_NEXT[purpose], {"now": now})
            if job is not None:
                job.lease_number += 1
                job.lease_expires_at = now + timedelta(seconds=lease_seconds)
                job.waiting_for = None
                return JobClaim(job.id, job.lease_number, purpose)
    return None


def due_jobs(db: Database) -> int:
    """How many jobs are due."""
    condition = or_(*(_due(purpose) for purpose in JobPurpose))
    with db.read() as session:
        return session.scalar(select(func.count(JudgingJob.id)).where(condition), {"now": datetime.now(UTC)}) or 0


def held_job(session: Session, claim: JobClaim) -> JudgingJob:
    """The claimed job, locked for this transaction.

    Raises LeaseLost where it was claimed anew, finished or dropped meanwhile: nothing may be written then.
    """
    job = session.scalar(_HELD, {"job": claim.job_id, "lease": claim.lease_number})
    if job is None:
        raise lost(claim)
    return job


def put_off(session: Session, claim: JobClaim, reason: str, *, lasting: bool) -> bool:
    """Give the job back, due again later; after MAX_TRIES failures, or a lasting one, end it with the reason.

    Returns whether it ended. Raises LeaseLost.
    """
    job = held_job(session, claim)
    job.failures += 1
    if lasting or job.failures == MAX_TRIES:
        job.error = reason if lasting else f"after {MAX_TRIES} tries: {reason}"
        finish(job)
        return True
    job.due_at = datetime.now(UTC) + timedelta(seconds=backoff(job.failures, None))
    job.lease_expires_at = None
    job.waiting_for = reason
    return False


def finish(job: JudgingJob) -> None:
    """Take it off the queue."""
    job.due_at = job.lease_expires_at = job.waiting_for = None
    job.finished_at = datetime.now(UTC)


def gone(db: Database, claim: JobClaim) -> Callable[[], bool]:
    """Whether the job was dropped or taken over, so that going on with it is no use."""

    def look() -> bool:
        with db.read() as session:
            lease = session.scalar(select(JudgingJob.lease_number).where(JudgingJob.id == claim.job_id))
        return lease != claim.lease_number

    return look


def lost(claim: JobClaim) -> LeaseLost:
    """What is raised where the lease is no longer held."""
    return LeaseLost(f"lease {claim.lease_number} of judging job {claim.job_id} is no longer held")
