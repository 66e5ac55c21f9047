"""A baseline and its arms, problem by problem."""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.db.models import Attempt, Run, RunStatus, Trajectory
from app.db.queries.decay_counts import DecayCounts, decay_counts
from app.db.queries.endings import Ending, ProblemKey, endings
from app.db.queries.run import RunHead, run_head


@dataclass(frozen=True, slots=True)
class Arm:
    """A run of a comparison.

    `started` counts the fresh starts by attempt.
    """

    run: Run
    counts: DecayCounts
    endings: dict[ProblemKey, Ending]
    started: dict[int, int]

    @property
    def tokens(self) -> int:
        """Tokens of all its attempts, whoever paid for them."""
        return (self.run.tokens_spent or 0) + self.run.tokens_shared  # an imported run, which may not know, has no arms

    @property
    def cost(self) -> float | None:
        """The same in money; None is unknown."""
        spent, shared = self.run.cost_spent, self.run.cost_shared
        return None if spent is None or shared is None else spent + shared


@dataclass(frozen=True, slots=True)
class FreshStarts:
    """A baseline and its arms, oldest first."""

    head: RunHead
    baseline: Arm
    arms: tuple[Arm, ...]


def fresh_starts(session: Session, run_id: int) -> FreshStarts:
    """The comparison that a run belongs to, as the baseline or as an arm. A cell of a grid is a baseline of its own.

    Raises NotFoundError.
    """
    head = run_head(session, run_id)
    if head.run.baseline_run_id is not None and not head.run.grid_cell:
        head = run_head(session, head.run.baseline_run_id)
    others = session.scalars(select(Run).where(Run.baseline_run_id == head.run.id).order_by(Run.id))
    arms = (run for run in others if not run.grid_cell)
    return FreshStarts(head, _arm(session, head.run), tuple(_arm(session, run) for run in arms))


def arm_statuses(session: Session, baseline_id: int) -> list[str]:
    """Where the arms of a run stand; those that wait for its curve are under way."""
    begun = session.scalars(select(Run.status).where(Run.baseline_run_id == baseline_id))
    to_come = session.get_one(Run, baseline_id).arms_to_come or ()
    return [*begun, *(RunStatus.RUNNING for one in to_come if "refused" not in one)]


def _arm(session: Session, run: Run) -> Arm:
    first = (
        select(func.min(Attempt.attempt_index))
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(Trajectory.run_id == run.id, Attempt.segment > 0)
        .group_by(Attempt.trajectory_id, Attempt.segment)
    )
    started = Counter(session.scalars(first))
    return Arm(run, decay_counts(session, run.id), endings(session, run.id), dict(sorted(started.items())))
