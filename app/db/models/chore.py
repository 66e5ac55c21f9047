"""Chores: what a person asks of a worker once, outside of runs. Importing a problem set, and testing a model."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ForeignKey, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Json, UtcDateTime


class Chore(Base):
    """The columns of every chore: due, leased and fenced as a trajectory's step is.

    `due_at` is None once it is finished. Then `error` says why it failed, or is None.
    """

    __abstract__ = True

    id: Mapped[int] = mapped_column(primary_key=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    due_at: Mapped[datetime | None] = mapped_column(UtcDateTime, index=True)
    lease_number: Mapped[int] = mapped_column(default=0)
    lease_expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    error: Mapped[str | None]

    def finish(self, error: str | None) -> None:
        """Close it; `error` says why it failed, None where it did not."""
        self.due_at = self.lease_expires_at = None
        self.finished_at = datetime.now(UTC)
        self.error = error


class ProblemImport(Chore):
    """A file, or two, that somebody uploaded, to be read, tried and stored as a problem set by an execute worker."""

    __tablename__ = "problem_imports"

    name: Mapped[str]
    format: Mapped[str]
    licence: Mapped[str | None]
    """As entered; None leaves what the file says."""
    file_name: Mapped[str]
    upload: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    """The file as sent; None once the import is finished, however it ended."""
    tests: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    """Likewise the file of tests, of formats that have them apart."""
    tried: Mapped[int] = mapped_column(default=0)
    total: Mapped[int | None]
    """Problems in the file; None until it is read."""
    problem_set_id: Mapped[int | None] = mapped_column(ForeignKey("problem_sets.id"))
    report: Mapped[dict[str, Any] | None] = mapped_column(Json)
    """Counts of an import that succeeded; the reasons of what was left out are the problem set's."""

    def finish(self, error: str | None) -> None:
        """Close it, and forget the files."""
        super().finish(error)
        self.upload = self.tests = None


class ModelTest(Chore):
    """One tiny request to a model, which a generate worker sends once."""

    __tablename__ = "model_tests"

    endpoint_id: Mapped[int] = mapped_column(ForeignKey("model_endpoints.id"), index=True)
    answer: Mapped[str | None]
    """How it went, in words, where the model answered."""
