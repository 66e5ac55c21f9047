"""Intervals against published and hand-derived values, and against SciPy's own bootstrap."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from app.domain.metrics.intervals import EstimateStatus, Floats, IntervalMethod, Resamples, resampled, wilson


def test_published_example() -> None:
    # Newcombe (1998), Statistics in Medicine 17, table I, method 3: 81 of 263 gives 0.2553 to 0.3662.
    got = wilson(81, 263)
    assert got.estimate == pytest.approx(0.3080, abs=5e-5)
    assert (got.low, got.high) == (pytest.approx(0.2553, abs=5e-5), pytest.approx(0.3662, abs=5e-5))


def test_edges() -> None:
    # 0 of n: low 0 and high z²/(n + z²) = 3.8415/13.8415 = 0.27753 for n = 10; n of n mirrors it.
    none, every = wilson(0, 10), wilson(10, 10)
    assert (none.low, none.high) == (0.0, pytest.approx(0.27753, abs=1e-5))
    assert (every.low, every.high) == (pytest.approx(1 - 0.27753, abs=1e-5), 1.0)


def test_nothing_at_risk_is_undefined() -> None:
    got = wilson(0, 0)
    assert (got.estimate, got.low, got.high) == (None, None, None)


def test_impossible_counts() -> None:
    with pytest.raises(ValueError, match="not a proportion"):
        wilson(3, 2)


def mean(totals: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return totals[..., 0] / totals[..., 1]


def rows_of(values: list[float]) -> Floats:
    return np.array([[value, 1.0] for value in values]).reshape(-1, 2)


def test_fewer_than_twenty_units_get_students_t() -> None:
    # Mean of 1, 2, 3, 6: 3, s = √(14/3) = 2.1602, s/√4 = 1.0801, t(3) = 3.1824: 3 ± 3.4374.
    got = resampled(rows_of([1, 2, 3, 6]), mean, Resamples(4))
    assert (got.estimate, got.method, got.status) == (3.0, IntervalMethod.CLUSTER_T, EstimateStatus.OK)
    assert (got.low, got.high) == (pytest.approx(-0.4374, abs=1e-4), pytest.approx(6.4374, abs=1e-4))
    cut = resampled(rows_of([0, 0, 0, 1]), mean, Resamples(4), limits=(0, 1))
    # 0.25 ± 3.1824·0.25 = −0.5456 to 1.0456, cut to the range of a share.
    assert (cut.low, cut.high) == (0.0, 1.0)


def test_the_bootstrap_against_scipy() -> None:
    skewed = [float(value) for value in np.random.default_rng(7).exponential(size=60)]
    got = resampled(rows_of(skewed), mean, Resamples(60, seed=1, size=20_000))
    theirs = bootstrap((skewed,), np.mean, method="BCa", n_resamples=20_000, random_state=2).confidence_interval
    assert got.method is IntervalMethod.BCA
    # Two draws of 20,000: the ends agree to a few hundredths of the standard error, which is about 0.13.
    assert (got.low, got.high) == (pytest.approx(theirs.low, abs=0.01), pytest.approx(theirs.high, abs=0.01))
    # Skewed to the right: BCa reaches further up than down.
    assert got.high is not None
    assert got.low is not None
    assert got.estimate is not None
    assert got.high - got.estimate > 1.15 * (got.estimate - got.low)


def test_the_same_seed_gives_the_same_interval() -> None:
    rows = rows_of([float(value % 7) for value in range(50)])
    one, same, other = (resampled(rows, mean, Resamples(50, seed=seed)) for seed in (3, 3, 4))
    assert one == same
    assert one.estimate == other.estimate
    assert one.low != other.low
    assert Resamples(5, size=10).counts.sum(axis=1).tolist() == [5.0] * 10


@pytest.mark.parametrize(
    ("values", "status", "estimate"),
    [
        ([], EstimateStatus.UNDEFINED, None),
        ([2.0], EstimateStatus.NO_SPREAD, 2.0),
        ([2.0] * 5, EstimateStatus.NO_SPREAD, 2.0),
        ([2.0] * 40, EstimateStatus.NO_SPREAD, 2.0),
    ],
)
def test_degenerate_samples(values: list[float], status: EstimateStatus, estimate: float | None) -> None:
    got = resampled(rows_of(values), mean, Resamples(len(values)))
    assert (got.status, got.estimate, got.low, got.high, got.method) == (status, estimate, None, None, None)


def test_a_figure_that_most_resamples_lose_has_no_interval() -> None:
    # One problem of 40 has an occurrence: (39/40)^40 = 36 % of the resamples miss it, and the ratio is undefined there.
    rows = np.zeros((40, 2))
    rows[0] = [1, 2]
    got = resampled(rows, mean, Resamples(40))
    assert (got.status, got.estimate, got.low) == (EstimateStatus.UNSTABLE, 0.5, None)
    # With fewer than 20 the one left out takes the ratio with it.
    few = resampled(rows[:10], mean, Resamples(10))
    assert (few.status, few.estimate, few.low) == (EstimateStatus.UNSTABLE, 0.5, None)
