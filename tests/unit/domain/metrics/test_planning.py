"""What a plan promises, against simulated runs."""

import numpy as np
import pytest
from scipy.stats import chi2

from app.domain.metrics.likelihood import best, log_likelihood
from app.domain.metrics.planning import smallest_rate


@pytest.mark.parametrize(("problems", "first", "attempts", "start"), [(164, 0.5, 6, 0), (400, 0.3, 8, 1)])
def test_the_smallest_rate_is_found_with_the_power_stated(
    problems: int, first: float, attempts: int, start: int
) -> None:
    rate = smallest_rate(problems, first, attempts, start=start)
    assert rate is not None
    rng, runs = np.random.default_rng(11), 2000
    left, solved, failed = np.full(runs, problems), np.zeros((runs, attempts)), np.zeros((runs, attempts))
    for t in range(attempts):
        solved[:, t] = rng.binomial(left, first * np.exp(-rate * t))
        left = left - solved[:, t].astype(int)
        failed[:, t] = left
    s, f, times = solved[:, start:], failed[:, start:], np.arange(attempts - start, dtype=float)
    rates, largest = best(s, f, times, points=3)
    found = (2 * (largest - log_likelihood(s, f, 0 * times)) > chi2.ppf(0.95, 1)) & (rates > 0)
    # 2,000 runs: three standard errors are 2.7 points; the approximation is allowed the rest.
    assert found.mean() == pytest.approx(0.8, abs=0.05)


def test_more_of_anything_finds_smaller_rates() -> None:
    few, many = smallest_rate(100, 0.4, 6), smallest_rate(400, 0.4, 6)
    longer, alone = smallest_rate(100, 0.4, 10), smallest_rate(100, 0.4, 6, start=1)
    assert few is not None
    assert many is not None
    assert longer is not None
    assert alone is not None
    assert many < few
    assert longer < few < alone
    # Four times the problems halve the standard error; the smallest rate falls a little less, as it moves as well.
    assert 0.4 < many / few < 0.6


def test_a_small_rate_is_as_far_from_0_as_the_counts_allow() -> None:
    # Of 10^6 problems half are left after each attempt, so that the weights N_t·h/(1 − h) are 10^6·2^−t. Of them
    # Σw = 1.96875, Σwt = 1.78125 and Σwt² = 4.40625 million; the slope's standard error is
    # (4.40625 − 1.78125²/1.96875)^−½ / 1000 = 5.982e-4, and 5 % with power 80 % ask for 1.95996 + 0.84162 of those.
    assert smallest_rate(1_000_000, 0.5, 6) == pytest.approx(2.80158 * 5.982e-4, rel=0.005)


def test_what_cannot_be_found() -> None:
    assert smallest_rate(164, 0.5, 1) is None
    assert smallest_rate(164, 0.5, 2, start=1) is None
    # Of two problems one is solved at once: nothing can be told from the other.
    assert smallest_rate(2, 0.5, 6) is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        smallest_rate(10, 1.0, 6)
