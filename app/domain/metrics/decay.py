r"""The Debugging Decay Index as published.

Attempts are numbered t = 0, 1, 2, …; S_t problems are solved for the first time at t, N_t are at risk
(unsolved before t and not censored). Effectiveness is I_t = 100·S_t/N_t, percent of those still unsolved.

References
----------
The Debugging Decay Index: Rethinking Debugging Strategies for Code LLMs, arXiv:2506.18403.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from scipy.optimize import OptimizeWarning, curve_fit

from app.domain.metrics.intervals import Floats, Proportion, wilson

THETAS = (50, 80, 90, 95, 99)
MIN_POINTS = 3
"""Fewer positive points than this give no λ (the paper's rule)."""
FLAT = 1e-5
"""λ below this is 0 for every purpose: a half-life of 70,000 attempts. Least squares of few counts stop short of 0."""


class DecayStatus(StrEnum):
    """Whether the published fit exists, and if not, why."""

    FITTED = "fitted"
    TOO_FEW_POINTS = "too_few_points"
    FLAT = "flat"
    """λ = 0: no decline; half-life and t_θ are not reached."""
    NOT_CONVERGED = "not_converged"
    NO_DATA = "no_data"


class Quality(StrEnum):
    """The paper's words for R²."""

    EXCELLENT = "excellent"
    GOOD = "good"
    POOR = "poor"


@dataclass(frozen=True, slots=True)
class RiskSet:
    """S_t and N_t of one attempt."""

    attempt: int
    solved: int
    at_risk: int

    @property
    def effectiveness_percent(self) -> float:
        """I_t = 100·S_t/N_t, rounded to four decimals as published. `at_risk` is positive by construction."""
        return round(100 * self.solved / self.at_risk, 4)

    @property
    def hazard(self) -> Proportion:
        """S_t/N_t with its Wilson interval."""
        return wilson(self.solved, self.at_risk)


@dataclass(frozen=True, slots=True)
class Decay:
    """The published index of one run.

    Attributes
    ----------
    points
        One entry an attempt with N_t > 0.
    e0, final_accuracy
        S_0/N and ΣS_t/N as fractions with Wilson intervals.
    lambda_, intercept
        Fitted λ (per attempt) and a (percent); None unless `status` is `fitted` or `flat`.
    r_squared
        On the fitted points; None where undefined (no fit, or all points equal).
    quality
        The paper's word for R²; None with exactly three points, where R² has one degree of freedom.
    half_life
        ln 2/λ in attempts; None where not reached.
    t_theta
        θ (percent) → attempts until effectiveness fell by θ; None where not reached.
    """

    points: tuple[RiskSet, ...]
    n: int
    status: DecayStatus
    e0: Proportion
    final_accuracy: Proportion
    lambda_: float | None = None
    intercept: float | None = None
    r_squared: float | None = None
    quality: Quality | None = None
    half_life: float | None = None
    t_theta: Mapping[float, int | None] | None = None
    fitted_points: int = 0

    @property
    def gain(self) -> float | None:
        """A − E0, the share of problems won by debugging; None without data."""
        if self.final_accuracy.estimate is None or self.e0.estimate is None:
            return None
        return self.final_accuracy.estimate - self.e0.estimate


def risk_sets(solved: Sequence[int], of: int, censored: Sequence[int] = ()) -> tuple[RiskSet, ...]:
    """S_t and N_t for every attempt until nobody is at risk.

    Parameters
    ----------
    solved
        Problems solved for the first time at t = 0, 1, ….
    of
        Problems with at least one completed attempt (N).
    censored
        Problems that left unsolved *after* completing attempt t: cut short, or stopped on visible tests.

    Raises
    ------
    ValueError
        On negative counts or more problems leaving than there are.
    """
    if of < 0 or any(count < 0 for count in (*solved, *censored)):
        raise ValueError("counts of problems must not be negative")
    if sum(solved) + sum(censored) > of:
        raise ValueError(f"{sum(solved)} solved and {sum(censored)} censored of {of} problems")
    sets = []
    at_risk = of
    for attempt, count in enumerate(solved):
        if at_risk == 0:
            break
        if count > at_risk:
            raise ValueError(f"attempt {attempt}: {count} solved of {at_risk} at risk")
        sets.append(RiskSet(attempt, count, at_risk))
        at_risk -= count + (censored[attempt] if attempt < len(censored) else 0)
    return tuple(sets)


def decay(solved: Sequence[int], of: int, censored: Sequence[int] = (), *, thetas: Sequence[float] = THETAS) -> Decay:
    r"""Fit the published index.

    .. math:: I_t = a\,e^{-\lambda t}

    by least squares on the points with I_t > 0, each keeping its t (t = 0 included), from the start (first
    positive value, 0.5), bounds [0, ∞), at most 10,000 evaluations. t_θ = ceil(ln(100/(100−θ))/λ − 1e-9).

    Parameters
    ----------
    solved, of, censored
        As for `risk_sets`.
    thetas
        Percentages in (0, 100).

    Examples
    --------
    >>> d = decay([84, 17, 4, 1, 3, 0], 164)
    >>> round(d.lambda_, 3), round(d.r_squared, 3), d.t_theta[50]
    (0.931, 0.987, 1)
    """
    points = risk_sets(solved, of, censored)
    first = solved[0] if points else 0
    unfitted = Decay(points, of, DecayStatus.NO_DATA, wilson(first, of), wilson(sum(solved), of))
    if not points:
        return unfitted
    kept = [(p.attempt, p.effectiveness_percent) for p in points if p.solved > 0]
    if len(kept) < MIN_POINTS:
        return replace(unfitted, status=DecayStatus.TOO_FEW_POINTS, fitted_points=len(kept))
    t, percent = (np.array(column, dtype=float) for column in zip(*kept, strict=True))
    try:
        with warnings.catch_warnings():
            # Three exact points leave no residual to estimate a covariance from; only the optimum is used.
            warnings.simplefilter("ignore", OptimizeWarning)
            (a, rate), _ = curve_fit(_exponential, t, percent, p0=(percent[0], 0.5), bounds=(0, np.inf), maxfev=10_000)
    except RuntimeError:
        return replace(unfitted, status=DecayStatus.NOT_CONVERGED, fitted_points=len(kept))
    residual = float(np.sum((percent - _exponential(t, a, rate)) ** 2))
    total = float(np.sum((percent - percent.mean()) ** 2))
    r_squared = 1 - residual / total if total > 0 else None
    flat = rate < FLAT
    return replace(
        unfitted,
        status=DecayStatus.FLAT if flat else DecayStatus.FITTED,
        lambda_=0.0 if flat else float(rate),
        intercept=float(a),
        r_squared=r_squared,
        quality=_quality(r_squared) if len(kept) > MIN_POINTS and r_squared is not None else None,
        half_life=None if flat else math.log(2) / float(rate),
        t_theta={theta: None if flat else attempts_to_lose(theta, float(rate)) for theta in thetas},
        fitted_points=len(kept),
    )


def attempts_to_lose(theta: float, lambda_: float) -> int:
    """t_θ: attempts until effectiveness has fallen by `theta` percent at the positive rate `lambda_`.

    Examples
    --------
    >>> attempts_to_lose(50, 0.931)
    1
    """
    if not 0 < theta < 100:
        raise ValueError(f"θ must be between 0 and 100 percent, not {theta}")
    return math.ceil(math.log(100 / (100 - theta)) / lambda_ - 1e-9)


def fitted_rates(solved: Floats, at_risk: Floats) -> Floats:
    """λ of the published fit for many sets of counts at once, which `curve_fit` cannot do; NaN with too few points.

    For given λ the best a is known, so the least squares are sought along λ alone: over its whole range, then closer
    and closer round the best.

    Parameters
    ----------
    solved, at_risk
        S_t and N_t, … × attempts; averages over samples need not be whole.
    """
    kept = (solved > 0) & (at_risk > 0)
    percent = np.where(kept, np.round(100 * solved / np.where(at_risk > 0, at_risk, 1), 4), 0.0)
    # From the first kept point on: a common factor changes no fit, and cannot underflow.
    t = np.arange(solved.shape[-1]) - kept.argmax(-1)[..., None]
    tried = np.broadcast_to(np.concatenate(([0.0], np.geomspace(1e-3, 30, 60))), (*solved.shape[:-1], 61))
    fractions = np.linspace(0, 1, 9)
    for _ in range(8):
        curves = np.where(kept[..., None, :], np.exp(-tried[..., None] * np.maximum(t, 0)[..., None, :]), 0.0)
        explained = (curves * percent[..., None, :]).sum(-1) ** 2 / np.maximum((curves**2).sum(-1), 1e-300)
        best = explained.argmax(-1)[..., None]
        rates = np.take_along_axis(tried, best, -1)
        low, high = (np.take_along_axis(tried, np.clip(best + step, 0, tried.shape[-1] - 1), -1) for step in (-1, 1))
        tried = low + (high - low) * fractions
    return np.where(kept.sum(-1) >= MIN_POINTS, rates[..., 0], np.nan)


def _exponential(t: Floats, a: float, rate: float) -> Floats:
    return a * np.exp(-rate * t)


def _quality(r_squared: float) -> Quality:
    if r_squared >= 0.9:
        return Quality.EXCELLENT
    return Quality.GOOD if r_squared >= 0.7 else Quality.POOR
