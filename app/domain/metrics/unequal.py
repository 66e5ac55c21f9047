r"""What the fits say of runs in which nothing declines: every problem keeps a chance of its own at every attempt.

With chances :math:`p \sim \mathrm{Beta}(a, b)` the share solved of those still unsolved is expected to be
:math:`a/(a + b + t)`: it falls, because the problems with large chances leave first. This is λ's caveat in numbers.
"""

from dataclasses import dataclass

import numpy as np

from app.domain.metrics.decay import FLAT, fitted_rates
from app.domain.metrics.hazard import MIN_SOLVES
from app.domain.metrics.intervals import Floats
from app.domain.metrics.likelihood import best, log_likelihood
from app.domain.metrics.outcomes import Bools, Ints

SLACK = 1.9207294
"""Half the 95 % quantile of χ² with one degree of freedom."""


@dataclass(frozen=True, slots=True)
class Unequal:
    """Simulated runs without decline, and how many of them look like one.

    Attributes
    ----------
    problems, attempts, repetitions
        Size of a run, and how many were simulated.
    shape
        a and b of the Beta distribution of the problems' chances.
    chance
        Its mean, a/(a + b): what an attempt at every problem, solved or not, would solve at any time.
    hazard, low, high
        S_t/N_t of the runs by attempt: median, 5 % and 95 % quantiles.
    rate, rate_positive
        The published λ: its median, and the share of runs where it is above 0, of those that have one.
    decay, decay_debugging
        The share of runs whose careful interval of λ lies above 0: of all attempts, of debugging alone.
    """

    problems: int
    attempts: int
    repetitions: int
    shape: tuple[float, float]
    chance: float
    hazard: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    rate: float
    rate_positive: float
    decay: float
    decay_debugging: float


def unequal_difficulty(
    problems: int, attempts: int, shape: tuple[float, float], *, repetitions: int, seed: int
) -> Unequal:
    """Simulate runs over problems with chances from Beta(a, b), drawn anew for each run and never changing in it.

    Raises ValueError where no run has a published λ: fewer than three attempts, or too few problems.
    """
    a, b = shape
    rng = np.random.default_rng(seed)
    # The attempt that solves a problem is geometric in its chance; one in 10¹² stands for never.
    solving = rng.geometric(np.maximum(rng.beta(a, b, (repetitions, problems)), 1e-12)) - 1
    runs, counts = np.unique(
        np.stack([(solving == t).sum(1) for t in range(attempts)], axis=1), axis=0, return_counts=True
    )
    weights = counts / repetitions
    at_risk = problems - np.cumsum(runs, axis=1) + runs
    hazards = np.where(at_risk > 0, runs / np.maximum(at_risk, 1), np.nan)
    low, middle, high = (_quantile(hazards, weights, q) for q in (0.05, 0.5, 0.95))
    rates = fitted_rates(runs.astype(float), at_risk.astype(float))
    known = ~np.isnan(rates)
    if not known.any():
        raise ValueError("no simulated run has three attempts that solved something")
    return Unequal(
        problems=problems,
        attempts=attempts,
        repetitions=repetitions,
        shape=shape,
        chance=a / (a + b),
        hazard=middle,
        low=low,
        high=high,
        rate=_quantile(rates[known, None], weights[known], 0.5)[0],
        rate_positive=float(weights[known][rates[known] > FLAT].sum() / weights[known].sum()),
        decay=_found_decay(runs, problems, weights, 0),
        decay_debugging=_found_decay(runs, problems, weights, 1),
    )


def fitted_counts(solved: Ints, problems: int, start: int) -> tuple[Bools, Floats, Floats]:
    """Which runs, of runs × attempts, have a careful fit from `start` on, and the S_t and N_t − S_t of those."""
    at_risk = problems - np.cumsum(solved, axis=1) + solved
    which = (solved[:, start:].sum(1) >= MIN_SOLVES) & (at_risk[:, start + 1] > 0)
    return which, solved[which, start:].astype(float), (at_risk - solved)[which, start:].astype(float)


def _found_decay(solved: Ints, problems: int, weights: Floats, start: int) -> float:
    which, s, f = fitted_counts(solved, problems, start)
    times = np.arange(solved.shape[1] - start, dtype=float)
    rates, largest = best(s, f, times, points=3)
    outside = largest - log_likelihood(s, f, 0 * times) > SLACK
    return float(weights[which][outside & (rates > 0)].sum())


def _quantile(values: Floats, weights: Floats, q: float) -> tuple[float, ...]:
    """Of each column, by the weights of its rows; NaN is left out."""
    found = []
    for column in values.T:
        known = ~np.isnan(column)
        order = np.argsort(column[known])
        total = np.cumsum(weights[known][order])
        found.append(float(column[known][order][np.searchsorted(total, q * total[-1])]))
    return tuple(found)
