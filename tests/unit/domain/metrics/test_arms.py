"""Arms against their baseline, by hand."""

import pytest

from app.domain.metrics.arms import Result, compare_arms

SOLVED, UNSOLVED, AFRESH = Result(True), Result(False), Result(True, afresh=True)


def test_problems_are_paired_and_the_rest_is_counted() -> None:
    # Twelve problems set out. The baseline solves 0 and 1, not 2–9; 10 and 11 were cut short in it.
    baseline = {p: SOLVED if p < 2 else UNSOLVED for p in range(10)}
    # The arm solves 1, and 2–9 but for 3: 2 before any fresh start, 4–9 after one. 11 ended in it alone.
    arm = dict.fromkeys((0, 3, 11), UNSOLVED) | {1: SOLVED, 2: SOLVED} | dict.fromkeys(range(4, 10), AFRESH)
    (found,) = compare_arms(baseline, [arm], 12)
    assert (found.paired.both, found.paired.gained, found.paired.lost, found.paired.neither) == (1, 7, 1, 1)
    assert (found.gained, found.lost) == ((2, 4, 5, 6, 7, 8, 9), (0,))
    assert (found.gained_before, found.gained_after, found.left_out) == (1, 6, 2)
    # 8/10 − 2/10; of 8 discordant problems 1 is lost: 2·(1 + 8)/2⁸.
    assert found.paired.difference == pytest.approx(0.6)
    assert found.paired.p_exact == found.p_holm == pytest.approx(18 / 256)


def test_holm_goes_over_the_arms() -> None:
    baseline = dict.fromkeys(range(6), UNSOLVED)
    # All six gained: p = 2/2⁶ = 1/32; five of them: 2/2⁵ = 1/16; none: 1.
    arms = [{p: AFRESH if p < gained else UNSOLVED for p in range(6)} for gained in (5, 6, 0)]
    found = compare_arms(baseline, arms, 6)
    # The smallest times 3, the next times 2, the last times 1.
    assert [one.p_holm for one in found] == pytest.approx([2 / 16, 3 / 32, 1.0])
    assert found[2].paired.detectable is None


def test_nothing_in_common_is_no_difference_but_none() -> None:
    (found,) = compare_arms({}, [{1: SOLVED}], 3)
    assert (found.paired.difference, found.paired.p_exact, found.left_out) == (None, 1.0, 3)
    assert found.paired.detectable is None
    assert compare_arms({1: SOLVED}, [], 1) == ()
