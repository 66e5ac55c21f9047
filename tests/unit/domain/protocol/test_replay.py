"""Where a recorded trajectory ends by other verdicts than those it was recorded with."""

import pytest

from app.domain.attempts import AttemptRecord
from app.domain.protocol.decide import Outcome
from app.domain.protocol.policy import Protocol, StopOn
from app.domain.protocol.replay import replay
from app.domain.verdicts import Verdict

AC, WA, RE, NO = Verdict.AC, Verdict.WA, Verdict.RE, Verdict.NO_CODE


@pytest.mark.parametrize(
    ("verdicts", "outcome", "counted", "solved_at"),
    [
        ([AC], Outcome.SOLVED, 1, 0),
        ([WA, AC], Outcome.SOLVED, 2, 1),
        # The first accepted attempt ends it; the two behind it are surplus.
        ([WA, AC, WA, AC], Outcome.SOLVED, 2, 1),
        ([WA, NO, RE, WA], Outcome.EXHAUSTED, 4, None),
        # The protocol would have gone on to a fourth attempt.
        ([WA, RE, WA], None, 3, None),
        ([], None, 0, None),
    ],
)
def test_the_end(verdicts: list[Verdict], outcome: Outcome | None, counted: int, solved_at: int | None) -> None:
    ending = replay([AttemptRecord(i, 0, verdict) for i, verdict in enumerate(verdicts)], Protocol(attempts=4))
    assert (ending.outcome, ending.counted, ending.solved_at) == (outcome, counted, solved_at)


def test_passing_the_visible_tests_ends_it_where_the_protocol_says_so() -> None:
    judged = [AttemptRecord(0, 0, WA, 1, 2), AttemptRecord(1, 0, WA, 2, 2), AttemptRecord(2, 0, AC, 2, 2)]
    ending = replay(judged, Protocol(attempts=4, stop_on=StopOn.VISIBLE))
    assert (ending.outcome, ending.counted, ending.solved_at) == (Outcome.VISIBLE_ONLY, 2, None)
    assert replay(judged, Protocol(attempts=4)).solved_at == 2
