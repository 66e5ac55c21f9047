"""How far runs are, how fast they go, and what those wait for that do not."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session

from app.db.models import Run, RunStatus, Trajectory
from app.domain.work import Step

IDLE_SECONDS = 20.0
"""Workers look for work at least every five seconds: a due step that nobody took for so long has no worker."""


class WaitKind(StrEnum):
    """What a run waits for."""

    PERSON = "person"
    """It is paused."""
    RETRY = "retry"
    """Steps that failed wait for their next try."""
    WORKER = "worker"
    """Steps are due, and nobody takes them."""
    BASELINE = "baseline"
    """All that is left is attempts which the baseline of a fresh-start comparison has not made yet."""


@dataclass(frozen=True, slots=True)
class Wait:
    """What a run waits for. `problems` is how many of it wait.

    `reason` is what stopped them, in words; None for a worker. `next_try_at` is the earliest for a retry, `since` the
    time of the last step for a worker.
    """

    kind: WaitKind
    problems: int
    reason: str | None = None
    next_try_at: datetime | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Problems ended of all, and the seconds the run has been running, without its pauses.

    `per_minute` problems have ended, None before the first; `seconds_left` is what the others take at that rate, None
    where there is none or the run stands still.
    """

    ended: int
    total: int
    seconds: float
    per_minute: float | None
    seconds_left: float | None


def progress(run: Run, now: datetime) -> Progress:
    """How far a run is at `now`."""
    seconds = run.active_seconds
    if run.active_since is not None:
        seconds += max(0.0, (now - run.active_since).total_seconds())
    ended, total = run.trajectories_ended, run.trajectories_total
    rate = ended / seconds if ended and seconds else None
    left = (total - ended) / rate if rate and run.active_since is not None and ended < total else None
    return Progress(ended, total, seconds, None if rate is None else 60 * rate, left)


def run_waits(session: Session, runs: Sequence[Run], now: datetime) -> dict[int, Wait]:
    """What each of these runs waits for, by its id; those that wait for nothing are left out."""
    waits = {}
    running = {}
    for run in runs:
        if run.status == RunStatus.PAUSED:
            left = run.trajectories_total - run.trajectories_ended
            waits[run.id] = Wait(WaitKind.PERSON, left, reason=run.status_reason)
        elif run.status == RunStatus.RUNNING:
            running[run.id] = run
    if not running:
        return waits
    free = Trajectory.lease_expires_at.is_(None) | (Trajectory.lease_expires_at <= now)
    retries = free & Trajectory.waiting_for.is_not(None)
    due = free & (Trajectory.due_at <= now)
    rows = session.execute(
        select(
            Trajectory.run_id,
            _times(retries),
            func.min(case((retries, Trajectory.waiting_for))),
            func.min(case((retries, Trajectory.due_at))),
            _times(~free),
            _times(due),
            func.min(case((due, Trajectory.due_at))),
            _times(Trajectory.step == Step.SHARE.value),
            func.count(),
        )
        .where(Trajectory.run_id.in_(running), Trajectory.outcome.is_(None))
        .group_by(Trajectory.run_id)
    )
    for run_id, retrying, reason, next_try, held, idle, first_due, sharing, left in rows:
        run = running[run_id]
        if retrying:
            waits[run_id] = Wait(WaitKind.RETRY, retrying, reason=reason, next_try_at=next_try)
        elif idle and not held:
            since = max(first_due, run.last_claimed_at or run.created_at)
            if (now - since).total_seconds() > IDLE_SECONDS:
                waits[run_id] = Wait(WaitKind.WORKER, idle, since=since)
        elif sharing == left:
            waits[run_id] = Wait(WaitKind.BASELINE, sharing, reason=f"run {run.baseline_run_id}")
    return waits


def _times(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, 1), else_=0))
