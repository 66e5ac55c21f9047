"""Figures of ended runs, computed once."""

from datetime import datetime

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Document, UtcDateTime
from app.domain.metrics.figures import RunFigures


class RunMetrics(Base):
    """The figures of one ended run, and what they were computed for.

    They are stale once the run ended anew, once a later re-judging was applied, or in another version of the metrics.
    """

    __tablename__ = "run_metrics"

    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    metrics_version: Mapped[int]
    finished_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """When the run ended that they are of."""
    rejudging_id: Mapped[int | None]
    """The last applied re-judging that they take in."""
    figures: Mapped[RunFigures] = mapped_column(Document(RunFigures))
