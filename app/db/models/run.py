"""Runs: one model on one version of a problem set under one protocol."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.db.base import Base, Document, Json, UtcDateTime
from app.db.models.model_endpoint import ModelEndpoint
from app.db.models.problem import ProblemSetRow
from app.domain.protocol.policy import Protocol
from app.domain.protocol.restart import NO_FRESH_START


class RunStatus(StrEnum):
    """Where a run stands. `paused` waits for a person and says why in `status_reason`."""

    RUNNING = "running"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    COMPLETED = "completed"


class Run(Base):
    """A run with its counters. The counters change only in the transaction that changes what they count.

    `tokens_reserved` and `cost_reserved` are the worst case of requests under way; reserved + spent never
    exceeds the budget. `cost_spent` is None as soon as a price or a token count is unknown.

    `revision` rises in every transaction that changes what the run's page shows while it is under way.
    `active_seconds` is the time it ran up to its last stop; `active_since` is set while it runs.
    """

    __tablename__ = "runs"
    __table_args__ = (Index(None, "problem_set_id", "dry_run"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    problem_set_id: Mapped[int] = mapped_column(ForeignKey("problem_sets.id"))
    endpoint_id: Mapped[int] = mapped_column(ForeignKey("model_endpoints.id"), index=True)
    protocol: Mapped[Protocol] = mapped_column(Document(Protocol))
    prompts_version: Mapped[int | None]
    judge_version: Mapped[int | None]
    """Like the version of the prompts and `tokens_spent`, None where the recording of an imported run does not say."""
    subset: Mapped[list[str] | None] = mapped_column(Json)
    """Keys of the problems chosen, None for all."""
    items: Mapped[list[str] | None] = mapped_column(Json)
    """The buggy programs chosen, each as `PROBLEM/KEY`; None for all of the chosen problems."""
    items_per_k: Mapped[int | None]
    """So many of them were drawn for each number of bugs, by the protocol's seed; None where they were named."""
    status: Mapped[str] = mapped_column(index=True)
    status_reason: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    trajectories_total: Mapped[int]
    trajectories_ended: Mapped[int] = mapped_column(default=0)
    trajectories_solved: Mapped[int] = mapped_column(default=0)
    scores_waiting: Mapped[int] = mapped_column(default=0)
    """Judged repairs of known bugs that still wait for their score."""
    dry_run: Mapped[bool] = mapped_column(default=False)
    """A try of one problem before the run itself: on no board."""
    revision: Mapped[int] = mapped_column(BigInteger, default=0)
    active_seconds: Mapped[float] = mapped_column(default=0.0)
    active_since: Mapped[datetime | None] = mapped_column(UtcDateTime)
    max_in_flight: Mapped[int]
    budget_tokens: Mapped[int | None] = mapped_column(BigInteger)
    budget_cost: Mapped[float | None]
    tokens_reserved: Mapped[int] = mapped_column(BigInteger, default=0)
    tokens_spent: Mapped[int | None] = mapped_column(BigInteger, default=0)
    cost_reserved: Mapped[float] = mapped_column(default=0.0)
    cost_spent: Mapped[float | None] = mapped_column(default=0.0)
    last_claimed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)

    baseline_run_id: Mapped[int | None] = mapped_column(ForeignKey("runs.id"), index=True)
    """Set for an arm: the run that it stands beside, alike but for fresh starts, or for sampling as a grid's cell."""
    shares_attempts: Mapped[bool] = mapped_column(default=False)
    """Whether the attempts before an arm's first fresh start are the baseline's own."""
    arm_origin: Mapped[str | None]
    """Where an arm's number of attempts comes from, in words, where nobody chose it."""
    arms_to_come: Mapped[list[dict[str, Any]] | None] = mapped_column(Json)
    """Of a baseline: arms that its own curve decides, `{"theta": 50, "shares": true}`; with `"refused"`, why there is
    none."""
    tokens_shared: Mapped[int] = mapped_column(BigInteger, default=0)
    """Tokens of the attempts shared with the baseline, which paid for them. None of them is in `tokens_spent`."""
    cost_shared: Mapped[float | None] = mapped_column(default=0.0)

    imported_from: Mapped[str | None]
    """The format of the recording that it was imported from, see `Recording`; None for a run made here."""
    unknown: Mapped[list[str] | None] = mapped_column(Json)
    """Names of conditions (see `app.domain.comparability`) that the recording does not say."""
    demo: Mapped[bool] = mapped_column(default=False)
    """Shipped with Halflife to show what it shows: no finding."""

    problem_set: Mapped[ProblemSetRow] = relationship(lazy="raise")
    endpoint: Mapped[ModelEndpoint] = relationship(lazy="raise")

    @property
    def grid_cell(self) -> bool:
        """Whether it is an arm of a sampling grid: those of the other kind start afresh."""
        return self.baseline_run_id is not None and self.protocol.fresh_start == NO_FRESH_START
