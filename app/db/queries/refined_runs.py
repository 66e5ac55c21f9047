"""Runs of one problem set side by side, by difficulty."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.db.models import ModelEndpoint, ProblemSetRow, Run
from app.db.queries.refinement import Subset, subsets_of
from app.db.queries.tiers import Counted, tier_counts
from app.domain.errors import NotFoundError
from app.domain.ports import Sampling
from app.domain.protocol.policy import Start

PAGE = 50
_LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class RefinedRun:
    """One run with its counts by difficulty. `sampling` is as sent; `reasoning` None is not marked."""

    run: Run
    model_name: str
    reasoning: bool | None
    sampling: Sampling
    tiers: dict[str | None, Counted]


@dataclass(frozen=True, slots=True)
class RefinedRuns:
    """Up to fifty runs that begin alike, newest first. `left_out` counts those behind them, of the newest 200."""

    problem_set: ProblemSetRow
    start: Start
    runs: tuple[RefinedRun, ...]
    left_out: int
    subsets: tuple[Subset, ...]


def refined_runs(
    session: Session, problem_set_id: int, start: Start | None, run_ids: Sequence[int], subset_id: int | None
) -> RefinedRuns:
    """Runs of a problem set; `run_ids` keeps to these, `subset_id` to the problems of a subset.

    First answers and first repairs never share a table: without `start` it is that of the newest run.

    Raises NotFoundError.
    """
    problem_set = session.get(ProblemSetRow, problem_set_id)
    if problem_set is None:
        raise NotFoundError(f"there is no problem set {problem_set_id}")
    query = (
        select(Run, ModelEndpoint)
        .join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id)
        .where(Run.problem_set_id == problem_set_id, ~Run.dry_run)
        .order_by(Run.id.desc())
        .limit(_LOOKED_AT)
    )
    if run_ids:
        query = query.where(Run.id.in_(run_ids))
    rows = session.execute(query).all()
    if start is None:
        start = rows[0][0].protocol.start if rows else Start.GENERATE
    fitting = [(run, endpoint) for run, endpoint in rows if run.protocol.start is start]
    shown = fitting[:PAGE]
    subsets = subsets_of(session, problem_set_id)
    if subset_id is not None and subset_id not in {subset.id for subset in subsets}:
        raise NotFoundError(
            f"problem set {subset_id} is no subset of {problem_set.name}, version {problem_set.version}"
        )
    counts = tier_counts(session, [run.id for run, _ in shown], subset_id)
    return RefinedRuns(
        problem_set=problem_set,
        start=start,
        runs=tuple(
            RefinedRun(run, endpoint.name, endpoint.reasoning, run.protocol.sampling(endpoint.sampling), counts[run.id])
            for run, endpoint in shown
        ),
        left_out=len(fitting) - len(shown),
        subsets=subsets,
    )


def newest_set(session: Session) -> int | None:
    """The problem set of the newest run; None without runs."""
    return session.scalar(select(Run.problem_set_id).where(~Run.dry_run).order_by(Run.id.desc()).limit(1))
