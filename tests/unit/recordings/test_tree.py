"""Results of iterative feedback loops, on files written by hand."""

import json
from typing import Any

import pytest

from app.domain.errors import FormatError, InputError
from app.domain.programs import Program
from app.domain.protocol.policy import Disclosure, Protocol
from app.domain.verdicts import Verdict
from app.recordings import tree
from app.recordings.recording import ReadOptions, Recording

FOLDER = "feedback_loop_data/own_model/python3"


def loop(number: int) -> dict[str, Any]:
    return {"loop": number}


def submission(status: Any, passed: Any = None, total: Any = None, **more: Any) -> dict[str, Any]:
    details = {"statusCode": status, "totalCorrect": passed, "totalTestcases": total, **more}
    return {"submission_id": 1, "data": {"submissionDetails": details}}


def files(**problems: list[Any]) -> dict[str, bytes]:
    return {f"{FOLDER}/{key}_results.json": json.dumps(entries).encode() for key, entries in problems.items()}


def read(given: dict[str, bytes], options: ReadOptions = ReadOptions()) -> Recording:  # noqa: B008 — it is frozen
    return tree.read(given, options)


def verdicts(recording: Recording) -> dict[str, list[Verdict | None]]:
    return {one.problem_key: [attempt.verdict for attempt in one.attempts] for one in recording.trajectories}


def test_every_status_has_its_verdict_and_null_counts_are_none_passed() -> None:
    entries: list[Any] = []
    for number, status in enumerate((20, 15, 14, 13, 12, 11), start=1):
        entries += [loop(number), submission(status, *((None, None) if status == 20 else (number, 90)))]
    entries += [loop(7), submission(10, 90, 90)]
    found = read(files(sums=entries), ReadOptions(attempts=10))
    (one,) = found.trajectories
    of = Verdict
    assert [a.verdict for a in one.attempts] == [of.CE, of.RE, of.TLE, of.RE, of.MLE, of.WA, of.AC]
    # LeetCode stops at the first case that fails: one more was run than passed.
    assert [(a.facts["cases_passed"], a.facts["cases_run"], a.facts["cases_total"]) for a in one.attempts] == [
        (0, 0, 0), (2, 3, 90), (3, 4, 90), (4, 5, 90), (5, 6, 90), (6, 7, 90), (90, 90, 90),
    ]  # fmt: skip
    assert one.attempts[3].facts["reason"] == "output_limit"
    assert found.protocol == Protocol(attempts=10, disclosure=Disclosure.ALL)


def test_a_marker_at_the_end_is_an_interrupted_run_and_a_failed_judge_no_wrong_answer() -> None:
    found = read(
        files(
            used_up=[loop(1), submission(11, 1, 9), loop(2), submission(11, 2, 9), loop(3), submission(11, 2, 9)],
            cut=[loop(1), submission(11, 1, 9), loop(2)],
            none=[loop(1)],
            judge=[loop(1), submission(11, 1, 9), loop(2), submission(16), loop(3), submission(11, 1, 9)],
            silent=[loop(1), {"submission_id": 5, "data": {"submissionDetails": None}}],
        )
    )
    assert verdicts(found) == {
        "cut": [Verdict.WA],
        "judge": [Verdict.WA],
        "none": [],
        "silent": [],
        "used_up": [Verdict.WA] * 3,
    }
    assert {one.problem_key: one.interrupted for one in found.trajectories} == {
        "cut": "the recording ends in loop 2, before its submission",
        "judge": "the judge failed in loop 2 (status 16); what follows, 1 more, is left out",
        "none": "the recording ends in loop 1, before its submission",
        "silent": "the judge failed in loop 1 (no details)",
        "used_up": None,
    }
    assert found.protocol.attempts == 3


def test_the_conversation_comes_with_its_attempts() -> None:
    given = files(
        sums=[
            loop(1),
            submission(11, 3, 9, code="x = 1", lastTestcase="[1]", expectedOutput="2", codeOutput="1"),
            loop(2),
            submission(10, 9, 9, code="x = 2"),
        ]
    )
    asked, wrong, told, right = (
        {"role": role, "content": text}
        for role, text in (
            ("user", "Write x."),
            ("assistant", "x = 1"),
            ("user", "It is wrong."),
            ("assistant", "x = 2"),
        )
    )
    mute = {"role": "user"}  # without content, and so nothing that was said
    given[f"{FOLDER}/sums_prompts.json"] = json.dumps([loop(1), asked, wrong, loop(2), mute, told, right]).encode()
    (one,) = read(given, ReadOptions(attempts=2)).trajectories
    first, second = one.attempts
    assert (first.program, second.program) == (Program.single("x = 1"), Program.single("x = 2"))
    assert (first.facts["messages"], first.facts["reply"], first.facts["feedback"]) == (
        [asked],
        "x = 1",
        "It is wrong.",
    )
    assert (second.facts["messages"], second.facts["reply"]) == ([asked, wrong, told], "x = 2")
    assert "feedback" not in second.facts
    assert first.facts["first_failure"] == {
        "index": 3, "visible": False, "input": "[1]", "expected": "2", "actual": "1", "error": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({}, "the results must be an array, not an object"),
        ([1], "entry 1 of the results must be an object, not an integer"),
        ([submission(10, 1, 1)], "entry 1 of the results comes before the first marker"),
        ([loop(2)], "entry 1 of the results is the marker of loop 2, not 1"),
        ([loop(1), loop(2), submission(10, 1, 1)], "loop 1 has no submission, but loop 2 follows"),
        ([loop(1), submission(11, 0, 1), submission(10, 1, 1)], "loop 1 has 2 submissions instead of one"),
        ([loop(1), {"data": 5}], "loop 1 holds no submissionDetails"),
        ([loop(1), submission(10, 8, 9)], "loop 1: status AC does not go with 8 of 9 cases passed"),
        ([loop(1), submission(10)], "loop 1: status AC does not go with 0 of 0 cases passed"),
        ([loop(1), submission(11, -1, 9)], "loop 1: field 'totalCorrect' must be at least 0"),
        ([loop(1), submission(11, "3", 9)], "loop 1: field 'totalCorrect' must be an integer, not a string"),
        ([loop(1), submission([10], 1, 1)], "loop 1: field 'statusCode' must be an integer, not an array"),
        ([loop(1), submission(10, 1, 1), loop(2)], "loop 1 is accepted, but loop 2 follows"),
        ([loop(1), submission(11, 0, 1, code=5)], "loop 1: field 'code' must be a string"),
    ],
)
def test_a_broken_file_is_named(entries: Any, reason: str) -> None:
    given = files(bad=entries, good=[loop(1), submission(11, 0, 1)])
    place = f"{FOLDER}/bad_results.json"
    with pytest.raises(FormatError) as refused:
        read(given)
    assert str(refused.value) == f"{place}: {reason}"
    found = read(given, ReadOptions(skip_broken=True))
    assert [(one.place, one.reason) for one in found.broken] == [(place, reason)]
    assert list(verdicts(found)) == ["good"]


def test_of_several_runs_one_is_chosen() -> None:
    entries = json.dumps([loop(1), submission(11, 0, 1)]).encode()
    given = {f"data/{part}/a_results.json": entries for part in ("m1/java", "m1/python3", "m2/python3")}
    with pytest.raises(InputError, match=r"say which: m1/java, m1/python3, m2/python3$"):
        read(given)
    with pytest.raises(InputError, match=r"^part: the recording holds 3 runs"):
        read(given, ReadOptions(part="python3"))
    (one,) = read(given, ReadOptions(part="m1/java")).trajectories
    assert (one.place, one.language) == ("data/m1/java/a_results.json", "java")
    with pytest.raises(FormatError, match=r"^no file of the recording is called <problem>_results\.json$"):
        read({"notes.txt": b"x"})
