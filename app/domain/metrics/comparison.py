"""Two or more runs on the same problems, compared problem by problem: the difference first, then its test."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import bdtr

from app.domain.metrics.intervals import Floats, wilson_bounds

Key = TypeVar("Key", bound=Hashable)

ALPHA = 0.05
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Paired:
    """One run against another on the same problems.

    Attributes
    ----------
    both, gained, lost, neither
        Problems by outcome: solved by both, by the first alone, by the second alone, by neither.
    difference, low, high
        Share solved by the first less that of the second, with Newcombe's interval; None without problems.
    p_exact, p_mid
        McNemar's test, two-sided; 1 where no problem tells the runs apart.
    """

    both: int
    gained: int
    lost: int
    neither: int
    difference: float | None
    low: float | None
    high: float | None
    p_exact: float
    p_mid: float

    @property
    def n(self) -> int:
        """Problems."""
        return self.both + self.gained + self.lost + self.neither

    @property
    def detectable(self) -> float | None:
        """The smallest difference found at power 0.8 with as many problems that tell the two apart; None without."""
        discordant = self.gained + self.lost
        return smallest_difference(self.n, discordant / self.n) if discordant else None


@dataclass(frozen=True, slots=True)
class Match(Generic[Key]):
    """One run against another over the problems of both.

    Attributes
    ----------
    gained, lost
        Problems solved by the first alone, and by the second alone, in the second's order.
    """

    paired: Paired
    gained: tuple[Key, ...]
    lost: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Pair(Generic[Key]):
    """Two of several runs, by their places.

    Attributes
    ----------
    p_holm
        Mid-p, adjusted over all pairs.
    left_out
        Problems of one of the two alone.
    """

    first: int
    second: int
    match: Match[Key]
    p_holm: float
    left_out: int


def matched(one: Mapping[Key, bool], other: Mapping[Key, bool]) -> Match[Key]:
    """Compare two runs problem by problem.

    Parameters
    ----------
    one, other
        Solved or not, by problem; those without an end by the rules are absent, and leave the pair.

    Examples
    --------
    >>> found = matched({1: True, 2: True, 3: False}, {1: True, 2: False, 4: True})
    >>> found.gained, found.lost, found.paired.n
    ((2,), (), 2)
    """
    both = [problem for problem in other if problem in one]
    gained = tuple(problem for problem in both if one[problem] and not other[problem])
    lost = tuple(problem for problem in both if other[problem] and not one[problem])
    solved = sum(one[problem] and other[problem] for problem in both)
    neither = len(both) - solved - len(gained) - len(lost)
    return Match(paired(solved, len(gained), len(lost), neither), gained, lost)


def every_pair(runs: Sequence[Mapping[Key, bool]]) -> tuple[Pair[Key], ...]:
    """Compare every run with every later one; runs as for `matched`.

    Examples
    --------
    >>> [(pair.first, pair.second) for pair in every_pair([{1: True}, {1: False}, {}])]
    [(0, 1), (0, 2), (1, 2)]
    """
    places = list(combinations(range(len(runs)), 2))
    found = [matched(runs[one], runs[other]) for one, other in places]
    adjusted = holm([match.paired.p_mid for match in found])
    return tuple(
        Pair(one, other, match, p, len(runs[one].keys() | runs[other].keys()) - match.paired.n)
        for (one, other), match, p in zip(places, found, adjusted, strict=True)
    )


def paired(both: int, gained: int, lost: int, neither: int, *, confidence: float = 0.95) -> Paired:
    r"""Compare two runs by the four counts of their outcomes.

    With p₁ = (both + gained)/n, p₂ = (both + lost)/n, their Wilson bounds l and u, and the correlation φ of the
    outcomes (corrected for continuity where positive),

    .. math:: \sqrt{(p_1 - l_1)^2 - 2\varphi (p_1 - l_1)(u_2 - p_2) + (u_2 - p_2)^2}

    is what the interval reaches below p₁ − p₂, and above it the same with l and u exchanged. McNemar's exact p is
    2·P(X ≤ min(gained, lost)) for X ~ Binomial(gained + lost, ½), at most 1; mid-p takes P(X = min) off it, half of
    that where the two are equal.

    References
    ----------
    Newcombe, R. G. (1998). Improved confidence intervals for the difference between binomial proportions based on
    paired data. Statistics in Medicine 17, 2635–2650, method 10.
    Fagerland, M. W., Lydersen, S. and Laake, P. (2013). The McNemar test for binary matched-pairs data. BMC Medical
    Research Methodology 13, 91.

    Examples
    --------
    >>> found = paired(both=1, gained=1, lost=7, neither=12)
    >>> round(found.difference, 3), round(found.p_exact, 4), round(found.p_mid, 4)
    (-0.286, 0.0703, 0.0391)
    """
    if min(both, gained, lost, neither) < 0:
        raise ValueError("counts of problems must not be negative")
    n = both + gained + lost + neither
    p_exact, p_mid = (float(p) for p in _mcnemar(np.array(gained), np.array(lost)))
    if n == 0:
        return Paired(both, gained, lost, neither, None, None, None, p_exact, p_mid)
    first, second = (both + gained) / n, (both + lost) / n
    (low1, high1), (low2, high2) = (wilson_bounds(p, n, confidence=confidence) for p in (first, second))
    phi = _phi(both, gained, lost, neither)

    def reach(one: float, other: float) -> float:
        # The root of a sum of squares that rounding may take below 0 at φ = ±1.
        return math.sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))

    difference = first - second
    low = difference - reach(first - low1, high2 - second)
    high = difference + reach(high1 - first, second - low2)
    return Paired(both, gained, lost, neither, difference, low, high, p_exact, p_mid)


def _phi(both: int, gained: int, lost: int, neither: int) -> float:
    margins = (both + gained) * (lost + neither) * (both + lost) * (gained + neither)
    if margins == 0:
        return 0.0
    n = both + gained + lost + neither
    excess: float = both * neither - gained * lost
    if excess > 0:
        excess = max(0.0, excess - n / 2)
    return excess / math.sqrt(margins)


def _mcnemar(gained: npt.NDArray[np.int_], lost: npt.NDArray[np.int_]) -> tuple[Floats, Floats]:
    """Exact and mid-p for many pairs of counts."""
    fewer, discordant = np.minimum(gained, lost), gained + lost
    below = bdtr(fewer.astype(float), discordant, 0.5)
    point = below - np.where(fewer > 0, bdtr(np.maximum(fewer - 1.0, 0), discordant, 0.5), 0.0)
    equal = gained == lost
    exact = np.where(equal, 1.0, np.minimum(1.0, 2 * below))
    mid = np.where(equal, np.where(discordant == 0, 1.0, 1 - point / 2), 2 * below - point)
    return exact, mid


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values of several tests, in their order: each compared with α holds the error over all of them at α.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian J. Statistics 6, 65–70.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    (0.03, 0.06, 0.06)
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return tuple(adjusted)


def tie_groups(solved: npt.NDArray[np.bool_], ended: npt.NDArray[np.bool_], *, alpha: float = ALPHA) -> tuple[int, ...]:
    """The tie group of each run, 0 for the group of the best.

    Every pair of runs is tested by McNemar's mid-p over the problems that both ended, with Holm's correction over all
    pairs. Runs are taken from the largest share solved to the smallest; one that differs from the first of its group
    opens the next. Being tied says that these problems do not tell two runs apart, not that they are equal; two runs
    of one group may differ, neither being first.

    Parameters
    ----------
    solved, ended
        Of each problem, runs × problems: whether it was solved, and whether it ended by the rules, as those that are
        solved did. Every run has the same problems in the same order.
    alpha
        Error over all pairs.

    Returns
    -------
    Groups in the order of the runs.

    Examples
    --------
    >>> solved = np.arange(20) < np.array([[18], [17], [2]])
    >>> tie_groups(solved, np.ones_like(solved))
    (0, 0, 1)
    """
    if not len(solved):
        return ()
    one, other = np.triu_indices(len(solved), 1)
    wins = solved.astype(np.int64) @ (ended & ~solved).astype(np.int64).T
    _, mid = _mcnemar(wins[one, other], wins[other, one])
    adjusted = dict(zip(zip(one.tolist(), other.tolist(), strict=True), holm(mid.tolist()), strict=True))
    shares = (solved.sum(-1) / np.maximum(ended.sum(-1), 1)).tolist()
    leader, *rest = sorted(range(len(solved)), key=lambda run: (-shares[run], run))
    groups, group = [0] * len(solved), 0
    for run in rest:
        if adjusted[min(leader, run), max(leader, run)] <= alpha:
            leader, group = run, group + 1
        groups[run] = group
    return tuple(groups)


def smallest_difference(n: int, discordant: float, *, power: float = POWER, alpha: float = ALPHA) -> float | None:
    r"""The smallest difference between two paired runs that McNemar's test finds with this power.

    .. math:: n = \left(z_{1-\alpha/2}\sqrt{\psi} + z_{\text{power}}\sqrt{\psi - \delta^2}\right)^2 / \delta^2

    solved for δ. It rests on the normal approximation; the exact power is a few points off with under 20 discordant
    problems.

    Parameters
    ----------
    n
        Problems that both runs attempt.
    discordant
        ψ in (0, 1]: share of the problems that one run solves and the other does not.

    Returns
    -------
    δ as a fraction; None where even δ = ψ, all discordant problems on one side, would not be found.

    References
    ----------
    Connor, R. J. (1987). Sample size for testing differences in proportions for the paired-sample design. Biometrics
    43, 207–211.

    Examples
    --------
    >>> round(smallest_difference(164, 0.2), 3)
    0.097
    """
    if not 0 < discordant <= 1:
        raise ValueError(f"the share of discordant problems must be in (0, 1], not {discordant}")
    normal = NormalDist()
    z_alpha, z_power = normal.inv_cdf(1 - alpha / 2), normal.inv_cdf(power)

    def excess(delta: float) -> float:
        needed = z_alpha * math.sqrt(discordant) + z_power * math.sqrt(max(0.0, discordant - delta * delta))
        return math.sqrt(n) * delta - needed

    return None if excess(discordant) < 0 else float(brentq(excess, 0.0, discordant, xtol=1e-12))
