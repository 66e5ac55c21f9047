"""Handing out due steps to workers: fairly between runs, each to one worker, under a numbered lease."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, ScalarSelect, Select, and_, exists, func, or_, select, text, tuple_, update
from sqlalchemy.orm import Session

from app.db.models import ModelEndpoint, Run, RunStatus, Trajectory
from app.db.session import Database
from app.domain.errors import LeaseLost
from app.domain.work import Step, WorkerKind
from app.services.spending import settle_lost_requests

_CLAIM_LOCK = {WorkerKind.GENERATE: 7_301_001, WorkerKind.EXECUTE: 7_301_002}
"""PostgreSQL advisory locks, one a kind: limits are counted and taken by one claimer at a time (about 2 ms)."""


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
    with db.read() as session:
        # Most wake-ups find nothing; they must not queue for the write lock.
        if not session.scalar(select(exists(_due(kind, _now())))):
            return []
    with db.write() as session:
        if not db.sqlite:
            session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CLAIM_LOCK[kind]})
        now = _now()
        claims: list[Claim] = []
        while len(claims) < n and (claim := _claim_one(session, kind, now, lease_seconds)):
            claims.append(claim)
        return claims


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


def fenced(session: Session, claim: Claim) -> Trajectory:
    """The claimed trajectory, locked for this transaction.

    Raises LeaseLost where the step was claimed anew or ended meanwhile: nothing may be written then.
    """
    trajectory = session.scalar(
        select(Trajectory)
        .where(
            Trajectory.id == claim.trajectory_id,
            Trajectory.lease_number == claim.lease_number,
            Trajectory.lease_expires_at.is_not(None),
        )
        .with_for_update()
    )
    if trajectory is None:
        raise LeaseLost(f"lease {claim.lease_number} of trajectory {claim.trajectory_id} is no longer held")
    return trajectory


def due_count(session: Session, kind: WorkerKind) -> int:
    """Steps of `kind` that a worker could claim now, limits aside."""
    return session.scalar(select(func.count()).select_from(_due(kind, _now()).subquery())) or 0


def _claim_one(session: Session, kind: WorkerKind, now: datetime, lease_seconds: float) -> Claim | None:
    for run_id, may_begin in _runs_in_turn(session, kind, now):
        query = select(Trajectory).where(Trajectory.run_id == run_id, *_is_due(kind, now))
        if not may_begin:
            query = query.where(_BEGUN)
        trajectory = session.scalar(query.order_by(Trajectory.position).limit(1).with_for_update(skip_locked=True))
        if trajectory is None or trajectory.step is None:
            continue
        settle_lost_requests(session, trajectory.run_id, trajectory.id)
        trajectory.lease_number += 1
        trajectory.lease_expires_at = now + timedelta(seconds=lease_seconds)
        trajectory.waiting_for = None
        session.execute(update(Run).where(Run.id == run_id).values(last_claimed_at=_now()))
        session.flush()
        return Claim(trajectory.id, run_id, Step(trajectory.step), trajectory.lease_number)
    return None


_BEGUN = Trajectory.lease_number > 0


def _runs_in_turn(session: Session, kind: WorkerKind, now: datetime) -> list[tuple[int, bool]]:
    """Runs that have a due step, in the order in which they are to be served, and whether each may begin another."""
    held = and_(Trajectory.worker == kind, Trajectory.lease_expires_at > now)
    in_flight = _count_of_run(held)
    under_way = _count_of_run(and_(_BEGUN, Trajectory.outcome.is_(None)))
    rows = session.execute(
        select(Run.id, Run.endpoint_id, (under_way < Run.max_in_flight).label("may_begin"))
        .where(
            Run.status == RunStatus.RUNNING,
            exists(select(Trajectory.id).where(Trajectory.run_id == Run.id, *_is_due(kind, now))),
        )
        .order_by(in_flight, Run.last_claimed_at.asc().nulls_first(), Run.id)
    ).all()
    busy = _busy_endpoints(session, held) if kind is WorkerKind.GENERATE and rows else set()
    return [(row.id, row.may_begin) for row in rows if row.endpoint_id not in busy]


def _count_of_run(condition: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.count()).where(Trajectory.run_id == Run.id, condition).correlate(Run).scalar_subquery()


def _busy_endpoints(session: Session, held: ColumnElement[bool]) -> set[int]:
    rows = session.execute(
        select(Run.endpoint_id)
        .join(Trajectory, Trajectory.run_id == Run.id)
        .join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id)
        .where(held)
        .group_by(Run.endpoint_id, ModelEndpoint.concurrency)
        .having(func.count() >= ModelEndpoint.concurrency)
    )
    return set(rows.scalars())


def _is_due(kind: WorkerKind, now: datetime) -> tuple[ColumnElement[bool], ...]:
    return (
        Trajectory.worker == kind,
        Trajectory.due_at <= now,
        or_(Trajectory.lease_expires_at.is_(None), Trajectory.lease_expires_at <= now),
    )


def _due(kind: WorkerKind, now: datetime) -> Select[int]:
    return (
        select(Trajectory.id)
        .join(Run, Run.id == Trajectory.run_id)
        .where(Run.status == RunStatus.RUNNING, *_is_due(kind, now))
    )


def _now() -> datetime:
    return datetime.now(UTC)
