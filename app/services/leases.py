"""Leases on rows that workers claim: renewed as long as a worker holds them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from sqlalchemy import tuple_, update

from app.db.models import Chore, JudgingJob, Trajectory
from app.db.session import Database


class HeldLeases:
    """The leases of one table that this process holds. Used from several threads."""

    def __init__(self, db: Database, table: type[Trajectory | JudgingJob | Chore], seconds: float) -> None:
        self._db = db
        self._table = table
        self._seconds = seconds
        self._held: set[tuple[int, int]] = set()
        self._lock = threading.Lock()

    @contextmanager
    def holding(self, row_id: int, lease_number: int) -> Iterator[None]:
        """Hold a lease that was claimed until the block ends."""
        lease = (row_id, lease_number)
        with self._lock:
            self._held.add(lease)
        try:
            yield
        finally:
            with self._lock:
                self._held.discard(lease)

    def renew(self) -> None:
        """Extend those that still stand. A lease that was taken over stays with its new holder.

        Raises StorageError.
        """
        with self._lock:
            held = list(self._held)
        if not held:
            return
        table = self._table
        with self._db.transaction() as connection:
            connection.execute(
                update(table)
                .where(tuple_(table.id, table.lease_number).in_(held), table.lease_expires_at.is_not(None))
                .values(lease_expires_at=datetime.now(UTC) + timedelta(seconds=self._seconds))
            )
