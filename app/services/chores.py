"""Chores: claimed from their table, leased, fenced, and done once. A wake-up for workers announces them too."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar

from sqlalchemy import ColumnElement, bindparam, func, or_, select
from sqlalchemy.orm import Session

from app.db.base import UtcDateTime
from app.db.models import Chore
from app.db.session import Database
from app.domain.errors import ConflictError, LeaseLost, NotFoundError, StorageError
from app.services.leases import HeldLeases

Row = TypeVar("Row", bound=Chore)

log = logging.getLogger(__name__)

_NOW = bindparam("now", type_=UtcDateTime())
_PROGRESS_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ChoreClaim:
    """A chore held by this worker until its lease runs out."""

    id: int
    lease_number: int


class Chores(Generic[Row]):
    """The chores of one table, for a worker to do beside its steps. `perform_next` is called from several threads.

    `perform` does a claimed one and finishes it under its lease. One whose workers died `tries` times is given up.
    """

    def __init__(
        self, db: Database, table: type[Row], perform: Callable[[ChoreClaim], None], *, tries: int, lease_seconds: float
    ) -> None:
        self._db = db
        self._table = table
        self._perform = perform
        self._tries = tries
        self._lease_seconds = lease_seconds
        self.leases = HeldLeases(db, table, lease_seconds)
        free = or_(table.lease_expires_at.is_(None), table.lease_expires_at <= _NOW)
        is_due = (table.due_at <= _NOW) & free
        # Made once: workers ask at every step of a run, and building a statement takes longer than running it.
        self._count = select(func.count()).select_from(table).where(is_due)
        self.any_due: ColumnElement[bool] = select(table.id).where(is_due).exists()
        """Whether one is due at `:now`, for a statement that asks it of all jobs of a worker."""
        self._next = (
            select(table).where(is_due).order_by(table.due_at, table.id).limit(1).with_for_update(skip_locked=True)
        )

    def perform_next(self) -> bool:
        """Claim and do one due chore; False where none is due. Raises StorageError."""
        claim = self._claim()
        if claim is None:
            return False
        try:
            with self.leases.holding(claim.id, claim.lease_number):
                self._attempt(claim)
        except LeaseLost:
            log.warning("lease lost", extra={"chore": claim.id, "table": self._table.__tablename__})
        return True

    def _attempt(self, claim: ChoreClaim) -> None:
        try:
            self._perform(claim)
        except (LeaseLost, StorageError):
            raise
        except Exception as error:
            # A fault of ours must not hold a chore for ever, nor end the worker.
            log.exception("chore failed", extra={"chore": claim.id, "table": self._table.__tablename__})
            with self._db.write() as session:
                chore = held_chore(session, self._table, claim)
                chore.finish(f"internal error: {type(error).__name__}: {error}")

    def _claim(self) -> ChoreClaim | None:
        now = datetime.now(UTC)
        with self._db.write() as session:
            chore = session.scalar(self._next, {"now": now})
            if chore is None:
                return None
            if chore.lease_number == self._tries:
                chore.finish("its worker ended while it was under way")
                return None
            chore.lease_number += 1
            chore.lease_expires_at = now + timedelta(seconds=self._lease_seconds)
            return ChoreClaim(chore.id, chore.lease_number)

    def due(self) -> int:
        """How many chores are due: what the sweep wakes workers for."""
        with self._db.query() as connection:
            return connection.scalar(self._count, {"now": datetime.now(UTC)}) or 0


class ChoreProgress(Generic[Row]):
    """Notes how far a chore is, now and then, and ends one that was cancelled, or whose worker is `stopping`."""

    def __init__(
        self,
        db: Database,
        table: type[Row],
        claim: ChoreClaim,
        stopping: Callable[[], bool],
        note: Callable[[Row, int, int], None],
    ) -> None:
        self._db = db
        self._table = table
        self._claim = claim
        self._stopping = stopping
        self._note = note
        self._noted_at = -_PROGRESS_SECONDS

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` are done. Raises LeaseLost where it is no longer this worker's."""
        if self._stopping():
            with self._db.write() as session:
                held_chore(session, self._table, self._claim).lease_expires_at = None
            raise LeaseLost(f"{self._table.__tablename__} {self._claim.id} is left to another worker")
        if done < total and time.monotonic() - self._noted_at < _PROGRESS_SECONDS:
            return
        self._noted_at = time.monotonic()
        with self._db.write() as session:
            self._note(held_chore(session, self._table, self._claim), done, total)


def fail_chore(db: Database, table: type[Row], claim: ChoreClaim, reason: str) -> None:
    """End a chore with the reason why it failed. Raises LeaseLost."""
    with db.write() as session:
        # A file can hold what no database takes as text, and a message may quote it.
        held_chore(session, table, claim).finish(reason.encode("utf-8", "replace").decode().replace("\0", "�"))


def cancel_chore(db: Database, table: type[Row], chore_id: int) -> None:
    """Stop an import; its worker notices at the next item, and stores nothing.

    Raises NotFoundError, ConflictError where it is finished.
    """
    with db.write() as session:
        row = session.scalar(select(table).where(table.id == chore_id).with_for_update())
        if row is None:
            raise NotFoundError(f"there is no import {chore_id}")
        if row.finished_at is not None:
            raise ConflictError(f"import {chore_id} is finished already")
        row.finish("cancelled")


def held_chore(session: Session, table: type[Row], claim: ChoreClaim) -> Row:
    """The claimed chore, locked for this transaction.

    Raises LeaseLost where it was claimed anew or finished meanwhile: nothing may be written then.
    """
    chore = session.scalar(
        select(table)
        .where(table.id == claim.id, table.lease_number == claim.lease_number, table.lease_expires_at.is_not(None))
        .with_for_update()
    )
    if chore is None:
        raise LeaseLost(f"lease {claim.lease_number} of {table.__tablename__} {claim.id} is no longer held")
    return chore
