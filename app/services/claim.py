"""Handing out due steps to workers: fairly between runs, each to one worker, under a numbered lease."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, ScalarSelect, and_, bindparam, func, or_, select, text, tuple_, update
from sqlalchemy.orm import Session, aliased

from app.db.base import UtcDateTime
from app.db.models import ModelEndpoint, Run, RunStatus, Trajectory
from app.db.session import Database
from app.domain.errors import LeaseLost
from app.domain.work import Step, WorkerKind
from app.services.spending import settle_lost_requests

_CLAIM_LOCK = {WorkerKind.GENERATE: 7_301_001, WorkerKind.EXECUTE: 7_301_002}
"""PostgreSQL advisory locks, one a kind: limits are counted and taken by one claimer at a time (about 2 ms)."""

# The statements of the hot path, made once: building them anew takes longer than running them.

_KIND = bindparam("kind", type_=Trajectory.worker.type)
_NOW = bindparam("now", type_=UtcDateTime())
_IS_DUE = and_(
    Trajectory.worker == _KIND,
    Trajectory.due_at <= _NOW,
    or_(Trajectory.lease_expires_at.is_(None), Trajectory.lease_expires_at <= _NOW),
)
_IS_HELD = and_(Trajectory.worker == _KIND, Trajectory.lease_expires_at > _NOW)
_IS_BEGUN = Trajectory.lease_number > 0
_COUNT_DUE = (
    select(func.count(Trajectory.id))
    .join(Run, Run.id == Trajectory.run_id)
    .where(Run.status == RunStatus.RUNNING.value, _IS_DUE)
)


def _of_run(condition: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.count()).where(Trajectory.run_id == Run.id, condition).correlate(Run).scalar_subquery()


def _has(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    return select(Trajectory.id).where(Trajectory.run_id == Run.id, *conditions).correlate(Run).exists()


_sibling = aliased(Run)
_REQUESTS_AT_ENDPOINT = (
    select(func.count())
    .select_from(Trajectory)
    .join(_sibling, _sibling.id == Trajectory.run_id)
    .where(_sibling.endpoint_id == ModelEndpoint.id, _IS_HELD)
    .correlate(ModelEndpoint)
    .scalar_subquery()
)
_MAY_BEGIN = _of_run(and_(_IS_BEGUN, Trajectory.outcome.is_(None))) < Run.max_in_flight
_IS_CLAIMABLE = and_(
    Run.status == RunStatus.RUNNING.value,
    or_(_has(_IS_DUE, _IS_BEGUN), and_(_MAY_BEGIN, _has(_IS_DUE))),
    or_(_KIND.is_not_distinct_from(WorkerKind.EXECUTE.value), ModelEndpoint.concurrency > _REQUESTS_AT_ENDPOINT),
)
_CLAIMABLE_RUNS = select(Run.id).join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id).where(_IS_CLAIMABLE)
_ANY_CLAIMABLE = select(_CLAIMABLE_RUNS.exists())
_RUNS_IN_TURN = _CLAIMABLE_RUNS.add_columns(_MAY_BEGIN.label("may_begin")).order_by(
    _of_run(_IS_HELD), Run.last_claimed_at.asc().nulls_first(), Run.id
)
_NEXT_BEGUN = (
    select(Trajectory)
    .where(Trajectory.run_id == bindparam("run"), _IS_DUE, _IS_BEGUN)
    .order_by(Trajectory.position)
    .limit(1)
    .with_for_update(skip_locked=True)
)
_NEXT = (
    select(Trajectory)
    .where(Trajectory.run_id == bindparam("run"), _IS_DUE)
    .order_by(Trajectory.position)
    .limit(1)
    .with_for_update(skip_locked=True)
)
_HELD_BY = (
    select(Trajectory, Run)
    .join(Run, Run.id == Trajectory.run_id)
    .where(
        Trajectory.id == bindparam("trajectory"),
        Trajectory.lease_number == bindparam("lease"),
        Trajectory.lease_expires_at.is_not(None),
    )
    .with_for_update()
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A step held by this worker until its lease runs out."""

    trajectory_id: int
    run_id: int
    step: Step
    lease_number: int


def claim_due(db: Database, kind: WorkerKind, n: int, lease_seconds: float) -> list[Claim]:
    """Claim up to `n` due steps.

    The run with the fewest steps in flight is served first, the one served longest ago among equals; within a
    run the earliest problem. A run never has more trajectories under way (begun and not ended) than its limit:
    they finish one after the other, partial results are whole, and a server that caches prompts sees each
    conversation grow. An endpoint never gets more requests at once than its own limit.
    """
    # Most wake-ups find nothing; they must not queue for the write lock.
    if not any_claimable(db, kind):
        return []
    with db.write() as session:
        if not db.sqlite:
            session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CLAIM_LOCK[kind]})
        now = _now()
        claims: list[Claim] = []
        while len(claims) < n and (claim := _claim_one(session, kind, now, lease_seconds)):
            claims.append(claim)
        return claims


def any_claimable(db: Database, kind: WorkerKind) -> bool:
    """Whether a worker could claim a step of `kind` now, within every limit."""
    with db.read() as session:
        return bool(session.scalar(_ANY_CLAIMABLE, _at(kind, _now())))


def renew(db: Database, claims: Sequence[Claim], lease_seconds: float) -> None:
    """Extend leases that are still held. A lease that was taken over stays with its new holder."""
    if not claims:
        return
    held = [(claim.trajectory_id, claim.lease_number) for claim in claims]
    with db.write() as session:
        session.execute(
            update(Trajectory)
            .where(tuple_(Trajectory.id, Trajectory.lease_number).in_(held), Trajectory.lease_expires_at.is_not(None))
            .values(lease_expires_at=_now() + timedelta(seconds=lease_seconds))
            .execution_options(synchronize_session=False)
        )


def fenced(session: Session, claim: Claim) -> tuple[Trajectory, Run]:
    """The claimed trajectory and its run, both locked for this transaction and fresh from the database.

    Raises LeaseLost where the step was claimed anew or ended meanwhile: nothing may be written then.
    """
    row = session.execute(_HELD_BY, {"trajectory": claim.trajectory_id, "lease": claim.lease_number}).one_or_none()
    if row is None:
        raise LeaseLost(f"lease {claim.lease_number} of trajectory {claim.trajectory_id} is no longer held")
    return row[0], row[1]


def due_count(session: Session, kind: WorkerKind) -> int:
    """Steps of `kind` that are due, limits aside."""
    return session.scalar(_COUNT_DUE, _at(kind, _now())) or 0


def _claim_one(session: Session, kind: WorkerKind, now: datetime, lease_seconds: float) -> Claim | None:
    for run_id, may_begin in session.execute(_RUNS_IN_TURN, _at(kind, now)).all():
        trajectory = session.scalar(_NEXT if may_begin else _NEXT_BEGUN, {"run": run_id, **_at(kind, now)})
        if trajectory is None or trajectory.step is None:
            continue
        if trajectory.lease_expires_at is not None:
            settle_lost_requests(session, trajectory.run_id, trajectory.id)
        trajectory.lease_number += 1
        trajectory.lease_expires_at = now + timedelta(seconds=lease_seconds)
        trajectory.waiting_for = None
        session.execute(update(Run).where(Run.id == run_id).values(last_claimed_at=_now()))
        session.flush()
        return Claim(trajectory.id, run_id, Step(trajectory.step), trajectory.lease_number)
    return None


def _at(kind: WorkerKind, now: datetime) -> dict[str, object]:
    return {"kind": kind.value, "now": now}


def _now() -> datetime:
    return datetime.now(UTC)
