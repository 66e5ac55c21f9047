"""Pausing, resuming and cancelling a run."""

from datetime import UTC, datetime

from sqlalchemy import Connection, select, update

from app.db.models import Run, RunStatus, Trajectory, TrajectoryOutcome
from app.db.session import Database
from app.domain.errors import ConflictError, NotFoundError
from app.services.steps.transitions import end, set_run, stopped_clock

PAUSED_BY_HAND = "paused by hand"


def pause_run(db: Database, run_id: int) -> None:
    """Hand out no further steps of a running run. Those under way are finished and kept.

    Raises NotFoundError, ConflictError for a run that is not running.
    """
    with db.transaction() as connection:
        status = locked_status(connection, run_id)
        if status != RunStatus.RUNNING:
            raise ConflictError(f"run {run_id} is {status}, not running")
        clock = stopped_clock(connection, run_id)
        set_run(connection, run_id, status=RunStatus.PAUSED.value, status_reason=PAUSED_BY_HAND, **clock)


def cancel_run(db: Database, run_id: int) -> None:
    """Stop a run and keep what it has. Steps under way see the status and end by themselves, unwritten.

    Raises NotFoundError, ConflictError for a run that has ended.
    """
    with db.transaction() as connection:
        # Trajectories before the run, as every step locks them.
        waiting = connection.scalars(
            select(Trajectory.id)
            .where(Trajectory.run_id == run_id, Trajectory.step.is_not(None), Trajectory.lease_expires_at.is_(None))
            .with_for_update()
        ).all()
        status = locked_status(connection, run_id)
        if status in (RunStatus.COMPLETED, RunStatus.CANCELLED):
            raise ConflictError(f"run {run_id} is {status} already")
        reason = "cancelled; what was judged before is kept"
        clock = stopped_clock(connection, run_id)
        set_run(connection, run_id, status=RunStatus.CANCELLED.value, status_reason=reason, **clock)
        for trajectory_id in waiting:
            end(connection, trajectory_id, run_id, TrajectoryOutcome.CANCELLED, None)


def resume_run(db: Database, run_id: int) -> None:
    """Let a paused run go on; what it waited for counts from anew, what it spent and how long it ran does not.

    Raises NotFoundError, ConflictError for a run that is not paused.
    """
    with db.transaction() as connection:
        now = datetime.now(UTC)
        connection.execute(
            update(Trajectory)
            .where(Trajectory.run_id == run_id, Trajectory.worker.is_not(None), Trajectory.lease_expires_at.is_(None))
            .values(failures=0, due_at=now, waiting_for=None)
        )
        status = locked_status(connection, run_id)
        if status != RunStatus.PAUSED:
            raise ConflictError(f"run {run_id} is {status}, not paused")
        set_run(connection, run_id, status=RunStatus.RUNNING.value, status_reason=None, active_since=now)


def locked_status(connection: Connection, run_id: int) -> str:
    """The status of a run, which stays locked. Raises NotFoundError."""
    status = connection.scalar(select(Run.status).where(Run.id == run_id).with_for_update())
    if status is None:
        raise NotFoundError(f"there is no run {run_id}")
    return status
