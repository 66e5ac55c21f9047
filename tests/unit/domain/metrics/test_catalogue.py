"""What every figure of the catalogue must obey, and the figures of one run worked out by hand."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from app.domain.metrics.catalogue import CATALOGUE, Measured, measured
from app.domain.metrics.decay import decay
from app.domain.metrics.hazard import fit_hazard
from app.domain.metrics.intervals import Estimate, EstimateStatus, IntervalMethod, wilson
from tests.fixtures.outcomes import SOLVED, WRONG, Try, Way, changed, outcomes_of, way, ways

ATTEMPTS = 6
MIXED = [
    *ways([14, 7, 5, 0, 2, 1], 40),
    way(None, 2, cut=True),
    way(None, 5, cut=True),
    Way([Try("CE"), Try("RE", 3), Try("TLE", 2, executed=3), Try("WA", 9, visible=True, repeats=True), SOLVED]),
    Way([Try("no_code"), changed(WRONG, repeats=True), Try("MLE", 4), WRONG, WRONG, Try("WA", 8, visible=True)]),
]


def every(found: dict[str, Measured]) -> Iterator[tuple[str, Estimate]]:
    for slug, entries in found.items():
        for key, estimate in entries.items():
            yield f"{slug}[{key}]", estimate


def figures(found: Sequence[Way]) -> dict[str, Estimate]:
    return dict(every(measured(outcomes_of(found, ATTEMPTS), size=400)))


RUNS = {
    "mixed": MIXED,
    "empty": [],
    "one": [way(0, ATTEMPTS)],
    "all solved": [way(0, ATTEMPTS)] * 30,
    "none solved": [way(None, ATTEMPTS)] * 30,
    "all cut short": [way(None, 1, cut=True)] * 30,
    "few": MIXED[::4],
    "unknown tokens": [Way([changed(SOLVED, tokens=None, cost=None)])] * 25,
}


def test_slugs_are_unique() -> None:
    assert len({metric.slug for metric in CATALOGUE}) == len(CATALOGUE)


@pytest.mark.parametrize("name", RUNS)
def test_every_figure_is_in_its_range_or_says_why_not(name: str) -> None:
    found = measured(outcomes_of(RUNS[name], ATTEMPTS), size=400)
    assert set(found) == {metric.slug for metric in CATALOGUE}
    for metric in CATALOGUE:
        for key, one in found[metric.slug].items():
            said = f"{metric.slug}[{key}]: {one}"
            numbers = [value for value in (one.estimate, one.low, one.high) if value is not None]
            assert all(math.isfinite(value) for value in numbers), said
            assert all(metric.low - 1e-9 <= value <= metric.high + 1e-9 for value in numbers), said
            if one.status is EstimateStatus.OK:
                assert len(numbers) == 3, said
                assert one.low <= one.estimate + 1e-9, said  # type: ignore[operator]
                assert one.estimate <= one.high + 1e-9, said  # type: ignore[operator]
                assert one.method is not None, said
            if one.status in (EstimateStatus.UNDEFINED, EstimateStatus.UNKNOWN, EstimateStatus.NOT_REACHED):
                assert (numbers, one.method) == ([], None), said


def test_nothing_is_measured_of_an_empty_run() -> None:
    assert {one.status for one in figures([]).values()} == {EstimateStatus.UNDEFINED}


@pytest.mark.parametrize("attempts", [1, 2])
def test_variants_of_one_task_with_hardly_an_attempt_have_no_rate(attempts: int) -> None:
    found = [replace(way(0 if row % 3 else None, attempts), unit=row // 2) for row in range(50)]
    one = measured(outcomes_of(found, attempts), size=400)
    assert one["accuracy"][""].estimate == pytest.approx(33 / 50)
    assert one["careful_lambda_debugging"][""].status is EstimateStatus.UNDEFINED
    assert one["careful_lambda"][""].estimate is None


@pytest.mark.parametrize("name", ["mixed", "few", "all solved", "none solved"])
def test_the_order_of_problems_changes_no_estimate(name: str) -> None:
    found, reversed_ = figures(RUNS[name]), figures(RUNS[name][::-1])
    for key, one in found.items():
        if one.estimate is None:
            assert reversed_[key].estimate is None, key
        else:
            assert reversed_[key].estimate == pytest.approx(one.estimate, rel=1e-9, abs=1e-9), key


@pytest.mark.parametrize("name", ["mixed", "few", "all solved", "none solved"])
def test_duplicated_problems_change_no_estimate(name: str) -> None:
    found, twice = figures(RUNS[name]), figures(list(RUNS[name]) * 2)
    for key, one in found.items():
        # With few problems a careful fit may lack the three solves that twice the problems have.
        if one.estimate is not None:
            assert twice[key].estimate == pytest.approx(one.estimate, rel=1e-6, abs=1e-6), key
            assert twice[key].n == 2 * one.n


def test_figures_of_counts_are_those_of_their_own_functions() -> None:
    solved, of = [24, 9, 5, 0, 2, 1], 50
    found = figures(ways(solved, of))
    expected = wilson(24, 50)
    assert found["e0[]"] == Estimate(
        expected.estimate, expected.low, expected.high, 50, EstimateStatus.OK, IntervalMethod.WILSON
    )
    assert found["accuracy[]"].estimate == 41 / 50
    assert found["gain[]"].estimate == 17 / 50
    assert found["lambda[]"].estimate == pytest.approx(decay(solved, of).lambda_, abs=1e-4)
    assert found["half_life[]"].estimate == pytest.approx(decay(solved, of).half_life, rel=1e-3)
    for slug, start in (("careful_lambda[]", 0), ("careful_lambda_debugging[]", 1)):
        rate = fit_hazard(solved, of, start=start).lambda_
        assert rate is not None
        assert (found[slug].estimate, found[slug].low, found[slug].high) == (rate.estimate, rate.low, rate.high)
    # 24, 33, 38, 38, 40, 41 of 50. The median iteration is that of the 25th and 26th: 2.
    assert [found[f"isr[{k}]"].estimate for k in range(1, 7)] == pytest.approx([0.48, 0.66, 0.76, 0.76, 0.80, 0.82])
    assert (found["mis[]"].estimate, found["median_iteration[]"].estimate) == (2, 2)
    assert found["cut_short[]"].estimate == 0


def test_unsolved_problems_move_the_published_median_alone() -> None:
    # 4 of 10 solved: the published median is k + 1 = 7, Kaplan and Meier's is not reached.
    found = figures(ways([4, 0, 0, 0, 0, 0], 10))
    assert found["mis[]"].estimate == 7
    assert found["median_iteration[]"].status is EstimateStatus.NOT_REACHED


def test_samples_of_a_problem_are_no_independent_problems() -> None:
    # 30 problems, 15 solved at once: Wilson. Ten samples of each, all alike: the same shares, the same uncertainty.
    once = [Way([SOLVED]) if p < 15 else way(None, ATTEMPTS) for p in range(30)]
    often = [Way(one.tries, problem=p) for p, one in enumerate(once) for _ in range(10)]
    single, several = figures(once)["e0[]"], figures(often)["e0[]"]
    assert (several.estimate, several.n, several.method) == (single.estimate, 30, IntervalMethod.BCA)
    assert several.low == pytest.approx(single.low, abs=0.04)
    assert several.high == pytest.approx(single.high, abs=0.04)
    # pass@k up to the ten samples: half of the problems whatever k.
    found = figures(often)
    assert [found[f"pass_at_k[{k}]"].estimate for k in (1, 5, 10)] == pytest.approx([0.5, 0.5, 0.5])
    assert "pass_at_k[11]" not in found


def test_variants_of_one_task_are_one_cluster() -> None:
    # 40 problems that are variants of 8 tasks: Student's t with 7 degrees of freedom, not Wilson of 40.
    found = figures([Way(one.tries, problem=p, unit=p % 8) for p, one in enumerate(ways([14, 7, 5, 0, 2, 1], 40))])
    assert (found["e0[]"].n, found["e0[]"].method) == (8, IntervalMethod.CLUSTER_T)
    assert found["e0[]"].estimate == pytest.approx(14 / 40)
    # The 14 solved are problems 0 … 13: two in units 0–5, one in units 6 and 7; of five each. Shares 0.4 × 6, 0.2 × 2:
    # mean 0.35, s = √(0.06/7) = 0.092582, over √8 and by t(7) = 2.364624: ± 0.077400.
    assert found["e0[]"].low == pytest.approx(0.35 - 0.0774, abs=1e-4)
