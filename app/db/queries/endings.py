"""How the trajectories of a run ended: what pairs it with other runs, problem by problem."""

from dataclasses import dataclass

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from app.db.models import Attempt, BuggyProgramRow, ProblemRow, Trajectory, TrajectoryOutcome
from app.db.queries.labels import trajectory_label

FINISHED = (TrajectoryOutcome.SOLVED, TrajectoryOutcome.VISIBLE_ONLY, TrajectoryOutcome.EXHAUSTED)
"""Ends by the protocol's own rules; the others censor."""

ProblemKey = tuple[int, int | None, int]
"""Problem, buggy program and sample: what pairs the trajectories of two runs."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Where one trajectory stands.

    `by_rules`: it ended by its protocol's rules, so that it can be paired. `afresh`: it was solved after a fresh start.
    """

    trajectory_id: int
    label: str
    by_rules: bool
    solved_at: int | None
    afresh: bool


def endings(session: Session, run_id: int) -> dict[ProblemKey, Ending]:
    """Every trajectory of a run, in the order of its problems."""
    rows = session.execute(
        select(
            Trajectory.problem_id,
            Trajectory.buggy_program_id,
            Trajectory.sample,
            Trajectory.id,
            ProblemRow.key,
            BuggyProgramRow.key,
            Trajectory.outcome,
            Trajectory.solved_at,
            Attempt.segment,
        )
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .outerjoin(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
        .outerjoin(Attempt, and_(Attempt.trajectory_id == Trajectory.id, Attempt.attempt_index == Trajectory.solved_at))
        .where(Trajectory.run_id == run_id)
        .order_by(Trajectory.position)
    )
    return {
        (problem, buggy, sample): Ending(
            trajectory, trajectory_label(key, buggy_key), outcome in FINISHED, solved_at, bool(segment)
        )
        for problem, buggy, sample, trajectory, key, buggy_key, outcome, solved_at, segment in rows
    }


def ending_marks(found: dict[ProblemKey, Ending]) -> str:
    """A run's trajectories in short, to be stored: solved (1), not solved (0), or not ended by the rules (-).

    They are in the order of problem, buggy program and sample, so that runs on the same problems can be laid together.
    """
    order = sorted(found, key=lambda key: (key[0], key[1] or 0, key[2]))
    return "".join("-" if not found[key].by_rules else "01"[found[key].solved_at is not None] for key in order)
