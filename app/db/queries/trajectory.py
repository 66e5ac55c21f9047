"""One trajectory with everything that was said and judged in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from app.db.models import (
    Attempt,
    BuggyProgramRow,
    ModelEndpoint,
    ModelRequestRow,
    ProblemRow,
    RequestState,
    Run,
    SupersededJudgement,
    Trajectory,
    Transcript,
)
from app.db.queries.labels import trajectory_label
from app.domain.errors import NotFoundError
from app.domain.problems import Problem
from app.domain.programs import Program


@dataclass(frozen=True, slots=True)
class AttemptDetail:
    """An attempt and its texts. `superseded`: its judgements before re-judgings, oldest first."""

    attempt: Attempt
    messages: Sequence[dict[str, str]]
    reply: str | None
    program: dict[str, str] | None
    feedback: str | None
    first_failure: dict[str, Any] | None
    stdout: str | None
    stderr: str | None
    superseded: tuple[SupersededJudgement, ...]


@dataclass(frozen=True, slots=True)
class TrajectoryDetail:
    """A trajectory, its problem and its attempts in order. `requests` are those that brought no stored answer."""

    trajectory: Trajectory
    run: Run
    model_name: str
    problem_id: int
    problem: Problem
    label: str
    start: Program | None
    attempts: tuple[AttemptDetail, ...]
    requests: tuple[ModelRequestRow, ...]
    previous_id: int | None
    next_id: int | None

    def is_surplus(self, attempt: Attempt) -> bool:
        """Whether an attempt lies behind the trajectory's end, as a re-judging found it, and does not count."""
        judged = attempt.verdict is not None and self.trajectory.outcome is not None
        return judged and attempt.attempt_index >= self.trajectory.attempts_judged


def trajectory_detail(session: Session, run_id: int, trajectory_id: int) -> TrajectoryDetail:
    """Load one trajectory of a run.

    Raises NotFoundError.
    """
    row = session.execute(
        select(Trajectory, Run, ModelEndpoint.name, ProblemRow, BuggyProgramRow)
        .join(Run, Run.id == Trajectory.run_id)
        .join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id)
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .outerjoin(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
        .where(Trajectory.id == trajectory_id, Trajectory.run_id == run_id)
        .options(undefer(ProblemRow.definition), undefer(BuggyProgramRow.definition))
    ).one_or_none()
    if row is None:
        raise NotFoundError(f"run {run_id} has no trajectory {trajectory_id}")
    trajectory, run, model_name, problem, buggy = row
    attempts = session.execute(
        select(Attempt, Transcript)
        .join(Transcript, Transcript.attempt_id == Attempt.id)
        .where(Attempt.trajectory_id == trajectory_id)
        .order_by(Attempt.attempt_index)
    )
    superseded = session.scalars(
        select(SupersededJudgement)
        .join(Attempt, Attempt.id == SupersededJudgement.attempt_id)
        .where(Attempt.trajectory_id == trajectory_id)
        .order_by(SupersededJudgement.id)
    ).all()
    requests = session.scalars(
        select(ModelRequestRow)
        .where(
            ModelRequestRow.trajectory_id == trajectory_id,
            ModelRequestRow.state.in_([RequestState.POSSIBLY_BILLED, RequestState.FAILED]),
        )
        .order_by(ModelRequestRow.id)
    )
    return TrajectoryDetail(
        trajectory=trajectory,
        run=run,
        model_name=model_name,
        problem_id=problem.id,
        problem=problem.definition,
        label=trajectory_label(problem.key, None if buggy is None else buggy.key),
        start=None if buggy is None else buggy.definition.program,
        attempts=tuple(
            _detail(attempt, transcript, [old for old in superseded if old.attempt_id == attempt.id])
            for attempt, transcript in attempts
        ),
        requests=tuple(requests),
        previous_id=neighbour(session, trajectory, -1),
        next_id=neighbour(session, trajectory, 1),
    )


def _detail(attempt: Attempt, transcript: Transcript, superseded: Sequence[SupersededJudgement]) -> AttemptDetail:
    return AttemptDetail(
        attempt=attempt,
        messages=transcript.messages or (),
        reply=transcript.reply,
        program=transcript.program,
        feedback=transcript.feedback,
        first_failure=transcript.first_failure,
        stdout=transcript.stdout,
        stderr=transcript.stderr,
        superseded=tuple(superseded),
    )


def neighbour(session: Session, trajectory: Trajectory, step: int) -> int | None:
    """The trajectory of the same run that stands `step` places further on; None at an end."""
    return session.scalar(
        select(Trajectory.id).where(
            Trajectory.run_id == trajectory.run_id, Trajectory.position == trajectory.position + step
        )
    )
