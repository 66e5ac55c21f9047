"""Attempts, what was said in them, and every request that was sent."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.db.base import Base, Json, UntrustedText, UtcDateTime
from app.db.models.trajectory import Trajectory


class Attempt(Base):
    """One reply of the model and what the judge said of its program. `verdict` is None until it is judged.

    Of an imported run, what its recording does not say is None.
    """

    __tablename__ = "attempts"
    __table_args__ = (
        UniqueConstraint("trajectory_id", "attempt_index"),
        CheckConstraint(
            # Written so that NULL counts fail it: a CHECK that is neither true nor false passes.
            # A recorded verdict whose recording counts no cases is no judge's.
            "verdict IS NULL OR verdict <> 'AC' OR (coalesce(cases_total, 0) > 0"
            " AND coalesce(cases_run, -1) = cases_total AND coalesce(cases_passed, -1) = cases_total)"
            " OR (coalesce(recorded_verdict, '') = 'AC' AND judge_version IS NULL AND cases_total IS NULL"
            " AND cases_run IS NULL AND cases_passed IS NULL)",
            name="accepted_means_every_case",
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    trajectory_id: Mapped[int] = mapped_column(ForeignKey("trajectories.id"))
    attempt_index: Mapped[int]
    segment: Mapped[int]
    answered_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    prompt_tokens: Mapped[int | None]
    completion_tokens: Mapped[int | None]
    cost: Mapped[float | None]
    truncated: Mapped[bool | None]
    latency_ms: Mapped[float | None]
    finish_reason: Mapped[str | None]
    extraction: Mapped[str]
    syntax_hash: Mapped[str | None]
    repeats_attempt: Mapped[int | None]
    """Index of the first earlier attempt of this trajectory with the same syntax tree."""
    shared_from: Mapped[int | None] = mapped_column(ForeignKey("attempts.id"))
    """The baseline's attempt that this is a copy of: asked, paid and first judged there."""

    judged_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    verdict: Mapped[str | None]
    reason: Mapped[str | None]
    weak: Mapped[bool | None]
    near_limit: Mapped[bool | None]
    cases_passed: Mapped[int | None]
    cases_run: Mapped[int | None]
    cases_total: Mapped[int | None]
    visible_passed: Mapped[int | None]
    visible_total: Mapped[int | None]
    exit_code: Mapped[int | None]
    signal: Mapped[int | None]
    cpu_ms: Mapped[float | None]
    wall_ms: Mapped[float | None]
    peak_memory_kb: Mapped[int | None]
    oom_kills: Mapped[int | None]
    memory_tier: Mapped[str | None]
    sandbox: Mapped[str | None]
    judge_version: Mapped[int | None]
    recorded_verdict: Mapped[str | None]
    """What the recording of an imported run says, None where it says nothing. `verdict` is our judge's, where
    `judge_version` is set."""

    trajectory: Mapped[Trajectory] = relationship(lazy="raise")


class Transcript(Base):
    """The bulky part of an attempt, in a table of its own so that no list ever loads it."""

    __tablename__ = "transcripts"

    attempt_id: Mapped[int] = mapped_column(ForeignKey("attempts.id"), primary_key=True)
    messages: Mapped[list[dict[str, str]] | None] = mapped_column(Json)
    reply: Mapped[str | None] = mapped_column(UntrustedText)
    program: Mapped[dict[str, str] | None] = mapped_column(Json)
    """Sources by path, None where the reply held no program."""
    feedback: Mapped[str | None] = mapped_column(UntrustedText)
    """What the model is told about this attempt; None until judged."""
    first_failure: Mapped[dict[str, Any] | None] = mapped_column(Json)
    stdout: Mapped[str | None] = mapped_column(UntrustedText)
    stderr: Mapped[str | None] = mapped_column(UntrustedText)


class RequestState(StrEnum):
    """What became of a request. `possibly_billed`: it was sent and its answer was lost with the worker."""

    PENDING = "pending"
    ANSWERED = "answered"
    FAILED = "failed"
    POSSIBLY_BILLED = "possibly_billed"


class ModelRequestRow(Base):
    """One request to a model, written before it is sent, so that a crash cannot hide it."""

    __tablename__ = "model_requests"
    __table_args__ = (UniqueConstraint("trajectory_id", "lease_number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    trajectory_id: Mapped[int] = mapped_column(ForeignKey("trajectories.id"))
    attempt_index: Mapped[int]
    lease_number: Mapped[int]
    state: Mapped[str]
    sent_at: Mapped[datetime] = mapped_column(UtcDateTime)
    settled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    tokens_reserved: Mapped[int]
    cost_reserved: Mapped[float | None]
    error: Mapped[str | None]
