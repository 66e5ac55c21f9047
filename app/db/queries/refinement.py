"""Iterative refinement of a run: its outcomes, its problems by difficulty and subset, and a single-attempt run."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session, aliased

from app.db.models import ProblemRow, ProblemSetRow, Run
from app.db.queries.decay_counts import DecayCounts, decay_counts
from app.db.queries.endings import ProblemKey, endings
from app.db.queries.leaderboard import board_rows
from app.db.queries.outcomes import run_outcomes
from app.db.queries.run import RunHead, run_head
from app.db.queries.tiers import Counted, tier_counts
from app.domain.comparability import Difference, differences
from app.domain.metrics.outcomes import Outcomes

_LOOKED_AT = 200
"""Runs of the model on the set, newest first, among which a single-attempt run is looked for."""


@dataclass(frozen=True, slots=True)
class Subset:
    """A stored problem set of which every problem is in another one as well, which has more."""

    id: int
    name: str
    version: int
    problems: int


@dataclass(frozen=True, slots=True)
class SingleRun:
    """A run of one attempt of the same model on the same set.

    `results` are of the trajectories that ended by the rules: solved or not. `differs`: in what else than the number of
    attempts the refining run's conditions are others.
    """

    run_id: int
    results: dict[ProblemKey, bool]
    differs: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Refinement:
    """A run that refines its answers.

    `results` and `first_results` are of the trajectories that ended by the rules: solved at all, and at once.
    `tiers` are counts by difficulty, of the whole set under None and of each of its subsets under its id.
    """

    head: RunHead
    counts: DecayCounts
    outcomes: Outcomes
    results: dict[ProblemKey, bool]
    first_results: dict[ProblemKey, bool]
    subsets: tuple[Subset, ...]
    tiers: dict[int | None, dict[str | None, Counted]]
    single: SingleRun | None


def refinement(session: Session, run_id: int) -> Refinement:
    """One run.

    Raises NotFoundError.
    """
    head = run_head(session, run_id)
    subsets = subsets_of(session, head.problem_set.id)
    ended = {key: one.solved_at for key, one in endings(session, run_id).items() if one.by_rules}
    return Refinement(
        head=head,
        counts=decay_counts(session, run_id),
        outcomes=run_outcomes(session, run_id),
        results={key: solved_at is not None for key, solved_at in ended.items()},
        first_results={key: solved_at == 0 for key, solved_at in ended.items()},
        subsets=subsets,
        tiers={
            subset_id: tier_counts(session, [run_id], subset_id)[run_id]
            for subset_id in (None, *(subset.id for subset in subsets))
        },
        single=_single_run(session, head.run),
    )


def subsets_of(session: Session, problem_set_id: int) -> tuple[Subset, ...]:
    """The stored sets that are part of a problem set, whoever made them; the largest first."""
    own, theirs = aliased(ProblemRow), aliased(ProblemRow)
    size = select(ProblemSetRow.problem_count).where(ProblemSetRow.id == problem_set_id).scalar_subquery()
    rows = session.execute(
        select(ProblemSetRow.id, ProblemSetRow.name, ProblemSetRow.version, ProblemSetRow.problem_count)
        .join(theirs, theirs.problem_set_id == ProblemSetRow.id)
        .join(own, and_(own.key == theirs.key, own.tests_hash == theirs.tests_hash))
        .where(own.problem_set_id == problem_set_id, ProblemSetRow.problem_count < size)
        .group_by(ProblemSetRow.id, ProblemSetRow.name, ProblemSetRow.version, ProblemSetRow.problem_count)
        .having(func.count() == ProblemSetRow.problem_count)
        .order_by(ProblemSetRow.problem_count.desc(), ProblemSetRow.id)
    )
    return tuple(Subset(*row) for row in rows)


def _single_run(session: Session, run: Run) -> SingleRun | None:
    """The newest that has ended."""
    others: Sequence[Run] = session.scalars(
        select(Run)
        .where(
            Run.endpoint_id == run.endpoint_id,
            Run.problem_set_id == run.problem_set_id,
            Run.id != run.id,
            Run.finished_at.is_not(None),
            Run.trajectories_ended == Run.trajectories_total,
            ~Run.dry_run,
        )
        .order_by(Run.id.desc())
        .limit(_LOOKED_AT)
    ).all()
    fitting = (one for one in others if one.protocol.attempts == 1 and one.protocol.start is run.protocol.start)
    found = next(fitting, None)
    if found is None or run.protocol.attempts == 1:
        return None
    rows = board_rows(session, [run.id, found.id])
    differs = differences(rows[run.id].conditions, rows[found.id].conditions)
    ended = endings(session, found.id)
    return SingleRun(
        found.id,
        {key: one.solved_at is not None for key, one in ended.items() if one.by_rules},
        tuple(one for one in differs if one.condition != "attempts"),
    )
