"""Signs of life that worker processes leave in the database, for whoever watches an installation."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, insert, update

from app.db.models import Heartbeat
from app.db.session import Database
from app.domain.work import WorkerKind

FORGOTTEN_AFTER = timedelta(days=1)
"""A worker that ended in order leaves no row; one that was killed leaves its last, to be seen for a while."""


def beat(db: Database, worker: str, kind: WorkerKind, *, slots: int, busy: int, started_at: datetime) -> None:
    """Note that this worker lives, and how much of it is busy."""
    now = datetime.now(UTC)
    state = {"kind": kind.value, "slots": slots, "busy": busy, "started_at": started_at, "seen_at": now}
    with db.transaction() as connection:
        connection.execute(delete(Heartbeat).where(Heartbeat.seen_at < now - FORGOTTEN_AFTER))
        known = connection.execute(update(Heartbeat).where(Heartbeat.worker == worker).values(**state))
        if not known.rowcount:
            connection.execute(insert(Heartbeat).values(worker=worker, **state))


def leave(db: Database, worker: str) -> None:
    """Note that this worker ended in order."""
    with db.transaction() as connection:
        connection.execute(delete(Heartbeat).where(Heartbeat.worker == worker))
