"""Figures over the repairs of a run: macro averages of their scores, with intervals clustered by base task."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.metrics.intervals import RESAMPLES, Estimate, EstimateStatus, Floats, Resamples, resampled

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Repairs:
    """Scores of repairs in columns, one row an item (a buggy program).

    Attributes
    ----------
    task
        Of each item a number of its base task: items with equal ones are variants of one task, and not independent.
    precision, recall, f1
        Fractions of 1.
    unit_pass
        The repaired program passes all tests.
    """

    task: Ints
    precision: Floats
    recall: Floats
    f1: Floats
    unit_pass: Bools


@dataclass(frozen=True, slots=True)
class RepairFigures:
    """Macro averages over `items` of `tasks` base tasks; each estimate's `n` is the number of tasks.

    See `app.domain.metrics.precision.score_repair` for what is averaged.
    """

    items: int
    tasks: int
    precision: Estimate
    recall: Estimate
    f1: Estimate
    unit_pass: Estimate


def repair_figures(
    repairs: Repairs, *, seed: int = 0, size: int = RESAMPLES, draw: Callable[[int, int, int], Resamples] = Resamples
) -> RepairFigures:
    r"""Average scores over items, each item alike.

    .. math:: \bar x = \frac{1}{n} \sum_i x_i

    with the interval of a ratio of totals over base tasks, Σx/Σ1: items of one task are drawn, or left out, together.
    Undefined without items.

    Parameters
    ----------
    repairs
        One row an item.
    seed, size
        Of the resamples; with fewer than 20 tasks there are none, see `app.domain.metrics.intervals.resampled`.
    draw
        Gives so many tasks' resamples by seed and size: for several groups of items, one that keeps what it drew.

    Examples
    --------
    >>> two = Repairs(np.array([7, 9]), np.array([1.0, 0.5]), np.ones(2), np.ones(2), np.array([True, False]))
    >>> found = repair_figures(two)
    >>> found.precision.estimate, found.unit_pass.estimate, found.tasks
    (0.75, 0.5, 2)
    """
    tasks = len(np.unique(repairs.task))
    drawn = draw(tasks, seed, size)
    return RepairFigures(
        items=len(repairs.task),
        tasks=tasks,
        precision=macro_average(repairs, repairs.precision, drawn),
        recall=macro_average(repairs, repairs.recall, drawn),
        f1=macro_average(repairs, repairs.f1, drawn),
        unit_pass=macro_average(repairs, repairs.unit_pass, drawn),
    )


def macro_average(repairs: Repairs, values: Floats | Bools, drawn: Resamples) -> Estimate:
    """One of the averages: of `values`, one an item, within [0, 1]. `drawn`: resamples of as many units as tasks."""
    names, unit = np.unique(repairs.task, return_inverse=True)
    if not len(names):
        return Estimate(None, None, None, 0, EstimateStatus.UNDEFINED)
    rows = np.zeros((len(names), 2))
    np.add.at(rows, unit, np.column_stack([values.astype(np.float64), np.ones(len(unit))]))
    return resampled(rows, lambda totals: totals[..., 0] / totals[..., 1], drawn, limits=(0.0, 1.0))
