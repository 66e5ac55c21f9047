"""Trajectories: one problem's way through a run, and the queue that workers claim from."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.db.base import Base, UtcDateTime
from app.db.models.problem import BuggyProgramRow, ProblemRow
from app.db.models.run import Run


class TrajectoryOutcome(StrEnum):
    """How a trajectory ended. The first three are results, the others censor it.

    `ended_early`: it ended on a verdict that a later re-judging took back, so that attempts of it are missing.
    """

    SOLVED = "solved"
    VISIBLE_ONLY = "visible_only"
    EXHAUSTED = "exhausted"
    BUDGET = "budget"
    CANCELLED = "cancelled"
    INFRASTRUCTURE = "infrastructure"
    ENDED_EARLY = "ended_early"


class Trajectory(Base):
    """State and due step of one problem in one run.

    A step is due when `step` is set and `due_at` has passed; it is held while `lease_expires_at` lies ahead.
    `lease_number` rises with every claim; a write that carries an old number changes nothing.
    """

    __tablename__ = "trajectories"
    __table_args__ = (
        UniqueConstraint("run_id", "problem_id", "buggy_program_id", "sample"),
        UniqueConstraint("run_id", "position"),
        Index("ix_trajectories_due", "worker", "run_id", "position"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"))
    problem_id: Mapped[int] = mapped_column(ForeignKey("problems.id"))
    buggy_program_id: Mapped[int | None] = mapped_column(ForeignKey("buggy_programs.id"))
    sample: Mapped[int] = mapped_column(default=0)
    position: Mapped[int]
    step: Mapped[str | None]
    worker: Mapped[str | None]
    due_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    lease_number: Mapped[int] = mapped_column(default=0)
    lease_expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    failures: Mapped[int] = mapped_column(default=0)
    """Infrastructure failures of the due step in a row."""
    sandbox_failures: Mapped[int] = mapped_column(default=0)
    """Executions that failed for the sandbox's sake, all in all."""
    waiting_for: Mapped[str | None]
    """What the due step waits for, in words, while it backs off."""
    outcome: Mapped[str | None]
    outcome_reason: Mapped[str | None]
    solved_at: Mapped[int | None]
    attempts_judged: Mapped[int] = mapped_column(default=0)
    """Judged attempts up to its end. Judged ones behind them are surplus: a re-judging moved the end forward."""

    run: Mapped[Run] = relationship(lazy="raise")
    problem: Mapped[ProblemRow] = relationship(lazy="raise")
    buggy_program: Mapped[BuggyProgramRow | None] = relationship(lazy="raise")
