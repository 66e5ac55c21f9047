"""How far runs came with problems of each difficulty: counts from columns of their trajectories alone."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from app.db.models import ProblemRow, Run, Trajectory
from app.db.queries.decay_counts import TrajectoryGroup
from app.db.queries.endings import FINISHED
from app.domain.metrics.intervals import Proportion, wilson
from app.domain.metrics.survival import SolvedWithin, solved_within


@dataclass(frozen=True, slots=True)
class Counted:
    """Trajectories of a run by how far they came.

    Attributes
    ----------
    solved
        S_t: solved for the first time at attempt t; one entry an attempt of the protocol.
    cut
        Cut short or under way after attempt t, unsolved so far. What ended unsolved by its own rules is none of them.
    of
        N: those with a verdict.
    outside
        Those without: cut short before it, or waiting.
    alone
        Whether each is of a problem of its own, so that shares of them have Wilson's interval.
    """

    solved: tuple[int, ...]
    cut: tuple[int, ...]
    of: int
    outside: int
    alone: bool

    def within(self, k: int) -> SolvedWithin:
        """ISR@k."""
        return solved_within(self.solved, self.of, self.cut, k=k)

    @property
    def isr(self) -> SolvedWithin:
        """ISR@k over all attempts of the protocol."""
        return self.within(len(self.solved))

    @property
    def first(self) -> Proportion:
        """pass@1: solved at the first attempt."""
        return wilson(self.solved[0], self.of)

    @property
    def final(self) -> Proportion:
        """Final accuracy: those cut short or under way count as unsolved."""
        return wilson(sum(self.solved), self.of)


def tier_counts(
    session: Session, run_ids: Sequence[int], subset_id: int | None = None
) -> dict[int, dict[str | None, Counted]]:
    """Counts by run, then by difficulty, None for problems that are not rated.

    `subset_id` keeps to the problems that this problem set holds as well.
    """
    query = (
        select(
            Trajectory.run_id,
            ProblemRow.difficulty,
            Trajectory.outcome,
            Trajectory.solved_at,
            Trajectory.attempts_judged,
            func.count(),
        )
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .where(Trajectory.run_id.in_(run_ids))
    )
    distinct = (
        select(Trajectory.run_id, ProblemRow.difficulty, func.count(Trajectory.problem_id.distinct()))
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .where(Trajectory.run_id.in_(run_ids), Trajectory.attempts_judged > 0)
        .group_by(Trajectory.run_id, ProblemRow.difficulty)
    )
    if subset_id is not None:
        own = aliased(ProblemRow)
        inside = select(own.id).where(
            own.problem_set_id == subset_id, own.key == ProblemRow.key, own.tests_hash == ProblemRow.tests_hash
        )
        query, distinct = query.where(inside.exists()), distinct.where(inside.exists())
    groups: dict[tuple[int, str | None], list[TrajectoryGroup]] = defaultdict(list)
    grouped = query.group_by(
        Trajectory.run_id, ProblemRow.difficulty, Trajectory.outcome, Trajectory.solved_at, Trajectory.attempts_judged
    )
    for run_id, difficulty, outcome, solved_at, judged, count in session.execute(grouped):
        groups[run_id, difficulty].append(TrajectoryGroup(outcome, solved_at, judged, count))
    problems = {(run_id, difficulty): count for run_id, difficulty, count in session.execute(distinct)}
    attempts = {
        run_id: protocol.attempts
        for run_id, protocol in session.execute(select(Run.id, Run.protocol).where(Run.id.in_(run_ids)))
    }
    found: dict[int, dict[str | None, Counted]] = {run_id: {} for run_id in run_ids}
    for (run_id, difficulty), some in groups.items():
        found[run_id][difficulty] = _counted(some, attempts[run_id], problems.get((run_id, difficulty), 0))
    return found


def together(tiers: Iterable[Counted]) -> Counted | None:
    """Of all difficulties; None without any."""
    some = list(tiers)
    if not some:
        return None
    return Counted(
        solved=tuple(sum(counts) for counts in zip(*(one.solved for one in some), strict=True)),
        cut=tuple(sum(counts) for counts in zip(*(one.cut for one in some), strict=True)),
        of=sum(one.of for one in some),
        outside=sum(one.outside for one in some),
        alone=all(one.alone for one in some),
    )


def _counted(groups: Iterable[TrajectoryGroup], attempts: int, problems: int) -> Counted:
    solved, cut = [0] * attempts, [0] * attempts
    of = outside = 0
    for group in groups:
        if group.attempts_judged == 0:
            outside += group.count
            continue
        of += group.count
        if group.solved_at is not None:
            solved[group.solved_at] += group.count
        elif group.outcome not in FINISHED:
            cut[group.attempts_judged - 1] += group.count
    return Counted(tuple(solved), tuple(cut), of, outside, alone=problems == of)
