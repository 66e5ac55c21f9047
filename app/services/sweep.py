"""Finding work that no message announced: lost wake-ups, leases of dead workers, steps whose wait is over."""

from datetime import UTC, datetime

from sqlalchemy import or_, select

from app.db.models import Run, RunStatus, Trajectory, TrajectoryOutcome
from app.db.session import Database
from app.domain.work import WorkerKind
from app.services.claim import claimable_count
from app.services.spending import settle_lost_requests
from app.services.steps.transitions import end


def sweep(db: Database, kind: WorkerKind) -> int:
    """How many steps of `kind` workers could claim.

    Also ends what a worker held when its run was cancelled and the worker died: nobody would claim it again.
    """
    orphans = (
        select(Trajectory.id, Trajectory.run_id)
        .join(Run, Run.id == Trajectory.run_id)
        .where(
            Run.status == RunStatus.CANCELLED,
            Trajectory.step.is_not(None),
            or_(Trajectory.lease_expires_at.is_(None), Trajectory.lease_expires_at <= datetime.now(UTC)),
        )
    )
    with db.query() as connection:
        orphaned = connection.scalar(select(orphans.exists()))
    if orphaned:
        with db.transaction() as connection:
            for trajectory_id, run_id in connection.execute(
                orphans.with_for_update(of=Trajectory, skip_locked=True)
            ).all():
                settle_lost_requests(connection, run_id, trajectory_id)
                end(connection, trajectory_id, run_id, TrajectoryOutcome.CANCELLED, None)
    return claimable_count(db, kind)
