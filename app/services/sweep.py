"""Finding work that no message announced: lost wake-ups, leases of dead workers, steps whose wait is over."""

from datetime import UTC, datetime

from sqlalchemy import Select, or_, select

from app.db.models import Run, RunStatus, Trajectory, TrajectoryOutcome
from app.db.session import Database
from app.domain.work import WorkerKind
from app.services.claim import due_count
from app.services.spending import settle_lost_requests
from app.services.steps.transitions import end, lock_run


def sweep(db: Database, kind: WorkerKind) -> int:
    """How many steps of `kind` are due, limits aside.

    Also ends what a worker held when its run was cancelled and the worker died: nobody would claim it again.
    """
    now = datetime.now(UTC)
    with db.read() as session:
        due = due_count(session, kind)
        orphaned = session.scalar(select(_orphans(now).exists()))
    if orphaned:
        with db.write() as session:
            for trajectory in session.scalars(_orphans(now).with_for_update(of=Trajectory, skip_locked=True)):
                settle_lost_requests(session, trajectory.run_id, trajectory.id)
                end(session, trajectory, lock_run(session, trajectory.run_id), TrajectoryOutcome.CANCELLED, None)
    return due


def _orphans(now: datetime) -> Select[Trajectory]:
    return (
        select(Trajectory)
        .join(Run, Run.id == Trajectory.run_id)
        .where(
            Run.status == RunStatus.CANCELLED,
            Trajectory.step.is_not(None),
            or_(Trajectory.lease_expires_at.is_(None), Trajectory.lease_expires_at <= now),
        )
    )
