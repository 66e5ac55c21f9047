"""Intervals: for proportions, and for whatever is computed from a sum over problems."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""From totals, … × columns, to values, …; NaN where the totals leave it undefined."""

RESAMPLES = 2000
FEWEST_FOR_RESAMPLING = 20
"""Of fewer independent units the bootstrap's intervals are too short; the jackknife's with Student's t are not."""
_MOST_UNDEFINED = 0.05
"""Share of resamples that may leave a statistic undefined before there is no interval."""


class EstimateStatus(StrEnum):
    """Whether an estimate and its interval exist, and if not, why."""

    OK = "ok"
    UNDEFINED = "undefined"
    """Nothing to measure: no estimate."""
    UNKNOWN = "unknown"
    """A quantity it rests on was not recorded: no estimate."""
    NO_SPREAD = "no_spread"
    """One unit alone, or every resample gives the same value or lies on one side: no interval."""
    UNSTABLE = "unstable"
    """Too many resamples leave it undefined: no interval."""
    NOT_REACHED = "not_reached"
    """It lies beyond what was attempted: no estimate."""
    ONE_SIDED = "one_sided"
    """The interval has one end alone, and perhaps no finite value is best."""


class IntervalMethod(StrEnum):
    """How an interval was computed."""

    WILSON = "wilson"
    BCA = "bca"
    CLUSTER_T = "cluster_t"
    PROFILE = "profile"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval.

    Attributes
    ----------
    estimate, low, high
        None where `status` says that there is none.
    n
        Independent units that it rests on: problems, or clusters of them.
    method
        None without an interval.
    """

    estimate: float | None
    low: float | None
    high: float | None
    n: int
    status: EstimateStatus
    method: IntervalMethod | None = None


@dataclass(frozen=True, slots=True)
class Proportion:
    """A share with its interval. Fractions of 1; all three are None where nothing was at risk (`n` = 0)."""

    successes: int
    n: int
    estimate: float | None
    low: float | None
    high: float | None


def wilson(successes: int, n: int, *, confidence: float = 0.95) -> Proportion:
    r"""Wilson's score interval.

    .. math:: \frac{\hat p + z^2/2n \pm z\sqrt{\hat p(1-\hat p)/n + z^2/4n^2}}{1 + z^2/n}

    Parameters
    ----------
    successes, n
        Counts, 0 ≤ successes ≤ n.
    confidence
        Coverage in (0, 1).

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA 22, 209–212.

    Examples
    --------
    >>> w = wilson(8, 10)
    >>> round(w.low, 4), round(w.high, 4)
    (0.4902, 0.9433)
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} are not a proportion")
    if n == 0:
        return Proportion(0, 0, None, None, None)
    low, high = wilson_bounds(successes / n, n, confidence=confidence)
    return Proportion(successes, n, successes / n, low, high)


def wilson_bounds(share: float, n: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's bounds of a share of `n` > 0, which need not be whole: an effective sample size."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # At the edges the two terms are equal in exact arithmetic; rounding would leave ±1e-17.
    return 0.0 if share == 0 else (centre - spread) / scale, 1.0 if share == 1 else (centre + spread) / scale


@dataclass(frozen=True)
class Resamples:
    """Resamples of n independent units, drawn once for all figures of a run.

    Attributes
    ----------
    n
        Units.
    seed
        The same seed draws the same resamples.
    size
        How many there are.

    Examples
    --------
    >>> Resamples(3, seed=0, size=2).counts.sum(axis=1)
    array([3., 3.])
    """

    n: int
    seed: int = 0
    size: int = RESAMPLES

    @cached_property
    def counts(self) -> Floats:
        """How often each resample holds each unit, resamples × units."""
        drawn = np.random.default_rng(self.seed).integers(self.n, size=(self.size, self.n))
        places = drawn + self.n * np.arange(self.size)[:, None]
        return np.bincount(places.ravel(), minlength=self.size * self.n).reshape(self.size, self.n).astype(np.float64)


def resampled(
    rows: Floats,
    statistic: Statistic,
    resamples: Resamples,
    *,
    limits: tuple[float, float] = (-math.inf, math.inf),
    confidence: float = 0.95,
) -> Estimate:
    r"""A statistic of the totals of independent units, with its bias-corrected and accelerated bootstrap interval.

    .. math:: \alpha_\pm = \Phi\left(z_0 + \frac{z_0 \pm z}{1 - a (z_0 \pm z)}\right)

    are the quantiles of the resampled values that bound it, where Φ(z₀) is the share of them below the estimate (half
    of those equal to it) and a = Σd³/(6(Σd²)^{3/2}) for the jackknife's deviations d. With fewer than
    `FEWEST_FOR_RESAMPLING` units it is θ ± t·√((n−1)/n·Σd²) with n − 1 degrees of freedom: for a mean, the usual
    interval of cluster means.

    Parameters
    ----------
    rows
        Units × columns. A unit is a problem, or a cluster of variants of one base task.
    statistic
        From totals over units to the value, vectorised; NaN is undefined.
    resamples
        Of as many units as there are rows.
    limits
        The range of the statistic, to which the t interval is cut.
    confidence
        Coverage in (0, 1).

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. JASA 82, 171–185.

    Examples
    --------
    >>> rows = np.array([[1.0, 1], [2, 1], [3, 1]])
    >>> mean = resampled(rows, lambda totals: totals[..., 0] / totals[..., 1], Resamples(3))
    >>> mean.estimate, round(mean.low, 3), round(mean.high, 3), mean.method.value
    (2.0, -0.484, 4.484, 'cluster_t')
    """
    n = len(rows)
    totals = rows.sum(0)
    value = float(statistic(totals)) if n else math.nan
    if math.isnan(value):
        return Estimate(None, None, None, n, EstimateStatus.UNDEFINED)
    left_out = statistic(totals - rows) if n > 1 else np.array([])
    left_out = left_out[~np.isnan(left_out)]
    if n < FEWEST_FOR_RESAMPLING:
        return _cluster_t(value, left_out, n, limits, confidence)
    values = statistic(resamples.counts @ rows)
    defined = np.sort(values[~np.isnan(values)])
    if len(defined) < (1 - _MOST_UNDEFINED) * len(values):
        return Estimate(value, None, None, n, EstimateStatus.UNSTABLE)
    # Sums in another order differ by rounding: values as near as that are the estimate itself.
    near = 1e-12 * max(1.0, abs(value))
    below = np.searchsorted(defined, value - near, "left")
    share = (below + np.searchsorted(defined, value + near, "right")) / (2 * len(defined))
    if not 0 < share < 1 or defined[-1] - defined[0] <= near:
        return Estimate(value, None, None, n, EstimateStatus.NO_SPREAD)
    normal = NormalDist()
    away = left_out.mean() - left_out
    squares = float((away**2).sum())
    acceleration = float((away**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    bias, z = normal.inv_cdf(float(share)), normal.inv_cdf((1 + confidence) / 2)
    ends = [normal.cdf(bias + (bias + side) / (1 - acceleration * (bias + side))) for side in (-z, z)]
    low, high = (float(bound) for bound in np.quantile(defined, ends))
    return Estimate(value, low, high, n, EstimateStatus.OK, IntervalMethod.BCA)


def _cluster_t(value: float, left_out: Floats, n: int, limits: tuple[float, float], confidence: float) -> Estimate:
    """θ ± t·se by the jackknife over n units."""
    away = left_out - left_out.mean() if len(left_out) > 1 else np.zeros(1)
    squares = float((away**2).sum())
    if len(left_out) < n:
        return Estimate(value, None, None, n, EstimateStatus.NO_SPREAD if n < 2 else EstimateStatus.UNSTABLE)
    if squares <= (1e-12 * max(1.0, abs(value))) ** 2:
        return Estimate(value, None, None, n, EstimateStatus.NO_SPREAD)
    spread = float(stdtrit(n - 1, (1 + confidence) / 2)) * math.sqrt((n - 1) / n * squares)
    low, high = max(limits[0], value - spread), min(limits[1], value + spread)
    return Estimate(value, low, high, n, EstimateStatus.OK, IntervalMethod.CLUSTER_T)
