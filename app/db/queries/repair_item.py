"""One repair of a buggy program with all that its score rests on, and every bug of a run's scored repairs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from app.db.models import (
    Attempt,
    BuggyProgramRow,
    BugScore,
    JobPurpose,
    JudgingJob,
    ProblemRow,
    RepairAudit,
    RepairScore,
    Trajectory,
    Transcript,
)
from app.db.queries.labels import trajectory_label
from app.db.queries.run import RunHead, run_head
from app.db.queries.trajectory import neighbour
from app.domain.errors import NotFoundError
from app.domain.problems import Bug, BuggyProgram
from app.domain.programs import Program


@dataclass(frozen=True, slots=True)
class Repair:
    """One attempt: its program (None where the reply held none), and its score, or where that stands.

    `waiting`: the score is still to come; `error` says why it could not be had, which says nothing about the repair.
    """

    attempt: Attempt
    program: Program | None
    score: RepairScore | None
    bugs: tuple[BugScore, ...]
    audit: RepairAudit | None
    waiting: bool
    error: str | None


@dataclass(frozen=True, slots=True)
class RepairedItem:
    """A buggy program of a run, and the attempt looked at: None where there is none yet."""

    head: RunHead
    trajectory: Trajectory
    problem_id: int
    label: str
    buggy: BuggyProgram
    attempts: tuple[Attempt, ...]
    repair: Repair | None
    previous_id: int | None
    next_id: int | None

    def surplus(self, attempt: Attempt) -> bool:
        """Whether it lies behind the attempt that ended the item, so that no figure counts it."""
        ended = self.trajectory.outcome is not None
        return ended and attempt.verdict is not None and attempt.attempt_index >= self.trajectory.attempts_judged


@dataclass(frozen=True, slots=True)
class ScoredBug:
    """One known bug in one scored attempt, with what names the attempt."""

    trajectory_id: int
    problem_key: str
    buggy_key: str
    attempt_index: int
    bug: Bug
    score: BugScore


def repaired_item(session: Session, run_id: int, trajectory_id: int, attempt_index: int | None) -> RepairedItem:
    """One item of a run at an attempt: by default the last that counts.

    Raises NotFoundError, also for a trajectory that does not start from a buggy program.
    """
    head = run_head(session, run_id)
    row = session.execute(
        select(Trajectory, ProblemRow, BuggyProgramRow)
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .join(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
        .where(Trajectory.id == trajectory_id, Trajectory.run_id == run_id)
        .options(undefer(BuggyProgramRow.definition))
    ).one_or_none()
    if row is None:
        raise NotFoundError(f"run {run_id} has no repair {trajectory_id}")
    trajectory, problem, buggy = row
    attempts = tuple(
        session.scalars(select(Attempt).where(Attempt.trajectory_id == trajectory_id).order_by(Attempt.attempt_index))
    )
    wanted = max(trajectory.attempts_judged - 1, 0) if attempt_index is None else attempt_index
    chosen = next((attempt for attempt in attempts if attempt.attempt_index == wanted), None)
    if chosen is None and attempt_index is not None:
        raise NotFoundError(f"run {run_id} has no round {attempt_index + 1} of this item")
    return RepairedItem(
        head=head,
        trajectory=trajectory,
        problem_id=problem.id,
        label=trajectory_label(problem.key, buggy.key),
        buggy=buggy.definition,
        attempts=attempts,
        repair=None if chosen is None else _repair(session, chosen),
        previous_id=neighbour(session, trajectory, -1),
        next_id=neighbour(session, trajectory, 1),
    )


def scored_bugs(session: Session, run_id: int) -> Iterator[ScoredBug]:
    """Every known bug in every scored attempt of a run that counts, in the run's order."""
    rows = session.execute(
        select(Trajectory.id, ProblemRow.key, BuggyProgramRow.id, BuggyProgramRow.key, Attempt.attempt_index, BugScore)
        .join(Attempt, Attempt.id == BugScore.attempt_id)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .join(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
        .where(Trajectory.run_id == run_id, Attempt.attempt_index < Trajectory.attempts_judged)
        .order_by(Trajectory.position, Attempt.attempt_index, BugScore.bug_index)
        .execution_options(yield_per=500)
    )

    @lru_cache(maxsize=1)  # all bugs of an item come in a row
    def known(buggy_id: int) -> BuggyProgram:
        return session.execute(select(BuggyProgramRow.definition).where(BuggyProgramRow.id == buggy_id)).scalar_one()

    for trajectory_id, problem_key, buggy_id, buggy_key, attempt_index, score in rows:
        bug = known(buggy_id).bugs[score.bug_index]
        yield ScoredBug(trajectory_id, problem_key, buggy_key, attempt_index, bug, score)


def _repair(session: Session, attempt: Attempt) -> Repair:
    program = session.scalar(select(Transcript.program).where(Transcript.attempt_id == attempt.id))
    score = session.get(RepairScore, attempt.id)
    job = session.scalar(
        select(JudgingJob).where(JudgingJob.attempt_id == attempt.id, JudgingJob.purpose == JobPurpose.SCORE.value)
    )
    bugs = session.scalars(select(BugScore).where(BugScore.attempt_id == attempt.id).order_by(BugScore.bug_index))
    return Repair(
        attempt=attempt,
        program=None if program is None else Program(program),
        score=score,
        bugs=tuple(bugs),
        audit=session.get(RepairAudit, attempt.id),
        waiting=score is None and (attempt.verdict is None or (job is not None and job.error is None)),
        error=None if job is None else job.error,
    )
