"""Outcomes as CSV."""

import pytest

from app.domain.errors import FormatError, InputError
from app.domain.verdicts import Verdict
from app.recordings import outcomes
from app.recordings.recording import ReadOptions, Recording

FAILED, SOLVED = Verdict.FAILED, Verdict.AC


def read(text: str, options: ReadOptions = ReadOptions()) -> Recording:  # noqa: B008 — it is frozen
    return outcomes.read({"": text.encode()}, options)


def verdicts(recording: Recording) -> dict[str, list[Verdict | None]]:
    return {one.problem_key: [attempt.verdict for attempt in one.attempts] for one in recording.trajectories}


def test_a_pass_is_solved_at_its_count_and_a_fail_failed_every_attempt() -> None:
    found = read(
        "task_id,fix_mode_attempt_count,status\nHumanEval_0,0,pass\nHumanEval_1,2.0,pass\nHumanEval_2,3,fail\n"
    )
    assert found.protocol.attempts == 4  # a fail counts the attempts behind the first
    assert verdicts(found) == {
        "HumanEval_0": [SOLVED],
        "HumanEval_1": [FAILED, FAILED, SOLVED],
        "HumanEval_2": [FAILED] * 4,
    }
    assert found.notes == ()


def test_a_fail_that_counts_fewer_attempts_is_said() -> None:
    found = read("task_id,fix_mode_attempt_count,status\na,3,fail\nb,1,fail\nc,,fail\n")
    assert verdicts(found) == {key: [FAILED] * 4 for key in "abc"}
    assert found.notes == (
        "1 of 3 failed problems count fewer than 4 attempts; as published, all attempts at them count as failed",
    )


def test_the_number_of_attempts_is_asked_for_where_no_fail_says_it() -> None:
    text = "status,task_id,fix_mode_attempt_count\npass,a,1\nfail,b,\n"
    with pytest.raises(InputError, match=r"^attempts: the recording does not say"):
        read(text)
    assert verdicts(read(text, ReadOptions(attempts=3))) == {"a": [FAILED, SOLVED], "b": [FAILED] * 3}
    with pytest.raises(InputError, match=r"^attempts: the recording has a problem with 2, more than 1$"):
        read(text, ReadOptions(attempts=1))


def test_the_trace_of_a_failure_stays_with_its_last_attempt() -> None:
    found = read('task_id,fix_mode_attempt_count,status,error_trace\na,0,fail,"two\nlines"\nb,2,fail,\n')
    (first, second) = found.trajectories
    assert [dict(one.facts) for one in first.attempts] == [{}, {}, {"stderr": "two\nlines"}]
    assert second.place == "line 4"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a,1,maybe", "status must be 'pass' or 'fail', not 'maybe'"),
        ("a,,pass", "fix_mode_attempt_count is empty, so the attempt that passed is not known"),
        ("a,-1,pass", "fix_mode_attempt_count must be a whole number, not '-1'"),
        ("a,1.5,fail", "fix_mode_attempt_count must be a whole number, not '1.5'"),
        ("a,50,fail", "fix_mode_attempt_count must be below 50, not 50"),
        (",1,pass", "task_id is empty"),
        (",,", "task_id is empty"),
        ("a,1", "it has more or fewer cells than the header"),
        ("b,0,pass", "problem 'b' appears twice"),
    ],
)
def test_a_broken_line_is_named(row: str, reason: str) -> None:
    text = f"task_id,fix_mode_attempt_count,status\nb,1,fail\n{row}\n"
    with pytest.raises(FormatError, match=f"^line 3: {reason}$"):
        read(text)
    found = read(text, ReadOptions(skip_broken=True))
    assert [(one.place, one.reason) for one in found.broken] == [("line 3", reason)]
    assert verdicts(found) == {"b": [FAILED] * 2}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"task_id,status\na,pass\n", "line 1: column 'fix_mode_attempt_count' is missing; there are task_id, status"),
        (b"task_id,fix_mode_attempt_count,status\n\xff,1,pass\n", r"line 2: the file is not UTF-8 text \(byte 0xff\)"),
        (b"task_id,fix_mode_attempt_count,status\n", "the recording holds no attempts at any problem"),
        (b'task_id,fix_mode_attempt_count,status\n"a,1,pass\n', "line 2: not CSV: unexpected end of data"),
    ],
)
def test_files_that_are_no_outcomes(data: bytes, reason: str) -> None:
    with pytest.raises(FormatError, match=f"^{reason}$"):
        outcomes.read({"": data}, ReadOptions(skip_broken=True))
