"""Programs judged outside a run's steps: trials by hand, stored attempts under new rules, and repairs to be scored."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Json, Packed, UtcDateTime


class JobPurpose(StrEnum):
    """Why a program is judged, in the order in which they are claimed: a person waits for a trial.

    `score`: what a repair of known bugs is worth. It takes many programs, pieced together from the attempt's.
    """

    TRIAL = "trial"
    REJUDGE = "rejudge"
    SCORE = "score"


_SCORES = text("purpose = 'score'")


class JudgingJob(Base):
    """One program to be judged once, and its queue entry: due, leased and fenced as a trajectory's step is.

    `due_at` is None once it is finished: then there is either a `judgement` or, where the sandbox kept failing, an
    `error`, which says nothing about the program. The program is `program` for a trial, and the attempt's otherwise.
    A job that scores leaves no judgement: it is deleted in the transaction that stores the score.
    """

    __tablename__ = "judging_jobs"
    __table_args__ = (
        Index("ix_judging_jobs_due", "purpose", "due_at"),
        UniqueConstraint("rejudging_id", "attempt_id"),
        Index("uq_judging_jobs_score", "attempt_id", unique=True, sqlite_where=_SCORES, postgresql_where=_SCORES),
        CheckConstraint("(program IS NULL) <> (attempt_id IS NULL)", name="one_program"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    purpose: Mapped[str]
    problem_id: Mapped[int] = mapped_column(ForeignKey("problems.id"))
    program: Mapped[dict[str, str] | None] = mapped_column(Packed, deferred=True)
    """Sources by path."""
    rejudging_id: Mapped[int | None] = mapped_column(ForeignKey("rejudgings.id"))
    attempt_id: Mapped[int | None] = mapped_column(ForeignKey("attempts.id"))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    due_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    lease_number: Mapped[int] = mapped_column(default=0)
    lease_expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    failures: Mapped[int] = mapped_column(default=0)
    waiting_for: Mapped[str | None]
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    error: Mapped[str | None]
    judgement: Mapped[dict[str, Any] | None] = mapped_column(Packed, deferred=True)
    verdict: Mapped[str | None]
    visible_passed: Mapped[int | None]
    visible_total: Mapped[int | None]
    """The three of the judgement that a preview counts, so that it unpacks none."""


class RejudgingStatus(StrEnum):
    """`open` until a person applies or discards it."""

    OPEN = "open"
    APPLIED = "applied"
    DISCARDED = "discarded"


class Rejudging(Base):
    """All programs of a run judged again under `judge_version`: a preview first, then applied or discarded."""

    __tablename__ = "rejudgings"

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), index=True)
    judge_version: Mapped[int]
    status: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    closed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    replaced: Mapped[list[dict[str, Any]] | None] = mapped_column(Json, deferred=True)
    """Once applied: outcome, reason, attempt solved at and attempts counted before, of each trajectory that changed."""


class SupersededJudgement(Base):
    """What an attempt's verdict and its evidence were before a re-judging replaced them."""

    __tablename__ = "superseded_judgements"
    __table_args__ = (UniqueConstraint("rejudging_id", "attempt_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    rejudging_id: Mapped[int] = mapped_column(ForeignKey("rejudgings.id"))
    attempt_id: Mapped[int] = mapped_column(ForeignKey("attempts.id"), index=True)
    judge_version: Mapped[int | None]
    verdict: Mapped[str]
    replaced_by: Mapped[str]
    """The verdict that took its place."""
    judged_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    judgement: Mapped[dict[str, Any]] = mapped_column(Packed, deferred=True)
    """Every other column that it had on the attempt and its transcript, by name."""
