"""Reads debugging runs as LDB records them: JSON Lines (or gzip of it), one problem a line.

Format: https://github.com/FloridSleeves/LLMDebugger (Zhong et al., 2024, "Debug like a Human"). A trajectory ends when
the asserts that the model was shown pass, whether or not the program is right, or when its attempts are used up.

What is recorded of the hidden test is whether the last program passed it. Of an earlier one only the shown asserts that
it failed are: that makes it a failed attempt, but whether it would have passed the hidden test is not known.
"""

from app.datasets import payload
from app.datasets.records import Record
from app.domain.programs import Program
from app.domain.protocol.policy import Disclosure, Protocol, StopOn
from app.domain.verdicts import Verdict
from app.recordings.recording import (
    PROMPTS,
    SAMPLING,
    Files,
    Reading,
    ReadOptions,
    RecordedAttempt,
    RecordedTrajectory,
    Recording,
    asked_attempts,
    single,
)

UNKNOWN = (*PROMPTS, *SAMPLING, "history")

SHOWN_ASSERT_FAILED = "shown_assert_failed"
HIDDEN_TEST_FAILED = "hidden_test_failed"


def read(files: Files, options: ReadOptions) -> Recording:
    """Read a recorded run. The files name no model. Raises FormatError naming the line."""
    reading = Reading(options)
    reading.lines(payload.text(single(files)), _trajectory)
    trajectories = reading.trajectories
    # A trajectory that never passed the shown asserts had all its attempts.
    used_up = any(not _passes_shown(one.attempts[-1]) for one in trajectories)
    attempts = asked_attempts(options, (len(one.attempts) for one in trajectories), says=used_up)
    return Recording(
        trajectories=trajectories,
        protocol=Protocol(attempts=attempts, disclosure=Disclosure.VISIBLE, stop_on=StopOn.VISIBLE),
        unknown=UNKNOWN,
        broken=reading.broken,
    )


def _trajectory(record: Record) -> RecordedTrajectory:
    programs = record.strings("implementations")
    feedback = record.array("test_feedback")
    if not programs:
        record.fail("field 'implementations' holds no program")
    if len(feedback) != len(programs):
        record.fail(f"{len(programs)} implementations need as many entries of test_feedback, not {len(feedback)}")
    shown = len(record.strings("given_tests"))
    passes, solved = record.boolean("is_passing"), record.boolean("is_solved")
    failed = [_failed_asserts(record, one) for one in feedback]
    if passes is not (not failed[-1]):
        said = str(passes).lower()
        record.fail(f"field 'is_passing' is {said}, but the last program failed {len(failed[-1])} shown asserts")
    last = len(programs) - 1
    return RecordedTrajectory(
        problem_key=record.filled("task_id"),
        attempts=tuple(
            _attempt(program, failed[number], shown, solved if number == last else None)
            for number, program in enumerate(programs)
        ),
    )


def _attempt(program: str, failed: tuple[str, ...], shown: int, solved: bool | None) -> RecordedAttempt:
    """`solved` is None where nothing is recorded of the hidden test."""
    facts = {
        "visible_total": shown,
        "visible_passed": shown - min(shown, len(failed)),
        "feedback": "\n".join(failed) or None,
        "reason": None if solved else SHOWN_ASSERT_FAILED if failed else HIDDEN_TEST_FAILED,
    }
    verdict = None if solved is None else Verdict.AC if solved else Verdict.FAILED
    return RecordedAttempt(Program.single(program), verdict, {k: v for k, v in facts.items() if v is not None})


def _passes_shown(attempt: RecordedAttempt) -> bool:
    return bool(attempt.facts["visible_passed"] == attempt.facts["visible_total"])


def _failed_asserts(record: Record, failed: object) -> tuple[str, ...]:
    if not isinstance(failed, list) or not all(isinstance(one, str) for one in failed):
        record.fail("field 'test_feedback' must hold arrays of strings")
    return tuple(failed)
