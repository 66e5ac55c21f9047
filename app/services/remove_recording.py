"""Removing an imported run wholly: its file can be imported again."""

from sqlalchemy import ColumnElement, Table, delete, or_, select

from app.db.base import Base
from app.db.models import Attempt, EndpointKind, ModelEndpoint, Rejudging, Run, Trajectory
from app.db.session import Database
from app.domain.errors import ConflictError, NotFoundError


def remove_recording(db: Database, run_id: int) -> None:
    """Delete an imported run and all that belongs to it, and its model where no other run is of it.

    Programs of it that are being judged again are stopped. Raises NotFoundError, ConflictError for a run that was made
    here, which is kept, and for one that has arms.
    """
    with db.write() as session:
        run = session.scalar(select(Run).where(Run.id == run_id).with_for_update())
        if run is None:
            raise NotFoundError(f"there is no run {run_id}")
        if run.imported_from is None:
            raise ConflictError(f"run {run_id} was made here and is kept; only imported runs are removed")
        arms = session.scalars(select(Run.id).where(Run.baseline_run_id == run_id).order_by(Run.id)).all()
        if arms:
            raise ConflictError(f"run {run_id} is the baseline of run {', '.join(map(str, arms))}: remove those first")
        endpoint_id = run.endpoint_id
        for table in reversed(Base.metadata.sorted_tables):
            belongs = _belongs(table, run_id)
            if belongs is not None:
                session.execute(delete(table).where(belongs).execution_options(synchronize_session=False))
        session.execute(delete(Run).where(Run.id == run_id).execution_options(synchronize_session=False))
        used = session.scalar(select(Run.id).where(Run.endpoint_id == endpoint_id).limit(1))
        if used is None:
            session.execute(
                delete(ModelEndpoint).where(
                    ModelEndpoint.id == endpoint_id, ModelEndpoint.kind == EndpointKind.RECORDED
                )
            )


def _belongs(table: Table, run_id: int) -> ColumnElement[bool] | None:
    """What of a table belongs to a run, directly or by its trajectories, attempts or re-judgings; None where none can.

    Read from the foreign keys, so that a table that is added later is not forgotten.
    """
    trajectories = select(Trajectory.id).where(Trajectory.run_id == run_id)
    of_run = {
        "trajectories": trajectories,
        "attempts": select(Attempt.id).where(Attempt.trajectory_id.in_(trajectories)),
        "rejudgings": select(Rejudging.id).where(Rejudging.run_id == run_id),
    }
    of_run["repair_scores"] = of_run["attempts"]  # its key is the attempt's
    found: list[ColumnElement[bool]] = []
    for key in table.foreign_keys:
        if key.column.table.name == "runs" and table.name != "runs":
            found.append(key.parent == run_id)
        elif key.column.table.name in of_run and key.column.table is not table:
            found.append(key.parent.in_(of_run[key.column.table.name]))
    return or_(*found) if found else None
