"""The prediction interval of a sum against values worked out by hand."""

import pytest

from app.domain.metrics.prediction import predicted_total


def test_by_hand() -> None:
    # Mean 2, s² = ((−1)² + 0² + 1²)/2 = 1, and t = 4.3027 for two degrees of freedom (any table).
    # For 6 further values: 12 ± 4.3027·1·√(6 + 36/3) = 12 ± 4.3027·4.2426 = 12 ± 18.255.
    low, high = predicted_total([1.0, 2.0, 3.0], 6)
    assert (low, high) == (pytest.approx(-6.255, abs=1e-3), pytest.approx(30.255, abs=1e-3))


def test_equal_values_leave_no_doubt() -> None:
    assert predicted_total([2.0, 2.0, 2.0], 10) == (20.0, 20.0)


def test_one_value_has_no_spread() -> None:
    with pytest.raises(ValueError, match="1 values"):
        predicted_total([1.0], 3)
