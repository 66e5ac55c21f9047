"""A baseline and its arms, problem by problem."""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from app.db.models import Attempt, BuggyProgramRow, ProblemRow, Run, RunStatus, Trajectory
from app.db.queries.decay_counts import DecayCounts, decay_counts
from app.db.queries.labels import trajectory_label
from app.db.queries.outcomes import FINISHED
from app.db.queries.run import RunHead, run_head

Problem = tuple[int, int | None, int]
"""Problem, buggy program and sample: what pairs the trajectories of two runs."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How one trajectory ended by the rules. `afresh`: it was solved after a fresh start."""

    trajectory_id: int
    label: str
    solved: bool
    afresh: bool


@dataclass(frozen=True, slots=True)
class Arm:
    """A run of a comparison.

    `endings` hold the trajectories that ended by the rules; `started` counts the fresh starts by attempt.
    """

    run: Run
    counts: DecayCounts
    endings: dict[Problem, Ending]
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
    """The comparison that a run belongs to, as the baseline or as an arm.

    Raises NotFoundError.
    """
    head = run_head(session, run_id)
    if head.run.baseline_run_id is not None:
        head = run_head(session, head.run.baseline_run_id)
    arms = session.scalars(select(Run).where(Run.baseline_run_id == head.run.id).order_by(Run.id))
    return FreshStarts(head, _arm(session, head.run), tuple(_arm(session, run) for run in arms))


def arm_statuses(session: Session, baseline_id: int) -> list[str]:
    """Where the arms of a run stand; those that wait for its curve are under way."""
    begun = session.scalars(select(Run.status).where(Run.baseline_run_id == baseline_id))
    to_come = session.get_one(Run, baseline_id).arms_to_come or ()
    return [*begun, *(RunStatus.RUNNING for one in to_come if "refused" not in one)]


def _arm(session: Session, run: Run) -> Arm:
    rows = session.execute(
        select(
            Trajectory.problem_id,
            Trajectory.buggy_program_id,
            Trajectory.sample,
            Trajectory.id,
            ProblemRow.key,
            BuggyProgramRow.key,
            Trajectory.solved_at,
            Attempt.segment,
        )
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .outerjoin(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
        .outerjoin(Attempt, and_(Attempt.trajectory_id == Trajectory.id, Attempt.attempt_index == Trajectory.solved_at))
        .where(Trajectory.run_id == run.id, Trajectory.outcome.in_(FINISHED))
        .order_by(Trajectory.position)
    )
    endings = {
        (problem, buggy, sample): Ending(
            trajectory, trajectory_label(key, buggy_key), solved_at is not None, bool(segment)
        )
        for problem, buggy, sample, trajectory, key, buggy_key, solved_at, segment in rows
    }
    first = (
        select(func.min(Attempt.attempt_index))
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(Trajectory.run_id == run.id, Attempt.segment > 0)
        .group_by(Attempt.trajectory_id, Attempt.segment)
    )
    started = Counter(session.scalars(first))
    return Arm(run, decay_counts(session, run.id), endings, dict(sorted(started.items())))
