"""A grid of temperature × top-p: a run for each cell, alike in everything else."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.db.models import Run
from app.db.queries.endings import ProblemKey, endings
from app.db.queries.run import RunHead, run_head
from app.db.queries.tiers import Counted, tier_counts, together


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a grid, with the sampling as it is sent; `counted` None is a run without problems.

    `results` has an entry for each trajectory that ended by the rules: whether it was solved.
    """

    run: Run
    temperature: float | None
    top_p: float | None
    counted: Counted | None
    results: dict[ProblemKey, bool]


@dataclass(frozen=True, slots=True)
class Grid:
    """The run that a grid was started with, `head`, and every cell: that run's first, then in the order they began."""

    head: RunHead
    cells: tuple[Cell, ...]


def grid_of(session: Session, run_id: int) -> Grid:
    """The grid that a run belongs to; of a run that belongs to none, itself as the one cell.

    Raises NotFoundError.
    """
    head = run_head(session, run_id)
    if head.run.baseline_run_id is not None and head.run.grid_cell:
        head = run_head(session, head.run.baseline_run_id)
    others = session.scalars(select(Run).where(Run.baseline_run_id == head.run.id).order_by(Run.id))
    runs = [head.run, *(run for run in others if run.grid_cell)]
    counts = tier_counts(session, [run.id for run in runs])
    cells = []
    for run in runs:
        sent = run.protocol.sampling(head.endpoint.sampling)
        ended = endings(session, run.id)
        results = {key: one.solved_at is not None for key, one in ended.items() if one.by_rules}
        cells.append(Cell(run, sent.temperature, sent.top_p, together(counts[run.id].values()), results))
    return Grid(head, tuple(cells))
