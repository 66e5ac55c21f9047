"""Runs that were imported from recordings, and the files that wait to be."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Json, UtcDateTime
from app.db.models.chore import Chore


class Recording(Base):
    """Where an imported run comes from. `identity` is a hash of the file and of every option that decides the run."""

    __tablename__ = "recordings"

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), unique=True)
    identity: Mapped[str] = mapped_column(unique=True)
    file_name: Mapped[str]
    sha256: Mapped[str]
    """Of the file as it was given, or of a folder's files."""
    imported_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """The run's `created_at` too, where the recording does not say when it was made."""
    re_executed: Mapped[bool]
    """Whether every recorded program was judged here, when it was imported."""
    skipped: Mapped[list[dict[str, str]]] = mapped_column(Json, deferred=True)
    """Records left out: their `place` in the file, and the `reason`."""
    notes: Mapped[list[str]] = mapped_column(Json)
    """What of the recording could not be taken as it is, in words."""


class RecordingImport(Chore):
    """A recording that somebody uploaded, to be read, re-executed where asked, and stored by an execute worker."""

    __tablename__ = "recording_imports"

    options: Mapped[dict[str, Any]] = mapped_column(Json)
    """The fields of `app.services.import_recording.RecordingRequest`."""
    file_name: Mapped[str]
    upload: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    """The file as sent; None once the import is finished, however it ended."""
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int | None]
    """Programs to re-execute; None until the file is read."""
    run_id: Mapped[int | None] = mapped_column(ForeignKey("runs.id"))
    report: Mapped[dict[str, Any] | None] = mapped_column(Json)
    """Of an import that succeeded: the fields of `app.services.import_recording.RecordingReport`."""

    def finish(self, error: str | None) -> None:
        """Close it, and forget the file."""
        super().finish(error)
        self.upload = None
