"""Recorded runs of LDB, on a small file of our own."""

import json
from typing import Any

import pytest

from app.domain.errors import FormatError
from app.domain.programs import Program
from app.recordings import ldb
from app.recordings.ldb import RecordedAttempt, RecordedRun, RecordedTrajectory

DOUBLE = {
    "task_id": "Own/0",
    "entry_point": "double",
    "test": "def check(candidate):\n    assert double(2) == 4\n",
    "given_tests": ["assert double(1) == 2"],
    "implementations": ["def double(x):\n    return x", "def double(x):\n    return x + x"],
    "test_feedback": [["assert double(1) == 2 # Real Execution Output: 1"], []],
    "is_passing": True,
    "is_solved": False,
}


def lines(*records: dict[str, Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def test_attempts_keep_their_order_and_feedback() -> None:
    assert ldb.read(lines(DOUBLE), "own-model") == RecordedRun(
        "own-model",
        (
            RecordedTrajectory(
                problem_key="Own/0",
                entry_point="double",
                attempts=(
                    RecordedAttempt(
                        Program.single("def double(x):\n    return x"),
                        ("assert double(1) == 2 # Real Execution Output: 1",),
                    ),
                    RecordedAttempt(Program.single("def double(x):\n    return x + x"), ()),
                ),
                visible=("assert double(1) == 2",),
                test="def check(candidate):\n    assert double(2) == 4\n",
                passes_visible=True,
                solved=False,
            ),
        ),
    )


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
        ({"task_id": "Own/0"}, "task_id 'Own/0' appears twice"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(FormatError, match=f"^line 2: {reason}$"):
        ldb.read(lines(DOUBLE, {**DOUBLE, "task_id": "Own/1", **changes}), "own-model")


@pytest.mark.parametrize("field", sorted(DOUBLE))
def test_every_field_is_needed(field: str) -> None:
    with pytest.raises(FormatError, match=f"^line 1: field '{field}' is missing$"):
        ldb.read(lines({name: value for name, value in DOUBLE.items() if name != field}), "own-model")
