"""What became of each known bug in an attempt at repairing a buggy program."""

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base


class BugScore(Base):
    """One known bug in one attempt: the predicted block matched to it, whether it is fixed, and at how many lines."""

    __tablename__ = "bug_scores"
    __table_args__ = (UniqueConstraint("attempt_id", "bug_index"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    attempt_id: Mapped[int] = mapped_column(ForeignKey("attempts.id"))
    bug_index: Mapped[int]
    matched_block: Mapped[int | None]
    fixed: Mapped[bool]
    essential_lines: Mapped[int | None]
