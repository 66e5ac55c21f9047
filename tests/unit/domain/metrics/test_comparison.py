"""Paired comparison against published tables, enumeration, and cases worked out by hand."""

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from app.domain.metrics.archetypes import Archetype, archetype, described, medians
from app.domain.metrics.comparison import every_pair, holm, paired, smallest_difference, tie_groups
from app.domain.metrics.decay import decay


@pytest.mark.parametrize(
    ("counts", "difference", "low", "high"),
    [
        # Newcombe (1998), table of examples, method 10.
        ((36, 12, 2, 0), 0.2, 0.0569, 0.3404),
        # Bentur et al. (2009) in Fagerland, Lydersen and Laake, Statistical Analysis of Contingency Tables, chapter 8.
        ((1, 1, 7, 12), -0.2857, -0.507, -0.026),
    ],
)
def test_newcombe_against_published_tables(
    counts: tuple[int, int, int, int], difference: float, low: float, high: float
) -> None:
    found = paired(*counts)
    assert found.difference == pytest.approx(difference, abs=5e-5)
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))


def test_newcombe_by_hand() -> None:
    # Without overlap in either direction, 5 of 10 against the other 5: φ = (0·0 − 5·5)/25 = −1, no correction, so both
    # reaches are the sum of the two Wilson arms. Wilson of 5/10: 0.5 ± 0.26341 (z² = 3.84146: the half width is
    # z·√(0.025 + 0.0096036)/1.384146 = 1.95996·0.186021/1.384146).
    found = paired(0, 5, 5, 0)
    assert (found.low, found.high) == (pytest.approx(-0.52682, abs=2e-5), pytest.approx(0.52682, abs=2e-5))
    # Swapping the runs mirrors everything.
    one, other = paired(30, 9, 4, 20), paired(30, 4, 9, 20)
    assert (one.low, one.high) == (pytest.approx(-(other.high or 0)), pytest.approx(-(other.low or 0)))
    assert (one.p_exact, one.p_mid) == (other.p_exact, other.p_mid)


@pytest.mark.parametrize(("gained", "lost"), [(0, 5), (3, 3), (2, 9), (16, 6), (40, 20)])
def test_mcnemar_against_the_sum_over_coin_tosses(gained: int, lost: int) -> None:
    n, fewer = gained + lost, min(gained, lost)
    chances = [math.comb(n, k) / 2**n for k in range(n + 1)]
    exact = min(1.0, 2 * sum(chances[: fewer + 1]))
    mid = 1 - chances[fewer] / 2 if gained == lost else exact - chances[fewer]
    found = paired(5, gained, lost, 5)
    assert (found.p_exact, found.p_mid) == (pytest.approx(exact, rel=1e-12), pytest.approx(mid, rel=1e-12))


def test_degenerate_tables() -> None:
    nothing = paired(0, 0, 0, 0)
    assert (nothing.n, nothing.difference, nothing.low, nothing.high) == (0, None, None, None)
    alike = paired(10, 0, 0, 0)
    # Both 10 of 10: φ is undefined and taken as 0; each Wilson arm is 0.27753, below 0 by the first run's own.
    assert (alike.difference, alike.p_exact, alike.p_mid) == (0.0, 1.0, 1.0)
    assert (alike.low, alike.high) == (pytest.approx(-0.27753, abs=1e-5), pytest.approx(0.27753, abs=1e-5))
    with pytest.raises(ValueError, match="negative"):
        paired(1, -1, 0, 0)


def test_holm_by_hand() -> None:
    # Sorted: 0.005·4 = 0.02, 0.01·3 = 0.03, 0.03·2 = 0.06, 0.04·1 → not below 0.06.
    assert holm([0.04, 0.01, 0.03, 0.005]) == pytest.approx((0.06, 0.03, 0.06, 0.02))
    assert holm([0.9, 0.8]) == (1.0, 1.0)
    assert holm([]) == ()


def power_of_mid_p(n: int, discordant: float, difference: float) -> float:
    """By enumeration: P(mid-p ≤ 0.05) over the discordant problems and how they fall."""
    share = (1 + difference / discordant) / 2
    total = 0.0
    for d in range(n + 1):
        k = np.arange(d + 1)
        fewer = np.minimum(k, d - k)
        p = 2 * binom.cdf(fewer, d, 0.5) - binom.pmf(fewer, d, 0.5)
        total += float(binom.pmf(d, n, discordant) * binom.pmf(k, d, share)[p <= 0.05].sum())
    return total


@pytest.mark.parametrize(("n", "discordant"), [(164, 0.2), (164, 0.4), (400, 0.1)])
def test_the_smallest_difference_is_found_with_the_power_stated(n: int, discordant: float) -> None:
    delta = smallest_difference(n, discordant)
    assert delta is not None
    assert power_of_mid_p(n, discordant, delta) == pytest.approx(0.8, abs=0.03)


def test_the_smallest_difference_by_hand() -> None:
    # All discordant problems on one side, ψ = 1 = δ: n = z_α²·1/1, so from z² = 3.84 problems on it can be found …
    assert smallest_difference(4, 1.0) is not None
    assert smallest_difference(3, 1.0) is None
    # … and 1,000,000 problems with ψ = 0.25: δ ≈ (1.95996 + 0.84162)·0.5/1000.
    assert smallest_difference(1_000_000, 0.25) == pytest.approx(0.00140079, rel=1e-4)


def groups_of(solved: list[npt.NDArray[np.bool_]]) -> tuple[int, ...]:
    """Where every problem ended."""
    runs = np.array(solved)
    return tie_groups(runs, np.ones_like(runs))


def test_every_pair_is_tested_over_the_problems_of_both() -> None:
    # Twelve problems; the second run solves none, the third ended on the last four alone and solved those.
    one, none, last = (
        {p: p < 10 for p in range(12)},
        dict.fromkeys(range(12), False),
        dict.fromkeys(range(8, 12), True),
    )
    first, second, third = every_pair([one, none, last])
    assert (first.match.gained, first.match.lost, first.left_out) == (tuple(range(10)), (), 0)
    # Ten heads of ten: 2/2^10, less 2^-10; two of four: mid-p 2·¼ − ¼; four of four: 2/16 − 1/16. Holm over three.
    assert (first.match.paired.p_mid, first.p_holm) == (pytest.approx(2**-10), pytest.approx(3 * 2**-10))
    assert (second.match.lost, second.match.paired.both, second.left_out) == ((10, 11), 2, 8)
    assert (second.match.paired.p_mid, third.match.paired.p_mid) == (pytest.approx(1 / 4), pytest.approx(1 / 16))
    assert (second.p_holm, third.p_holm) == (pytest.approx(1 / 4), pytest.approx(1 / 8))
    assert every_pair([one]) == ()


def test_tie_groups_leave_out_what_either_did_not_end() -> None:
    problems = np.arange(40)
    solved = np.array([problems < 30, problems < 30, problems < 10])
    ended = np.array([problems < 40, problems < 40, problems < 10])
    # All 10 that the third ended: it is the best, and the others, which solved those 10 too, are not told from it.
    assert tie_groups(solved, ended) == (0, 0, 0)
    # Had it ended on the others without solving them, 20 problems would tell them apart.
    assert tie_groups(solved, np.ones_like(solved)) == (0, 0, 1)


def test_tie_groups() -> None:
    problems = np.arange(40)
    # 40 solved, 38, 20, 18: the first two differ in two problems, the last two too, the others in 18 or more.
    runs = [problems < 20, problems < 40, problems < 18, problems < 38]
    assert groups_of(runs) == (1, 0, 1, 0)
    for order in itertools.permutations(range(4)):
        assert groups_of([runs[run] for run in order]) == tuple([1, 0, 1, 0][run] for run in order)


def test_tie_groups_test_problem_by_problem() -> None:
    problems = np.arange(100)
    # 60 against 50 solved. Nested, ten problems tell them apart and all for the first: p = 2^-9. Spread over other
    # problems, 50 against 40 tell them apart: P(X ≤ 40 | 90) is 0.17 and no evidence. The counts alone would be equal.
    assert groups_of([problems < 60, problems < 50]) == (0, 1)
    assert groups_of([problems < 60, problems >= 50]) == (0, 0)
    # Holm over 3 pairs and more keeps what is clear.
    assert groups_of([problems < 60, problems < 60, problems < 50]) == (0, 0, 1)
    assert groups_of([]) == ()
    assert groups_of([problems[:0] > 0] * 3) == (0, 0, 0)


def test_archetypes_and_their_cut_offs() -> None:
    runs = [
        decay([256, 64, 24], 512),  # a half, a quarter, an eighth: E0 0.5, λ = ln 2
        decay([8, 12, 18], 160),  # rises: λ = 0 explains nothing, R² is 0
        decay([256, 32, 7], 512),  # a half, an eighth, 7 of 224: E0 0.5, λ = ln 4
        decay([5, 0, 0], 160),  # no fit
        decay([800, 360, 189], 2000),  # 0.4, 0.3, 189 of 840: E0 0.4, λ = ln(4/3)
    ]
    cuts = medians(place for run in runs if (place := described(run)) is not None)
    assert cuts is not None
    assert (cuts.e0, cuts.lambda_) == (0.5, pytest.approx(math.log(2), abs=1e-6))
    high, low = Archetype.HIGH_E0_HIGH_LAMBDA, Archetype.LOW_E0_LOW_LAMBDA
    assert [archetype(run, cuts) for run in runs] == [high, None, high, None, low]
    assert medians([]) is None
