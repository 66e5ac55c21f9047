"""From one attempt to the next, on two or three trajectories counted by hand."""

from dataclasses import replace

import numpy as np
import pytest

from app.domain.metrics.intervals import Estimate, EstimateStatus, Resamples
from app.domain.metrics.outcomes import Outcomes
from app.domain.metrics.refinement import (
    change_share,
    fix_rate,
    flow,
    hidden_failure_share,
    repeat_share,
    solved_per_1000_tokens,
    solved_per_cost,
)
from app.domain.verdicts import Verdict
from tests.fixtures.outcomes import SOLVED, Try, Way, changed, outcomes_of

TRAJECTORIES = [
    # T: 4, 6, 3, 10.
    Way([Try("WA", 4), Try("WA", 6, visible=True), Try("TLE", 3, executed=4), SOLVED]),
    # T: 0, 0, 5, 5; never solved, ends wrong.
    Way([Try("CE", 0), Try("no_code", 0), Try("WA", 5), Try("WA", 5, repeats=True)]),
    # Solved at once.
    Way([SOLVED]),
]
"""Pairs: WA→WA up, WA→TLE down, TLE→AC up; CE→no_code same, no_code→WA up, WA→WA same."""


@pytest.fixture
def run() -> Outcomes:
    return outcomes_of(TRAJECTORIES, attempts=4)


def estimate(found: Estimate) -> float | None:
    return found.estimate


def test_what_a_recording_does_not_count_makes_what_rests_on_it_unknown(run: Outcomes) -> None:
    unknown = np.zeros(len(run.verdict), dtype=bool)
    unknown[6] = True  # the third attempt of the second trajectory: WA, after no_code and before WA
    uncounted, draws = replace(run, uncounted=unknown), Resamples(run.units)
    for figure in (
        fix_rate(uncounted, draws),
        fix_rate(uncounted, draws, Verdict.WA),
        fix_rate(uncounted, draws, Verdict.NO_CODE),  # the next attempt is not counted
        change_share(uncounted, draws, -1),
    ):
        assert (figure.estimate, figure.status) == (None, EstimateStatus.UNKNOWN)
    # TLE → AC and CE → no_code have both ends counted.
    assert fix_rate(uncounted, draws, Verdict.TLE).estimate == 1
    assert fix_rate(uncounted, draws, Verdict.CE).estimate == 0
    for figure in (
        hidden_failure_share(replace(run, unshown=unknown), draws),
        repeat_share(replace(run, unseen=unknown), draws),
    ):
        assert (figure.estimate, figure.status) == (None, EstimateStatus.UNKNOWN)


def test_flow(run: Outcomes) -> None:
    found = flow(run)
    wa, tle, ac, ce, none = Verdict.WA, Verdict.TLE, Verdict.AC, Verdict.CE, Verdict.NO_CODE
    assert found.matrix == {(wa, wa): 2, (wa, tle): 1, (tle, ac): 1, (ce, none): 1, (none, wa): 1}
    assert found.fixed == {wa: 1, tle: 1, none: 1}
    # The timeout was recorded up to its fourth case.
    assert found.stopped_short == 1


def test_fix_rates(run: Outcomes) -> None:
    draws = Resamples(run.units)
    # Six pairs, three fixes; of the three pairs that start at WA one.
    assert estimate(fix_rate(run, draws)) == 3 / 6
    assert estimate(fix_rate(run, draws, Verdict.WA)) == 1 / 3
    assert estimate(fix_rate(run, draws, Verdict.CE)) == 0
    # The second trajectory ends at an error: a seventh occurrence, the fourth at WA, if the last is one.
    assert estimate(fix_rate(run, draws, count_last=True)) == 3 / 7
    assert estimate(fix_rate(run, draws, Verdict.WA, count_last=True)) == 1 / 4
    missing = fix_rate(run, draws, Verdict.MLE)
    assert (missing.estimate, missing.status) == (None, EstimateStatus.UNDEFINED)


def test_shares_of_debugging_attempts(run: Outcomes) -> None:
    draws = Resamples(run.units)
    assert [estimate(change_share(run, draws, sign)) for sign in (1, 0, -1)] == [3 / 6, 2 / 6, 1 / 6]
    assert estimate(repeat_share(run, draws)) == 1 / 6


def test_hidden_failures(run: Outcomes) -> None:
    # Three attempts pass the visible cases: one wrong, two right.
    assert estimate(hidden_failure_share(run, Resamples(run.units))) == pytest.approx(1 / 3)


def test_efficiency(run: Outcomes) -> None:
    draws = Resamples(run.units)
    # Two solved by nine attempts of 500 tokens and 0.25 each.
    assert estimate(solved_per_1000_tokens(run, draws)) == pytest.approx(2 / 4.5)
    assert estimate(solved_per_cost(run, draws)) == pytest.approx(2 / 2.25)
    unknown = outcomes_of([*TRAJECTORIES, Way([changed(SOLVED, tokens=None, cost=None)])], attempts=4)
    for found in (solved_per_1000_tokens(unknown, draws), solved_per_cost(unknown, draws)):
        assert (found.estimate, found.status) == (None, EstimateStatus.UNKNOWN)
    free = outcomes_of([Way([changed(SOLVED, cost=0.0)])], attempts=4)
    assert solved_per_cost(free, Resamples(1)).status is EstimateStatus.UNDEFINED


def test_samples_are_averaged_within_the_problem() -> None:
    # Problem 0: two samples, one solved at once by 500 tokens, one not by 1,000. Problem 1: one sample, solved by 500.
    run = outcomes_of(
        [
            Way([SOLVED], problem=0),
            Way([Try("WA", 1), Try("WA", 2)], problem=0),
            Way([SOLVED], problem=1),
        ],
        attempts=2,
    )
    # (0.5 + 1) solved by (750 + 500) tokens.
    assert estimate(solved_per_1000_tokens(run, Resamples(2))) == pytest.approx(1.5 / 1.25)


def test_a_fresh_start_answers_no_attempt() -> None:
    # WA 4, then again from the task: what follows neither fixes nor worsens it. Within the second segment 3 → 10.
    fresh = [Try("WA", 4), Try("WA", 3, segment=1), changed(SOLVED, segment=1)]
    run = outcomes_of([Way(fresh)], attempts=3)
    assert flow(run).matrix == {(Verdict.WA, Verdict.AC): 1}
    assert estimate(change_share(run, Resamples(1), -1)) == 0
