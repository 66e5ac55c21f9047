"""Recorded runs of LDB, on a small file of our own."""

import json
from typing import Any

import pytest

from app.domain.errors import FormatError, InputError
from app.domain.programs import Program
from app.domain.protocol.policy import Disclosure, Protocol, StopOn
from app.domain.verdicts import Verdict
from app.recordings import ldb
from app.recordings.recording import ReadOptions, RecordedAttempt, RecordedTrajectory, Recording

DOUBLE = {
    "task_id": "Own/0",
    "given_tests": ["assert double(1) == 2"],
    "implementations": ["def double(x):\n    return x", "def double(x):\n    return x + x"],
    "test_feedback": [["assert double(1) == 2 # Real Execution Output: 1"], []],
    "is_passing": True,
    "is_solved": False,
}


def lines(*records: dict[str, Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def read(*records: dict[str, Any], options: ReadOptions = ReadOptions()) -> Recording:  # noqa: B008 — it is frozen
    return ldb.read({"": lines(*records)}, options)


def test_attempts_keep_their_order_and_what_is_known_of_each() -> None:
    stopped = RecordedTrajectory(
        problem_key="Own/0",
        place="line 1",
        attempts=(
            RecordedAttempt(
                Program.single("def double(x):\n    return x"),
                None,  # of all but the last, nothing is recorded about the hidden test
                {
                    "visible_total": 1,
                    "visible_passed": 0,
                    "feedback": "assert double(1) == 2 # Real Execution Output: 1",
                    "reason": "shown_assert_failed",
                },
            ),
            RecordedAttempt(
                Program.single("def double(x):\n    return x + x"),
                Verdict.FAILED,
                {"visible_total": 1, "visible_passed": 1, "reason": "hidden_test_failed"},
            ),
        ),
    )
    found = read(DOUBLE, options=ReadOptions(attempts=11))
    assert found.trajectories == (stopped,)
    assert found.protocol == Protocol(attempts=11, disclosure=Disclosure.VISIBLE, stop_on=StopOn.VISIBLE)
    assert {"prompts_version", "temperature", "max_tokens", "history"} <= set(found.unknown)


def test_whoever_never_passed_the_shown_asserts_had_all_attempts() -> None:
    failing = {"test_feedback": [["assert a"], ["assert b"]], "is_passing": False}
    assert read({**DOUBLE, **failing}, {**DOUBLE, "task_id": "Own/1"}).protocol.attempts == 2
    with pytest.raises(InputError, match=r"^attempts: the recording does not say how many there could have been"):
        read(DOUBLE)
    with pytest.raises(InputError, match=r"^attempts: the recording has a problem with 2, more than 1$"):
        read(DOUBLE, options=ReadOptions(attempts=1))


def test_broken_records_are_left_out_where_that_is_chosen() -> None:
    data = lines(DOUBLE, {**DOUBLE, "task_id": ""}) + b"{\n\n" + lines(DOUBLE, {**DOUBLE, "task_id": "Own/1"})
    found = ldb.read({"": data}, ReadOptions(attempts=2, skip_broken=True))
    assert [one.problem_key for one in found.trajectories] == ["Own/0", "Own/1"]
    assert [(one.place, one.reason.partition(" (")[0]) for one in found.broken] == [
        ("line 2", "field 'task_id' is empty"),
        ("line 3", "not valid JSON: Expecting property name enclosed in double quotes"),
        ("line 4", "the line is blank"),
        ("line 5", "problem 'Own/0' appears twice"),
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"implementations": []}, "field 'implementations' holds no program"),
        ({"implementations": "x"}, "field 'implementations' must be an array, not a string"),
        ({"implementations": [1, "x"]}, "field 'implementations' must hold a string in each place, not an integer"),
        ({"test_feedback": [[]]}, "2 implementations need as many entries of test_feedback, not 1"),
        ({"test_feedback": [[], [1]]}, "field 'test_feedback' must hold arrays of strings"),
        ({"test_feedback": [[], "x"]}, "field 'test_feedback' must hold arrays of strings"),
        ({"is_solved": "yes"}, "field 'is_solved' must be a boolean, not a string"),
        ({"is_solved": None}, "field 'is_solved' must be a boolean, not null"),
        ({"task_id": "Own/0"}, "problem 'Own/0' appears twice"),
        ({"is_passing": False}, "field 'is_passing' is false, but the last program failed 0 shown asserts"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(FormatError, match=f"^line 2: {reason}$"):
        read(DOUBLE, {**DOUBLE, "task_id": "Own/1", **changes})


@pytest.mark.parametrize("field", sorted(DOUBLE))
def test_every_field_is_needed(field: str) -> None:
    with pytest.raises(FormatError, match=f"^line 1: field '{field}' is missing$"):
        read({name: value for name, value in DOUBLE.items() if name != field})
