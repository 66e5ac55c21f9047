"""Cancelling and resuming a run."""

from datetime import UTC, datetime

from sqlalchemy import select, update

from app.db.models import Run, RunStatus, Trajectory, TrajectoryOutcome
from app.db.session import Database
from app.domain.errors import ConflictError, NotFoundError
from app.services.steps.transitions import end, lock_run


def cancel_run(db: Database, run_id: int) -> None:
    """Stop a run and keep what it has. Steps under way see the status and end by themselves, unwritten.

    Raises NotFoundError, ConflictError for a run that has ended.
    """
    with db.write() as session:
        # Trajectories before the run, as every step locks them.
        waiting = session.scalars(
            select(Trajectory)
            .where(Trajectory.run_id == run_id, Trajectory.step.is_not(None), Trajectory.lease_expires_at.is_(None))
            .with_for_update()
        ).all()
        if session.get(Run, run_id) is None:
            raise NotFoundError(f"there is no run {run_id}")
        run = lock_run(session, run_id)
        if run.status in (RunStatus.COMPLETED, RunStatus.CANCELLED):
            raise ConflictError(f"run {run_id} is {run.status} already")
        run.status = RunStatus.CANCELLED
        run.status_reason = "cancelled; what was judged before is kept"
        for trajectory in waiting:
            end(session, trajectory, run, TrajectoryOutcome.CANCELLED, None)


def resume_run(db: Database, run_id: int) -> None:
    """Let a paused run go on; what it waited for counts from anew.

    Raises NotFoundError, ConflictError for a run that is not paused.
    """
    with db.write() as session:
        session.execute(
            update(Trajectory)
            .where(Trajectory.run_id == run_id, Trajectory.step.is_not(None), Trajectory.lease_expires_at.is_(None))
            .values(failures=0, due_at=datetime.now(UTC), waiting_for=None)
        )
        if session.get(Run, run_id) is None:
            raise NotFoundError(f"there is no run {run_id}")
        run = lock_run(session, run_id)
        if run.status != RunStatus.PAUSED:
            raise ConflictError(f"run {run_id} is {run.status}, not paused")
        run.status = RunStatus.RUNNING
        run.status_reason = None
