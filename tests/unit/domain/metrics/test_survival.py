"""When problems are solved: Kaplan and Meier by hand, medians, and the enumeration that pass@k stands for."""

import itertools

import numpy as np
import pytest
from scipy.stats import CensoredData, ecdf

from app.domain.metrics.intervals import wilson
from app.domain.metrics.survival import (
    SurvivalStatus,
    median_iterations,
    median_survival,
    pass_at_k,
    solved_within,
    unsolved_share,
)


def test_without_censoring_isr_is_a_share_with_wilsons_interval() -> None:
    # 3 + 2 of 20 within two iterations.
    found, expected = solved_within([3, 2, 1], 20, k=2), wilson(5, 20)
    assert found.estimate == pytest.approx(0.25)
    assert (found.low, found.high) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert (found.all_failed, found.all_excluded, found.censored) == (0.25, 0.25, 0)


def test_with_censoring_isr_is_kaplan_meiers() -> None:
    # At risk 10, 5 (4 solved, 1 cut short), 3 (1 solved, 1 cut short): U = 6/10 · 4/5 · 2/3 = 0.32.
    found = solved_within([4, 1, 1], 10, [1, 1, 0], k=3)
    assert found.estimate == pytest.approx(0.68)
    # 6 of 10 if the two had failed; 6 of 8 without them.
    assert (found.all_failed, found.all_excluded, found.censored) == (0.6, 0.75, 2)
    # Greenwood: V/U² = 4/(10·6) + 1/(5·4) + 1/(3·2) = 0.283333, n' = (1 − U)/(U·0.283333) = 7.5. Wilson of 0.68 of 7.5:
    # (0.68 + 0.256097 ± 1.959964·√(0.0290133 + 0.0170731))/1.512195.
    assert (found.low, found.high) == (pytest.approx(0.34079, abs=2e-4), pytest.approx(0.89727, abs=2e-4))


def test_kaplan_meier_against_scipy() -> None:
    solved, censored, of = [12, 7, 0, 5, 2], [2, 0, 3, 1, 0], 50
    times = np.repeat(range(1, 6), solved)
    # Cut short after iteration i: later than the solves of that iteration. Those left at the end are censored too.
    left = np.concatenate([np.repeat(range(1, 6), censored) + 0.5, np.full(of - sum(solved) - sum(censored), 6.0)])
    curve = ecdf(CensoredData(uncensored=times, right=left)).cdf
    for k in range(1, 6):
        assert solved_within(solved, of, censored, k=k).estimate == pytest.approx(float(curve.evaluate(k)), abs=1e-12)


def test_edges_of_isr() -> None:
    # Nobody and everybody solved: Wilson's 0 of 10 and 10 of 10.
    assert solved_within([0, 0], 10, k=2).high == pytest.approx(wilson(0, 10).high)
    everybody = solved_within([4, 6], 10, k=5)
    assert (everybody.estimate, everybody.low) == (1.0, pytest.approx(wilson(10, 10).low))
    # All that were left after the first iteration were cut short: nothing is known of the second.
    unknown = solved_within([4, 0], 10, [6, 0], k=2)
    assert (unknown.status, unknown.estimate) == (SurvivalStatus.NOT_OBSERVED, None)
    assert (unknown.all_failed, unknown.all_excluded) == (0.4, 1.0)
    assert solved_within([], 0, k=1).status is SurvivalStatus.NO_DATA
    with pytest.raises(ValueError, match="from 1"):
        solved_within([1], 2, k=0)


def test_unsolved_share_of_totals() -> None:
    # 10 at risk, 4 solved; 6, 3: U = 0.6·0.5. All solved at the first: nobody at risk later, and U stays 0.
    totals = np.array([[4.0, 3, 10, 6], [5, 0, 5, 0], [2, 0, 5, 0]])
    assert unsolved_share(totals)[:2].tolist() == [pytest.approx(0.3), 0.0]
    # Three left and none at risk: cut short, so nothing is known.
    assert np.isnan(unsolved_share(totals)[2])


@pytest.mark.parametrize(
    ("solved", "of", "iterations"),
    [
        ([3, 1, 0], 8, [1, 1, 1, 2, 4, 4, 4, 4]),
        ([3, 2, 0], 9, [1, 1, 1, 2, 2, 4, 4, 4, 4]),
        ([0, 0], 4, [3, 3, 3, 3]),
        ([4], 4, [1, 1, 1, 1]),
    ],
)
def test_published_median_is_that_of_the_list(solved: list[int], of: int, iterations: list[int]) -> None:
    assert median_iterations(np.array([*solved, of], dtype=float)) == np.median(iterations)
    assert np.isnan(median_iterations(np.array([0.0, 0])))


def test_kaplan_meier_median() -> None:
    # U: 6/8, then 6/8·3/6 = 0.375.
    assert median_survival(np.array([2.0, 3, 8, 6])) == 2
    # Exactly a half is reached; 3 of 8 is not.
    assert median_survival(np.array([4.0, 0, 8, 4])) == 1
    assert np.isnan(median_survival(np.array([3.0, 0, 8, 5])))


def test_pass_at_k_is_the_chance_over_all_choices() -> None:
    for n, c, k in itertools.product(range(1, 7), range(7), range(1, 7)):
        if c > n or k > n:
            continue
        chosen = list(itertools.combinations([True] * c + [False] * (n - c), k))
        assert pass_at_k(n, c, k=k) == pytest.approx(sum(map(any, chosen)) / len(chosen))


@pytest.mark.parametrize(("samples", "right", "k"), [(3, 1, 4), (3, 1, 0), (3, 4, 1), (3, -1, 1)])
def test_pass_at_k_refuses_what_cannot_be(samples: int, right: int, k: int) -> None:
    with pytest.raises(ValueError, match="samples"):
        pass_at_k(samples, right, k=k)
