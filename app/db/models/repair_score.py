"""What a repair of a buggy program is worth, by the paper's rules, and what became of each of its known bugs."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Json, UtcDateTime


class RepairScore(Base):
    """The score of one attempt; shares are fractions of 1. An attempt without a row waits for it, or has a job's error.

    `obstacle` says why the reply repaired nothing (see `app.domain.protocol.edit_replies.Obstacle`): that scores 0.
    """

    __tablename__ = "repair_scores"

    attempt_id: Mapped[int] = mapped_column(ForeignKey("attempts.id"), primary_key=True)
    epsilon: Mapped[int]
    precision: Mapped[float]
    recall: Mapped[float]
    f1: Mapped[float]
    unit_pass: Mapped[bool]
    """The attempt's own verdict is AC."""
    edits: Mapped[int]
    """Entries of the edit script from the buggy program to the repaired one."""
    obstacle: Mapped[str | None]
    blocks: Mapped[list[dict[str, Any]]] = mapped_column(Json)
    """The fields of `app.domain.metrics.precision.BlockScore`, top to bottom."""
    programs: Mapped[int]
    cached: Mapped[int]
    """Of the programs judged for it, those that were judged before."""
    near_limit: Mapped[int]
    """Of them, those whose verdict another machine may give otherwise."""
    weak: Mapped[bool]
    scored_at: Mapped[datetime] = mapped_column(UtcDateTime)
    score_version: Mapped[int] = mapped_column(index=True)
    """`app.domain.metrics.precision.SCORE_VERSION`; what an earlier one scored is scored anew."""


class BugScore(Base):
    """One known bug in one attempt: the block that claimed it and by which rule, whether it is fixed, what it is worth.

    `block` is an index into the score's blocks, None where no block claimed the bug. `credit` is its part of what
    counts towards precision, in entries.
    """

    __tablename__ = "bug_scores"

    attempt_id: Mapped[int] = mapped_column(ForeignKey("repair_scores.attempt_id"), primary_key=True)
    bug_index: Mapped[int] = mapped_column(primary_key=True)
    block: Mapped[int | None]
    rule: Mapped[str | None]
    fixed: Mapped[bool]
    essential: Mapped[int | None]
    credit: Mapped[float]


class RepairAudit(Base):
    """What a person says of a repair beside its score, which it never changes."""

    __tablename__ = "repair_audits"

    attempt_id: Mapped[int] = mapped_column(ForeignKey("attempts.id"), primary_key=True)
    valid_alternative: Mapped[bool]
    """It repairs the program well, though not as the ground truth does."""
    note: Mapped[str]
    marked_at: Mapped[datetime] = mapped_column(UtcDateTime)
