r"""When problems are solved: ISR@k, medians of the solving iteration, pass@k.

Attempt t is iteration t + 1. d_i problems are solved at iteration i, of r_i that are at risk: unsolved before it, and
not censored. The Kaplan–Meier share still unsolved after k iterations is

.. math:: U(k) = \prod_{i \le k} \left(1 - \frac{d_i}{r_i}\right)

Censoring is cutting short by budget, cancellation or infrastructure. A problem that ended unsolved by its own rules is
none: it stays unsolved.

References
----------
Kaplan, E. L. and Meier, P. (1958). Nonparametric estimation from incomplete observations. JASA 53, 457–481.
Chen, M. et al. (2021). Evaluating large language models trained on code, arXiv:2107.03374, for pass@k.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from app.domain.metrics.decay import risk_sets
from app.domain.metrics.intervals import Floats, wilson_bounds


class SurvivalStatus(StrEnum):
    """Whether ISR@k exists, and if not, why."""

    OK = "ok"
    NO_DATA = "no_data"
    NOT_OBSERVED = "not_observed"
    """Everybody unsolved was censored before that iteration."""


@dataclass(frozen=True, slots=True)
class SolvedWithin:
    """ISR@k: the share solved within k iterations.

    Attributes
    ----------
    estimate, low, high
        By Kaplan and Meier; without censoring simply the share, with Wilson's interval. None with `status` not ok.
    all_failed, all_excluded
        The share if every problem censored before k had never been solved, and if it had never been there; they bound
        what is known without assuming that censoring says nothing about a problem. None without problems.
    n, censored
        Problems, and those censored before completing k iterations.
    """

    k: int
    status: SurvivalStatus
    estimate: float | None
    low: float | None
    high: float | None
    all_failed: float | None
    all_excluded: float | None
    n: int
    censored: int


def solved_within(
    solved: Sequence[int], of: int, censored: Sequence[int] = (), *, k: int, confidence: float = 0.95
) -> SolvedWithin:
    r"""ISR@k = 1 − U(k).

    Its interval is Wilson's for the effective number of problems n' = U(1 − U)/V with Greenwood's variance
    V = U²Σd_i/(r_i(r_i − d_i)); without censoring n' = n. Where nobody or everybody was solved, n' is the number not
    censored before k.

    Parameters
    ----------
    solved, of, censored
        As for `app.domain.metrics.decay.risk_sets`, `censored` without problems that ended by their own rules.
    k
        Iterations, at least 1.

    References
    ----------
    Rothman, K. J. (1978). Estimation of confidence limits for the cumulative probability of survival in life table
    analysis. J. Chronic Diseases 31, 557–560.

    Examples
    --------
    >>> found = solved_within([5, 2], 10, [1, 0], k=2)
    >>> found.estimate, found.all_failed, round(found.all_excluded, 3)
    (0.75, 0.7, 0.778)
    """
    if k < 1:
        raise ValueError(f"iterations are counted from 1, not {k}")
    if of == 0:
        return SolvedWithin(k, SurvivalStatus.NO_DATA, None, None, None, None, None, 0, 0)
    points = risk_sets([*solved, *([0] * (k - len(solved)))], of, censored)[:k]
    total, left = sum(solved[:k]), sum(censored[: k - 1])
    all_failed = total / of
    all_excluded = total / (of - left) if of > left else None
    unsolved, greenwood = 1.0, 0.0
    for point in points:
        unsolved *= 1 - point.solved / point.at_risk
        if point.solved < point.at_risk:
            greenwood += point.solved / (point.at_risk * (point.at_risk - point.solved))
    if len(points) < k and unsolved > 0:
        return SolvedWithin(k, SurvivalStatus.NOT_OBSERVED, None, None, None, all_failed, all_excluded, of, left)
    effective = (1 - unsolved) / (unsolved * greenwood) if 0 < unsolved < 1 else of - left
    low, high = wilson_bounds(1 - unsolved, effective, confidence=confidence)
    return SolvedWithin(k, SurvivalStatus.OK, 1 - unsolved, low, high, all_failed, all_excluded, of, left)


def unsolved_share(totals: Floats) -> Floats:
    """U(k) of totals d_1 … d_k, r_1 … r_k along the last axis; NaN beyond the last iteration observed."""
    solved, at_risk = np.split(totals, 2, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(at_risk > 0, 1 - solved / at_risk, np.nan)
    # Once everybody is solved nobody is at risk, and the share unsolved stays 0.
    ended = np.cumsum(left == 0, axis=-1) > 0
    return np.asarray(np.where(ended, 0.0, left).prod(-1))


def median_iterations(totals: Floats) -> Floats:
    """MIS as published: the median of the solving iteration, k + 1 where unsolved within k.

    Problems that were cut short count as unsolved, as the authors' rule has no other place for them.

    Parameters
    ----------
    totals
        Problems solved at iterations 1 … k, then all problems, along the last axis; averages need not be whole.

    Returns
    -------
    The median; half-way between two iterations where it lies between them; NaN without problems.

    References
    ----------
    Median Iterations to Solve, in the paper on iterative feedback loops, section 2.5.3.

    Examples
    --------
    >>> median_iterations(np.array([3.0, 1, 0, 8])).item()
    3.0
    """
    reached = np.cumsum(totals[..., :-1], axis=-1)
    half = totals[..., -1:] / 2
    # Averages over samples are halves to the last digits only.
    lower, upper = (reached < half - 1e-9).sum(-1), (reached <= half + 1e-9).sum(-1)
    return np.where(totals[..., -1] > 0, (lower + upper) / 2 + 1, np.nan)


def median_survival(totals: Floats) -> Floats:
    """The Kaplan–Meier median: the first iteration after which at most half are unsolved.

    Parameters
    ----------
    totals
        d_1 … d_k, r_1 … r_k along the last axis.

    Returns
    -------
    Iterations; NaN where it is not reached, or lies behind the last iteration observed.

    Examples
    --------
    >>> median_survival(np.array([3.0, 1, 8, 5])).item()
    2.0
    """
    solved, at_risk = np.split(totals, 2, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.cumprod(np.where(at_risk > 0, 1 - solved / at_risk, 1.0), axis=-1)
    reached = left <= 0.5 + 1e-12
    return np.where(reached.any(-1), reached.argmax(-1) + 1.0, np.nan)


def pass_at_k(samples: int, right: int, *, k: int) -> float:
    r"""The unbiased estimate of the chance that one of k samples of a problem is right; pass@k is the mean of it.

    .. math:: 1 - \binom{n - c}{k} \Big/ \binom{n}{k}

    Parameters
    ----------
    samples, right
        n, and the right ones among them, c.

    Raises
    ------
    ValueError
        With k > n: nothing unbiased can be said.

    Examples
    --------
    >>> pass_at_k(5, 1, k=2)
    0.4
    """
    if not 0 <= right <= samples:
        raise ValueError(f"{right} of {samples} samples cannot be right")
    if not 1 <= k <= samples:
        raise ValueError(f"pass@{k} of {samples} samples: k must be 1 to {samples}")
    return 1 - math.comb(samples - right, k) / math.comb(samples, k)
