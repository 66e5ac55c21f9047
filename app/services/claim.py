"""Handing out due steps to workers: fairly between runs, each to one worker, under a numbered lease."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    and_,
    bindparam,
    case,
    func,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.orm import aliased

from app.db.base import UtcDateTime
from app.db.models import ModelEndpoint, Run, RunStatus, Trajectory
from app.db.session import Database
from app.domain.errors import LeaseLost
from app.domain.work import Step, WorkerKind
from app.services.spending import PENDING_REQUEST, Budget, settle_lost_requests

_CLAIM_LOCK = {WorkerKind.GENERATE: 7_301_001, WorkerKind.EXECUTE: 7_301_002}
"""PostgreSQL advisory locks, one a kind: limits are counted and taken by one claimer at a time (about 2 ms)."""

# The statements of the hot path, made once: building them anew takes longer than running them.

_KIND = bindparam("kind", type_=Trajectory.worker.type)
_NOW = bindparam("now", type_=UtcDateTime())


def _is_due(step: type[Trajectory]) -> ColumnElement[bool]:
    free = or_(step.lease_expires_at.is_(None), step.lease_expires_at <= _NOW)
    return and_(step.worker == _KIND, step.due_at <= _NOW, free)


_IS_DUE = _is_due(Trajectory)
_IS_HELD = and_(Trajectory.worker == _KIND, Trajectory.lease_expires_at > _NOW)
_IS_BEGUN = Trajectory.lease_number > 0


def _of_run(*conditions: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.count()).where(Trajectory.run_id == Run.id, *conditions).correlate(Run).scalar_subquery()


def _first_due(*conditions: ColumnElement[bool]) -> ScalarSelect[int]:
    first = select(Trajectory.id).where(Trajectory.run_id == Run.id, _IS_DUE, *conditions)
    return first.order_by(Trajectory.position).limit(1).correlate(Run).scalar_subquery()


_sibling = aliased(Run)
_REQUESTS_AT_ENDPOINT = (
    select(func.count())
    .select_from(Trajectory)
    .join(_sibling, _sibling.id == Trajectory.run_id)
    .where(_sibling.endpoint_id == ModelEndpoint.id, _IS_HELD)
    .correlate(ModelEndpoint)
    .scalar_subquery()
)
_FREE_AT_ENDPOINT = ModelEndpoint.concurrency - _REQUESTS_AT_ENDPOINT
_MAY_BEGIN = Run.max_in_flight - _of_run(_IS_BEGUN, Trajectory.outcome.is_(None))
_MAY_ASK = or_(_KIND.is_not_distinct_from(WorkerKind.EXECUTE.value), _FREE_AT_ENDPOINT > 0)

_first = aliased(Trajectory)
_FIRSTS_OF_RUNS = (
    select(_first.id, _first.run_id, _first.step, _first.lease_number, _first.lease_expires_at)
    .select_from(Run)
    .join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id)
    .join(_first, _first.id == case((_MAY_BEGIN > 0, _first_due()), else_=_first_due(_IS_BEGUN)))
    # Due by its own columns too: PostgreSQL looks at those again where the row has changed before it was locked.
    .where(Run.status == RunStatus.RUNNING.value, _MAY_ASK, _is_due(_first))
)
ANY_CLAIMABLE: ColumnElement[bool] = _FIRSTS_OF_RUNS.exists()
"""Whether a worker of `:kind` could claim a step at `:now`, within every limit."""
_OLDEST = select(func.min(Trajectory.due_at)).where(Trajectory.id.in_(select(_FIRSTS_OF_RUNS.subquery().c.id)))
_ROOM_OF_RUNS = (
    select(
        ModelEndpoint.id,
        _FREE_AT_ENDPOINT.label("free"),
        _of_run(_IS_DUE, _IS_BEGUN).label("begun"),
        _of_run(_IS_DUE, ~_IS_BEGUN).label("new"),
        _MAY_BEGIN.label("may_begin"),
    )
    .select_from(Run)
    .join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id)
    .where(Run.status == RunStatus.RUNNING.value)
)
_next = _FIRSTS_OF_RUNS.order_by(_of_run(_IS_HELD), Run.last_claimed_at.asc().nulls_first(), Run.id)
_TAKE_NEXT = (
    update(Trajectory)
    .where(
        Trajectory.id
        == _next.with_only_columns(_first.id).limit(1).with_for_update(of=_first, skip_locked=True).scalar_subquery()
    )
    .values(lease_number=Trajectory.lease_number + 1, lease_expires_at=bindparam("expires"), waiting_for=None)
    # Of a step that is being claimed, a request without an answer is one whose worker died.
    .returning(
        Trajectory.id,
        Trajectory.run_id,
        Trajectory.step,
        Trajectory.lease_number,
        PENDING_REQUEST.label("request_lost"),
    )
)
_LOCK = text("SELECT pg_advisory_xact_lock(:key)")
_SERVED = (
    update(Run).where(Run.id == bindparam("run")).values(last_claimed_at=bindparam("now"), revision=Run.revision + 1)
)
_HELD_BY = (
    select(
        Trajectory.id,
        Trajectory.run_id,
        Trajectory.failures,
        Trajectory.sandbox_failures,
        Run.status,
        Run.budget_tokens,
        Run.budget_cost,
        Run.tokens_reserved,
        Run.tokens_spent,
        Run.cost_reserved,
        Run.cost_spent,
    )
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


@dataclass(frozen=True, slots=True)
class Held:
    """What a step decides by: its trajectory and its run as they are while both are locked."""

    trajectory_id: int
    run_id: int
    failures: int
    sandbox_failures: int
    run_status: str
    budget: Budget


def claim_due(db: Database, kind: WorkerKind, n: int, lease_seconds: float) -> list[Claim]:
    """Claim up to `n` due steps.

    The run with the fewest steps in flight is served first, the one served longest ago among equals; within a
    run the earliest problem. A run never has more trajectories under way (begun and not ended) than its limit:
    they finish one after the other, partial results are whole, and a server that caches prompts sees each
    conversation grow. An endpoint never gets more requests at once than its own limit.
    """
    with db.transaction() as connection:
        if not db.sqlite:
            connection.execute(_LOCK, {"key": _CLAIM_LOCK[kind]})
        claims: list[Claim] = []
        while len(claims) < n and (claim := _claim_one(connection, kind, lease_seconds)):
            claims.append(claim)
        return claims


def claimable_count(db: Database, kind: WorkerKind) -> int:
    """Steps of `kind` that workers could claim now, within every limit."""
    with db.query() as connection:
        rooms = connection.execute(_ROOM_OF_RUNS, _at(kind, _now())).all()
    wanted: Counter[int] = Counter()
    free: dict[int, int] = {}
    for endpoint, free_there, begun, new, may_begin in rooms:
        free[endpoint] = free_there
        wanted[endpoint] += begun + min(new, max(may_begin, 0))
    if kind is WorkerKind.EXECUTE:
        return wanted.total()
    return sum(min(count, max(free[endpoint], 0)) for endpoint, count in wanted.items())


def oldest_claimable(db: Database, kind: WorkerKind) -> datetime | None:
    """Since when the oldest step of `kind` that a worker could claim now has been due; None where there is none."""
    with db.query() as connection:
        return connection.scalar(_OLDEST, _at(kind, _now()))


def fenced(connection: Connection, claim: Claim) -> Held:
    """The claimed trajectory and its run, both locked for this transaction and fresh from the database.

    Raises LeaseLost where the step was claimed anew or ended meanwhile: nothing may be written then.
    """
    row = connection.execute(_HELD_BY, {"trajectory": claim.trajectory_id, "lease": claim.lease_number}).one_or_none()
    if row is None:
        raise LeaseLost(f"lease {claim.lease_number} of trajectory {claim.trajectory_id} is no longer held")
    trajectory_id, run_id, failures, sandbox_failures, run_status, *budget = row
    return Held(trajectory_id, run_id, failures, sandbox_failures, run_status, Budget(*budget))


def _claim_one(connection: Connection, kind: WorkerKind, lease_seconds: float) -> Claim | None:
    now = _now()
    due = _at(kind, now) | {"expires": now + timedelta(seconds=lease_seconds)}
    found = connection.execute(_TAKE_NEXT, due).one_or_none()
    if found is None:
        return None
    if found.request_lost:
        settle_lost_requests(connection, found.run_id, found.id)
    connection.execute(_SERVED, {"run": found.run_id, "now": _now()})
    return Claim(found.id, found.run_id, Step(found.step), found.lease_number)


def _at(kind: WorkerKind, now: datetime) -> dict[str, object]:
    return {"kind": kind.value, "now": now}


def _now() -> datetime:
    return datetime.now(UTC)
