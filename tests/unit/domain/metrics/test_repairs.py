"""Averages over repairs, worked out by hand: items count alike, tasks are what is independent."""

import numpy as np
import pytest

from app.domain.metrics.catalogue import measured
from app.domain.metrics.intervals import EstimateStatus, IntervalMethod
from app.domain.metrics.repairs import Repairs, repair_figures
from tests.fixtures.outcomes import outcomes_of, way


def repairs(tasks: list[int], precision: list[float]) -> Repairs:
    """Items of these tasks; every other figure is its precision rounded."""
    values = np.array(precision)
    return Repairs(np.array(tasks, dtype=np.int64), values, values.round(), values.round(), values > 0.5)


def test_the_interval_is_of_tasks() -> None:
    # Two items of one task, one each of two others: (0.6 + 0.6 + 0.5 + 0.4)/4 = 0.525.
    found = repair_figures(repairs([4, 4, 7, 9], [0.6, 0.6, 0.5, 0.4])).precision
    assert found.estimate == pytest.approx(0.525)
    assert (found.n, found.method) == (3, IntervalMethod.CLUSTER_T)
    # Without the first task 0.9/2, without the second 1.6/3, without the third 1.7/3; deviations from their mean
    # 0.516667: −0.066667, 0.016667, 0.05; Σd² = 0.0072222; se = √(2/3·Σd²) = 0.069389; t(2) = 4.30265.
    assert found.low == pytest.approx(0.525 - 4.30265 * 0.069389, abs=1e-5)
    assert found.high == pytest.approx(0.525 + 4.30265 * 0.069389, abs=1e-5)


def test_more_items_of_the_same_tasks_are_no_more_evidence() -> None:
    # Four tasks of one item: mean 0.8, deviations −0.1, 0, 0, 0.1; s = √(0.02/3) = 0.08165, se = s/2 = 0.040825;
    # t(3) = 3.18245.
    found = repair_figures(repairs([1, 2, 3, 4], [0.7, 0.8, 0.8, 0.9])).precision
    assert found.low == pytest.approx(0.8 - 3.18245 * 0.040825, abs=1e-5)
    assert found.high == pytest.approx(0.8 + 3.18245 * 0.040825, abs=1e-5)
    again = repair_figures(repairs([1, 2, 3, 4] * 2, [0.7, 0.8, 0.8, 0.9] * 2)).precision
    assert (again.low, again.high) == (pytest.approx(found.low), pytest.approx(found.high))
    assert again.n == 4


def test_without_items_and_with_one_task_there_is_no_interval() -> None:
    assert repair_figures(repairs([], [])).precision.status is EstimateStatus.UNDEFINED
    one = repair_figures(repairs([3, 3], [1.0, 0.0])).precision
    assert (one.estimate, one.low, one.status) == (0.5, None, EstimateStatus.NO_SPREAD)


def test_with_twenty_tasks_they_are_resampled() -> None:
    many = repair_figures(repairs(list(range(20)), [0.05 * index for index in range(20)])).precision
    assert many.method is IntervalMethod.BCA
    assert many.low is not None
    assert many.high is not None
    # 0, 0.05 … 0.95: mean 0.475, standard deviation 0.05·√(399/12) = 0.2883, by √20: 0.0645.
    assert many.low == pytest.approx(0.475 - 1.96 * 0.0645, abs=0.015)
    assert many.high == pytest.approx(0.475 + 1.96 * 0.0645, abs=0.015)


def test_the_catalogue_has_them_of_runs_that_repair_alone() -> None:
    outcomes = outcomes_of([way(0, 1)], 1)
    assert {slug: measured(outcomes, size=10)[slug] for slug in ("precision", "unit_pass")} == {
        "precision": {},
        "unit_pass": {},
    }
    object.__setattr__(outcomes, "repairs", repairs([1, 2], [1.0, 0.5]))
    found = measured(outcomes, size=10)
    assert (found["precision"][""].estimate, found["unit_pass"][""].estimate) == (0.75, 0.5)
