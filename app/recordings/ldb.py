"""Reads debugging runs as LDB records them: JSON Lines (or gzip of it), one problem a line.

Format: https://github.com/FloridSleeves/LLMDebugger (Zhong et al., 2024, "Debug like a Human"). A trajectory ends when
the asserts that the model was shown pass, whether or not the program is right, or when its attempts are used up.
"""

from dataclasses import dataclass

from app.datasets import payload
from app.datasets.records import Record, json_lines
from app.domain.programs import Program


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """One program, and the shown asserts that it failed, each with what it gave instead; none where all passed."""

    program: Program
    feedback: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordedTrajectory:
    """The attempts at one problem, oldest first: at least one.

    `visible` are the asserts the model was shown and `test` the hidden test code. `passes_visible` and `solved` are
    what was recorded of the last attempt; earlier ones have no recorded verdict.
    """

    problem_key: str
    entry_point: str
    attempts: tuple[RecordedAttempt, ...]
    visible: tuple[str, ...]
    test: str
    passes_visible: bool
    solved: bool


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A model's trajectories over a problem set. The files name no model, so whoever reads one says it."""

    model: str
    trajectories: tuple[RecordedTrajectory, ...]


def read(data: bytes, model: str) -> RecordedRun:
    """Read the recorded run of `model`. Raises FormatError naming the line."""
    trajectories: dict[str, RecordedTrajectory] = {}
    for record in json_lines(payload.text(data)):
        trajectory = _trajectory(record)
        if trajectory.problem_key in trajectories:
            record.fail(f"task_id {trajectory.problem_key!r} appears twice")
        trajectories[trajectory.problem_key] = trajectory
    return RecordedRun(model, tuple(trajectories.values()))


def _trajectory(record: Record) -> RecordedTrajectory:
    programs = record.strings("implementations")
    feedback = record.array("test_feedback")
    if not programs:
        record.fail("field 'implementations' holds no program")
    if len(feedback) != len(programs):
        record.fail(f"{len(programs)} implementations need as many entries of test_feedback, not {len(feedback)}")
    return RecordedTrajectory(
        problem_key=record.filled("task_id"),
        entry_point=record.filled("entry_point"),
        attempts=tuple(
            RecordedAttempt(Program.single(program), _failed_asserts(record, failed))
            for program, failed in zip(programs, feedback, strict=True)
        ),
        visible=tuple(record.strings("given_tests")),
        test=record.filled("test"),
        passes_visible=record.boolean("is_passing"),
        solved=record.boolean("is_solved"),
    )


def _failed_asserts(record: Record, failed: object) -> tuple[str, ...]:
    if not isinstance(failed, list) or not all(isinstance(one, str) for one in failed):
        record.fail("field 'test_feedback' must hold arrays of strings")
    return tuple(failed)
