"""Runs in which nothing declines, against what is known of them by formula."""

import pytest

from app.domain.metrics.unequal import unequal_difficulty


def test_effectiveness_falls_as_the_formula_says() -> None:
    """E[h_t] = a/(a + b + t): 1/4, 1/6, 1/8, … of 10,000 problems, whose shares vary by under a point."""
    found = unequal_difficulty(10_000, 6, (0.5, 1.5), repetitions=50, seed=1)
    assert found.chance == 0.25
    assert found.hazard == pytest.approx([0.5 / (2 + t) for t in range(6)], abs=0.004)
    assert all(low < middle < high for low, middle, high in zip(found.low, found.hazard, found.high, strict=True))
    assert (found.decay, found.decay_debugging, found.rate_positive) == pytest.approx((1, 1, 1))


def test_problems_of_equal_difficulty_show_no_decay() -> None:
    """A 95 % interval lies above the true λ = 0 in 2.5 % of the runs: within four standard errors of 2,000 runs."""
    found = unequal_difficulty(1000, 6, (1e6, 3e6), repetitions=2000, seed=1)
    assert found.hazard == pytest.approx([0.25] * 6, abs=0.005)
    assert found.decay == pytest.approx(0.025, abs=0.014)
    assert found.decay_debugging == pytest.approx(0.025, abs=0.014)
    assert found.rate == pytest.approx(0, abs=0.01)


def test_too_few_attempts_for_a_rate_are_refused() -> None:
    with pytest.raises(ValueError, match="three attempts"):
        unequal_difficulty(50, 2, (1, 1), repetitions=10, seed=0)
