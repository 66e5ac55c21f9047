"""Wilson's interval against published and hand-derived values."""

import pytest

from app.domain.metrics.intervals import wilson


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
