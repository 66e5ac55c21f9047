"""How a trajectory and its run change state. The caller holds the trajectory's lock; the run is locked after it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from app.db.models import EndpointKind, Run, RunStatus, Trajectory, TrajectoryOutcome
from app.domain.attempts import AttemptRecord
from app.domain.protocol.decide import Ask, Outcome, Stop, decide
from app.domain.work import Step, WorkerKind
from app.services.claim import Held
from app.services.steps.situation import Situation

MAX_TRIES = 8
"""Tries of a step before its failure counts as lasting: with the backoff below, about four minutes."""
BACKOFF_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
MAX_BACKOFF_SECONDS = 600.0
"""What a server may ask for by Retry-After; a longer wait is cut to this."""

# Made once: building a statement anew takes longer than running it. The first two set the columns they are given.
_SET_TRAJECTORY = update(Trajectory).where(Trajectory.id == bindparam("of"))
_SET_RUN = update(Run).where(Run.id == bindparam("of")).values(revision=Run.revision + 1)
_COUNT_ENDED = (
    update(Run)
    .where(Run.id == bindparam("of"))
    .values(
        trajectories_ended=Run.trajectories_ended + 1,
        trajectories_solved=Run.trajectories_solved + bindparam("solved"),
        revision=Run.revision + 1,
    )
    .returning(Run.trajectories_ended == Run.trajectories_total, Run.status)
)
_CLOCK = select(Run.active_seconds, Run.active_since).where(Run.id == bindparam("of"))
_NOT_BEGUN = (
    select(Trajectory.worker)
    .where(Trajectory.run_id == bindparam("of"), Trajectory.lease_number == 0, Trajectory.outcome.is_(None))
    .limit(1)
)

Wakes = Sequence[WorkerKind]
"""Kinds of worker that have something to do once the step is committed."""


def proceed(connection: Connection, held: Held, attempts: Sequence[AttemptRecord], situation: Situation) -> Wakes:
    """Set what the rules say comes next, and give the lease back."""
    values = {"failures": 0, "attempts_judged": sum(a.verdict is not None for a in attempts)}
    decision = decide(attempts, situation.policy)
    if isinstance(decision, Stop):
        solved_at = attempts[-1].index if decision.outcome is Outcome.SOLVED else None
        outcome = TrajectoryOutcome(decision.outcome)
        return end(connection, held.trajectory_id, held.run_id, outcome, None, solved_at=solved_at, **values)
    if held.run_status == RunStatus.CANCELLED:
        return end(connection, held.trajectory_id, held.run_id, TrajectoryOutcome.CANCELLED, None, **values)
    due = due_now(Step.ASK if isinstance(decision, Ask) else Step.RUN, situation.endpoint.kind)
    set_trajectory(connection, held.trajectory_id, lease_expires_at=None, **due, **values)
    return (WorkerKind(due["worker"]),)


def due_now(step: Step, endpoint_kind: str) -> dict[str, Any]:
    """Columns of a trajectory that queue a step. repair-search asks in the sandbox, so `execute` does that."""
    local = endpoint_kind == EndpointKind.REPAIR_SEARCH
    worker = WorkerKind.EXECUTE if step is Step.RUN or local else WorkerKind.GENERATE
    return {"step": step.value, "worker": worker.value, "due_at": datetime.now(UTC)}


def end(
    connection: Connection,
    trajectory_id: int,
    run_id: int,
    outcome: TrajectoryOutcome,
    reason: str | None,
    **values: Any,
) -> Wakes:
    """End a trajectory and, with the last one, its run: counted in this transaction. `values`: columns to set with it.

    Its place is free then for a trajectory of the run that has not begun: who asks for that one is to be woken.
    """
    nothing_due = {"step": None, "worker": None, "due_at": None, "lease_expires_at": None, "waiting_for": None}
    set_trajectory(connection, trajectory_id, outcome=outcome.value, outcome_reason=reason, **nothing_due, **values)
    solved = outcome is TrajectoryOutcome.SOLVED
    was_last, status = connection.execute(_COUNT_ENDED, {"of": run_id, "solved": int(solved)}).one()
    if was_last:
        completed = (
            {} if status == RunStatus.CANCELLED else {"status": RunStatus.COMPLETED.value, "status_reason": None}
        )
        set_run(connection, run_id, finished_at=datetime.now(UTC), **completed, **stopped_clock(connection, run_id))
        return ()
    worker = connection.scalar(_NOT_BEGUN, {"of": run_id})
    return () if worker is None else (WorkerKind(worker),)


def backoff(failures: int, retry_after: float | None) -> float:
    """Seconds until the next try after so many failures in a row; a server's own wish comes first."""
    if retry_after is not None:
        return min(max(retry_after, 0.0), MAX_BACKOFF_SECONDS)
    return BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS)) - 1]


def put_off(connection: Connection, held: Held, seconds: float, waiting_for: str | None, **values: Any) -> None:
    """Give the step back, due again in `seconds`. `values`: columns to set with it."""
    due_at = datetime.now(UTC) + timedelta(seconds=seconds)
    set_trajectory(
        connection, held.trajectory_id, due_at=due_at, lease_expires_at=None, waiting_for=waiting_for, **values
    )
    set_run(connection, held.run_id)


def pause(connection: Connection, held: Held, reason: str) -> None:
    """Stop handing out steps of a running run until a person resumes it."""
    if held.run_status == RunStatus.RUNNING:
        set_run(
            connection,
            held.run_id,
            status=RunStatus.PAUSED.value,
            status_reason=reason,
            **stopped_clock(connection, held.run_id),
        )


def stopped_clock(connection: Connection, run_id: int) -> dict[str, Any]:
    """Columns of a run (locked by the caller) that stop its clock; none where it stands still already."""
    seconds, since = connection.execute(_CLOCK, {"of": run_id}).one()
    if since is None:
        return {}
    return {"active_seconds": seconds + (datetime.now(UTC) - since).total_seconds(), "active_since": None}


def set_trajectory(connection: Connection, trajectory_id: int, **values: Any) -> None:
    """Set columns of a trajectory."""
    connection.execute(_SET_TRAJECTORY, {"of": trajectory_id, **values})


def set_run(connection: Connection, run_id: int, **values: Any) -> None:
    """Set columns of a run; without any, note only that something about it has changed."""
    connection.execute(_SET_RUN, {"of": run_id, **values})
