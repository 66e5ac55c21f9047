"""Policies of fresh starts, against the patterns that define them."""

import pytest

from app.domain.attempts import AttemptRecord
from app.domain.errors import InputError
from app.domain.protocol.decide import Ask, decide
from app.domain.protocol.policy import Protocol
from app.domain.protocol.restart import FreshStart, RestartRule
from app.domain.verdicts import Verdict


def pattern(text: str, attempts: int = 6, *, visible: str = "", repeats: str = "") -> str:
    """G for each attempt that begins a segment, D for the others, when every attempt fails.

    `visible` and `repeats`: a digit an attempt, the visible cases it passes of nine, and 1 where it repeats a program.
    """
    policy = Protocol(attempts=attempts, fresh_start=FreshStart.parse(text))
    history: list[AttemptRecord] = []
    letters = ""
    while isinstance(decision := decide(history, policy), Ask):
        begins = not history or decision.segment != history[-1].segment
        letters += "G" if begins else "D"
        t = decision.index
        passed = int(visible[t]) if visible else 0
        history.append(AttemptRecord(t, decision.segment, Verdict.WA, passed, 9, repeats[t : t + 1] == "1"))
    assert len(history) == attempts
    return letters


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("none", "GDDDDD"),
        ("once:1", "GDGDDD"),
        ("once:2", "GDDGDD"),
        ("once:4", "GDDDDG"),
        ("every:1", "GDGDGD"),
        ("every:2", "GDDGDD"),  # as defined, and the same as `once` within six attempts
        ("resample", "GGGGGG"),
        # The authors' code restarts when the repair's index, from 0, is a multiple of n: repairs 0, 2, 4 are attempts
        # 1, 3, 5; with n = 1 that is every repair, with n = 5 repairs 0 and 5, the latter beyond the last attempt.
        ("reference:2", "GGDGDG"),
        ("reference:1", "GGGGGG"),
        ("reference:5", "GGDDDD"),
    ],
)
def test_a_policy_is_the_pattern_it_stands_for(policy: str, expected: str) -> None:
    assert pattern(policy) == expected


def test_once_and_every_part_after_the_second_segment() -> None:
    assert pattern("once:2", 9) == "GDDGDDDDD"
    assert pattern("every:2", 9) == "GDDGDDGDD"


@pytest.mark.parametrize(
    ("visible", "repeats", "expected"),
    [
        # No progress in two attempts after the best (5 at attempt 0): 5 3 5 → afresh at 3; then 1 0 1 → the end.
        ("535101", "", "GDDGDD"),
        # Each attempt is better than all before it.
        ("123456", "", "GDDDDD"),
        # 1 2 2 2: the best before the last two is 2, they reach 2: afresh at 4.
        ("122222", "", "GDDDGD"),
        # A repeated program at attempt 1, though it passes as much as ever: afresh at 2.
        ("123456", "010000", "GDGDDD"),
        # Again at attempt 3, which debugs the second segment's answer.
        ("123456", "010100", "GDGDGD"),
        # At attempt 2, the second segment's answer itself: it has not been debugged yet.
        ("123456", "011000", "GDGDDD"),
    ],
)
def test_adaptive_looks_at_progress_and_repetition(visible: str, repeats: str, expected: str) -> None:
    assert pattern("adaptive:2", visible=visible, repeats=repeats) == expected


@pytest.mark.parametrize(
    ("policy", "attempts"),
    [("once:5", 6), ("every:1", 2), ("adaptive:2", 2), ("resample", 1), ("reference:1", 1)],
)
def test_a_restart_that_leaves_no_attempt_is_refused(policy: str, attempts: int) -> None:
    with pytest.raises(InputError, match=r"fresh start: .* would start afresh at attempt \d, but the last of"):
        Protocol(attempts=attempts, fresh_start=FreshStart.parse(policy))
    Protocol(attempts=attempts + 1, fresh_start=FreshStart.parse(policy))


@pytest.mark.parametrize("text", ["", "twice", "once", "once:", "once:0", "once:-1", "every:x", "none:2", "resample:1"])
def test_a_policy_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="fresh start: "):
        FreshStart.parse(text)


@pytest.mark.parametrize("rule", RestartRule)
def test_a_policy_is_written_as_it_is_read(rule: RestartRule) -> None:
    policy = FreshStart(rule, 3 if rule in ("once", "every", "adaptive", "reference") else None)
    assert FreshStart.parse(str(policy)) == policy
