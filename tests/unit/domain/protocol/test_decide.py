"""What comes next in a trajectory."""

import pytest

from app.domain.attempts import AttemptRecord
from app.domain.protocol.decide import Ask, Outcome, Run, Stop, decide
from app.domain.protocol.policy import Protocol, StopOn
from app.domain.verdicts import Verdict


def judged(index: int, verdict: Verdict | None, visible: tuple[int, int] = (0, 0)) -> AttemptRecord:
    return AttemptRecord(index, 0, verdict, *visible)


def test_a_new_trajectory_asks_for_attempt_0() -> None:
    assert decide([], Protocol()) == Ask(index=0, segment=0)


def test_an_unjudged_program_is_run() -> None:
    assert decide([judged(0, Verdict.WA), judged(1, None)], Protocol()) == Run(1)


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.AC])
def test_every_failure_is_debugged(verdict: Verdict) -> None:
    assert decide([judged(0, verdict)], Protocol()) == Ask(index=1, segment=0)


def test_accepted_ends_it() -> None:
    assert decide([judged(0, Verdict.WA), judged(1, Verdict.AC)], Protocol()) == Stop(Outcome.SOLVED)


def test_attempts_run_out() -> None:
    failed = [judged(i, Verdict.RE) for i in range(6)]
    assert decide(failed[:5], Protocol(attempts=6)) == Ask(index=5, segment=0)
    assert decide(failed, Protocol(attempts=6)) == Stop(Outcome.EXHAUSTED)


def test_the_last_attempt_can_still_solve() -> None:
    history = [judged(0, Verdict.WA), judged(1, Verdict.AC)]
    assert decide(history, Protocol(attempts=2)) == Stop(Outcome.SOLVED)


def test_passing_the_visible_tests_ends_it_only_where_the_protocol_says_so() -> None:
    history = [judged(0, Verdict.WA, (3, 3))]
    assert decide(history, Protocol(stop_on=StopOn.VISIBLE)) == Stop(Outcome.VISIBLE_ONLY)
    assert decide(history, Protocol(stop_on=StopOn.ALL)) == Ask(index=1, segment=0)


def test_no_visible_tests_are_not_passed() -> None:
    assert decide([judged(0, Verdict.WA, (0, 0))], Protocol(stop_on=StopOn.VISIBLE)) == Ask(index=1, segment=0)


def test_the_segment_is_kept() -> None:
    restarted = [judged(0, Verdict.WA), AttemptRecord(1, 1, Verdict.WA)]
    assert decide(restarted, Protocol()) == Ask(index=2, segment=1)


@pytest.mark.parametrize(
    "history",
    [
        [judged(1, Verdict.WA)],
        [judged(0, Verdict.WA), judged(2, Verdict.WA)],
        [judged(0, None), judged(1, Verdict.WA)],
    ],
)
def test_a_broken_history_is_refused(history: list[AttemptRecord]) -> None:
    with pytest.raises(ValueError, match="breaks the order"):
        decide(history, Protocol())
