"""Two to ten runs beside each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.db.models import Attempt, Trajectory
from app.db.queries.endings import Ending, ProblemKey, endings
from app.db.queries.figures import computed_figures
from app.db.queries.leaderboard import BoardRow, board_rows, run_heads
from app.db.queries.outcomes import run_measures
from app.db.queries.run import RunHead
from app.domain.errors import NotFoundError
from app.domain.metrics.catalogue import Measures
from app.domain.metrics.figures import RunFigures


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run of a comparison.

    `spent`: by trajectory that was solved, the tokens and the cost of its attempts up to that; None is unknown.
    """

    row: BoardRow
    head: RunHead
    endings: dict[ProblemKey, Ending]
    spent: dict[int, tuple[int | None, float | None]]

    @property
    def figures(self) -> RunFigures:
        """The row's, which are there: see `whole_rows`."""
        return cast(RunFigures, self.row.figures)

    @property
    def measures(self) -> Measures:
        """Likewise."""
        return cast(Measures, self.row.measures)

    def results(self) -> dict[ProblemKey, bool]:
        """Solved or not, by problem; without those that did not end by the rules."""
        return {key: one.solved_at is not None for key, one in self.endings.items() if one.by_rules}


def compared_runs(session: Session, run_ids: Sequence[int], judge_version: int) -> list[ComparedRun]:
    """These runs in this order. `judge_version` is that of today's rules.

    Raises NotFoundError, which names the missing ones.
    """
    rows, heads = whole_rows(session, run_ids, judge_version), run_heads(session, run_ids)
    found = []
    for run_id in run_ids:
        found.append(ComparedRun(rows[run_id], heads[run_id], endings(session, run_id), _spent(session, run_id)))
    return found


def whole_rows(session: Session, run_ids: Sequence[int], judge_version: int) -> dict[int, BoardRow]:
    """These runs with their figures, stored or as of now. `judge_version` is that of today's rules.

    Raises NotFoundError, which names the missing ones.
    """
    rows = board_rows(session, run_ids)
    missing = [str(run_id) for run_id in run_ids if run_id not in rows]
    if missing:
        raise NotFoundError(f"there is no run {', '.join(missing)}")
    return {
        run_id: replace(
            row,
            figures=row.figures or computed_figures(session, run_id, judge_version),
            measures=row.measures or run_measures(session, run_id),
        )
        for run_id, row in rows.items()
    }


def _spent(session: Session, run_id: int) -> dict[int, tuple[int | None, float | None]]:
    tokens = Attempt.prompt_tokens + Attempt.completion_tokens
    rows = session.execute(
        select(
            Attempt.trajectory_id,
            func.count(),
            func.count(tokens),
            func.sum(tokens),
            func.count(Attempt.cost),
            func.sum(Attempt.cost),
        )
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(Trajectory.run_id == run_id, Attempt.attempt_index <= Trajectory.solved_at)
        .group_by(Attempt.trajectory_id)
    )
    return {
        trajectory: (used if counted == attempts else None, cost if priced == attempts else None)
        for trajectory, attempts, counted, used, priced, cost in rows
    }
