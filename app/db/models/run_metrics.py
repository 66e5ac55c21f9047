"""Figures of ended runs, computed once."""

from datetime import datetime

from sqlalchemy import Float, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Document, UtcDateTime
from app.domain.metrics.catalogue import RANKED_MEASURES, Measures
from app.domain.metrics.figures import RANKED, RunFigures


class RunMetrics(Base):
    """The figures of one ended run, and what they were computed for.

    They are stale once the run ended anew, once a later re-judging was applied, or in another version of the metrics.

    Beside the figures stands what a board is narrowed to, counted and sorted by, so that it reads whole only the rows
    that it shows: the protocol's `start`, `attempts` and `disclosure`, the conditions in short (`conditions` is the
    `fixed` of a `ConditionsKey`), and a number for each name in `RANKED` and `RANKED_MEASURES`.
    """

    __tablename__ = "run_metrics"

    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    metrics_version: Mapped[int]
    finished_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """When the run ended that they are of."""
    rejudging_id: Mapped[int | None]
    """The last applied re-judging that they take in."""
    start: Mapped[str]
    attempts: Mapped[int]
    disclosure: Mapped[str]
    conditions: Mapped[str]
    sandboxes: Mapped[str]
    memory_tiers: Mapped[str]
    figures: Mapped[RunFigures] = mapped_column(Document(RunFigures))
    measures: Mapped[Measures] = mapped_column(Document(Measures))
    endings: Mapped[str]
    """What pairs the run with others, see `app.db.queries.endings.ending_marks`."""


for _name in (*RANKED, *RANKED_MEASURES):
    setattr(RunMetrics, _name, mapped_column(Float, nullable=True))
