"""A run as a whole, attempt by attempt, in the order of its problems; read in parts, so that any length can be."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.db.base import LARGEST_ID
from app.db.models import Attempt, BuggyProgramRow, ProblemRow, SupersededJudgement, Trajectory, Transcript

_AT_A_TIME = 100
"""Trajectories whose attempts are in memory at once."""


@dataclass(frozen=True, slots=True)
class WholeAttempt:
    """An attempt; its texts where they were asked for. `superseded`: verdicts before re-judgings, oldest first."""

    attempt: Attempt
    transcript: Transcript | None
    superseded: tuple[SupersededJudgement, ...]


@dataclass(frozen=True, slots=True)
class WholeTrajectory:
    """A trajectory with all its attempts; none where it was cut short before the first answer."""

    trajectory: Trajectory
    problem_key: str
    buggy_key: str | None
    attempts: tuple[WholeAttempt, ...]

    def counts(self, attempt: Attempt) -> bool:
        """Whether the attempt's verdict counts: it has one, and lies before the trajectory's end."""
        return attempt.verdict is not None and attempt.attempt_index < self.trajectory.attempts_judged


def whole_trajectories(
    session: Session, run_id: int, *, texts: bool, positions: range | None = None
) -> Iterator[WholeTrajectory]:
    """Every trajectory of a run, none left out; with `positions`, those at these (of step 1)."""
    after = -1 if positions is None else positions.start - 1
    before = LARGEST_ID if positions is None else positions.stop
    while True:
        found = session.execute(
            select(Trajectory, ProblemRow.key, BuggyProgramRow.key)
            .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
            .outerjoin(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
            .where(Trajectory.run_id == run_id, Trajectory.position > after, Trajectory.position < before)
            .order_by(Trajectory.position)
            .limit(_AT_A_TIME)
        ).all()
        if not found:
            return
        after = found[-1][0].position
        attempts = _attempts(session, [trajectory.id for trajectory, _, _ in found], texts=texts)
        for trajectory, key, buggy_key in found:
            yield WholeTrajectory(trajectory, key, buggy_key, attempts.get(trajectory.id, ()))
        session.expunge_all()


def whole_trajectory(session: Session, run_id: int, position: int) -> WholeTrajectory | None:
    """One trajectory of a run by its position, with its texts; None where there is none."""
    row = session.execute(
        select(Trajectory, ProblemRow.key, BuggyProgramRow.key)
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .outerjoin(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
        .where(Trajectory.run_id == run_id, Trajectory.position == position)
    ).one_or_none()
    if row is None:
        return None
    trajectory, key, buggy_key = row
    return WholeTrajectory(
        trajectory, key, buggy_key, _attempts(session, [trajectory.id], texts=True).get(trajectory.id, ())
    )


def _attempts(session: Session, trajectory_ids: list[int], *, texts: bool) -> dict[int, tuple[WholeAttempt, ...]]:
    superseded: dict[int, list[SupersededJudgement]] = {}
    for old in session.scalars(
        select(SupersededJudgement)
        .join(Attempt, Attempt.id == SupersededJudgement.attempt_id)
        .where(Attempt.trajectory_id.in_(trajectory_ids))
        .order_by(SupersededJudgement.id)
    ):
        superseded.setdefault(old.attempt_id, []).append(old)
    transcripts: dict[int, Transcript] = {}
    if texts:
        for transcript in session.scalars(
            select(Transcript)
            .join(Attempt, Attempt.id == Transcript.attempt_id)
            .where(Attempt.trajectory_id.in_(trajectory_ids))
        ):
            transcripts[transcript.attempt_id] = transcript
    rows = session.scalars(
        select(Attempt)
        .where(Attempt.trajectory_id.in_(trajectory_ids))
        .order_by(Attempt.trajectory_id, Attempt.attempt_index)
    )
    return {
        trajectory_id: tuple(
            WholeAttempt(attempt, transcripts.get(attempt.id), tuple(superseded.get(attempt.id, ())))
            for attempt in group
        )
        for trajectory_id, group in groupby(rows, key=lambda attempt: attempt.trajectory_id)
    }
