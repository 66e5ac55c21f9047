r"""Likelihood of declining chances of solving, for many sets of counts at once.

Every curve here has the form

.. math:: S_t \sim \mathrm{Binomial}(N_t, h_t), \qquad \log h_t = \log h_s - g_t

with a known decline g and an unknown level h_s, and h_t ≤ 1 at these attempts alone. For given g the
log-likelihood is concave in log h_s; for g = λ·x it is concave in (log h_s, λ), so the likelihood profiled over h_s
has one maximum in λ, and falls on both sides of it.

Arrays hold attempts along their last axis and broadcast over the others. The binomial coefficients, which no
parameter changes, are left out of every log-likelihood.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import xlogy

from app.domain.metrics.intervals import Floats

_NEWTON_STEPS = 100
"""Far above need: the steps converge quadratically, save near h = 1, where they double the odds."""
_AT_ONE = 1e300
"""Odds that stand for h = 1."""
_WIDTH = 1e-12
"""Brackets narrower than this, relative to their place, are closed."""


def level_odds(solved: Floats, failed: Floats, decline: Floats) -> Floats:
    """Odds y/(1 − y) of the largest fitted chance y at the maximum, for a given decline.

    Parameters
    ----------
    solved, failed
        S_t and N_t − S_t; both 0 where nobody was left. Each set needs at least one solve and one failure.
    decline
        g_t, of any sign.
    """
    weight, rest = _weights(decline)
    total = solved.sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(rest > 0, failed * weight / rest, np.where(failed > 0, np.inf, 0.0)).sum(-1)
    # The score is increasing and concave in the odds and negative at the start: Newton's steps never overshoot.
    odds = total / failed.sum(-1) * np.ones_like(most)
    inside = most > total
    for _ in range(_NEWTON_STEPS):
        share = 1 / (1 + rest * odds[..., None])
        score = (failed * weight * share).sum(-1) * odds - total
        step = np.where(inside, -score / (failed * weight * share * share).sum(-1), 0.0)
        odds = odds + step
        if (np.abs(step) <= 1e-14 * odds).all():
            break
    return np.where(inside, odds, _AT_ONE)


def log_likelihood(solved: Floats, failed: Floats, decline: Floats) -> Floats:
    """The log-likelihood at the best level, for a given decline."""
    odds = level_odds(solved, failed, decline)[..., None]
    _, rest = _weights(decline)
    log_chance = decline.min(-1, keepdims=True) - decline - np.log1p(1 / odds)
    log_failure = np.log1p(rest * odds) - np.log1p(odds)
    return np.asarray((solved * log_chance + failed * log_failure).sum(-1))


def chances(solved: Floats, failed: Floats, decline: Floats) -> Floats:
    """h_t at the best level, for a given decline."""
    odds = level_odds(solved, failed, decline)[..., None]
    return np.asarray(np.exp(decline.min(-1, keepdims=True) - decline - np.log1p(1 / odds)))


def best_rate(solved: Floats, failed: Floats, times: Floats, *, points: int = 31) -> Floats:
    """λ at the maximum for the decline λ·x, one for each set of counts.

    Parameters
    ----------
    solved, failed
        S_t and N_t − S_t, sets × attempts. Each set needs a solve after its first attempt and one before its last:
        otherwise the likelihood rises for ever.
    times
        x_t, rising from 0.
    points
        Rates tried at a time, see `crossing`.
    """

    def slope(rates: Floats) -> Floats:
        return _slope(solved[:, None], failed[:, None], times, rates)

    start = np.zeros(len(solved))
    falls = slope(start[:, None])[:, 0] < 0
    above, below = outward(slope, start, 1.0), outward(lambda rates: -slope(rates), start, -1.0)
    return crossing(slope, np.where(falls, below, start), np.where(falls, start, above), points)


def best(solved: Floats, failed: Floats, times: Floats, *, points: int = 31) -> tuple[Floats, Floats]:
    """λ at the maximum for the decline λ·x, ±∞ where the likelihood rises for ever, and the largest log-likelihood.

    Parameters
    ----------
    solved, failed, times, points
        As for `best_rate`, but one solve at any attempt is enough.
    """
    later, earlier = solved[:, 1:].any(-1), solved[:, :-1].any(-1)
    finite = later & earlier
    rates = np.where(later, -np.inf, np.inf)
    # At ±∞ everything was solved at the first or at the last attempt, and the chance elsewhere is 0.
    alone = np.where(later, -1, 0)
    rows = np.arange(len(solved))
    s, f = solved[rows, alone], failed[rows, alone]
    largest = xlogy(s, s / np.maximum(s + f, 1)) + xlogy(f, f / np.maximum(s + f, 1))
    if finite.any():
        rates[finite] = best_rate(solved[finite], failed[finite], times, points=points)
        largest[finite] = log_likelihood(solved[finite], failed[finite], rates[finite, None] * times)
    return rates, largest


def outward(f: Callable[[Floats], Floats], start: Floats, direction: float) -> Floats:
    """A place from `start` on in a direction where `f`, which ends negative, is negative, for each set."""
    step = np.ones_like(start)
    # 2^40 is beyond every rate at which the chances are still more than 0 in floating point.
    for _ in range(40):
        positive = f((start + direction * step)[:, None])[:, 0] >= 0
        if not positive.any():
            break
        step = np.where(positive, 2 * step, step)
    return start + direction * step


def crossing(f: Callable[[Floats], Floats], low: Floats, high: Floats, points: int = 31) -> Floats:
    """Where `f`, which changes its sign once between `low` and `high`, does so, for each set.

    Parameters
    ----------
    f
        Takes places, sets × points, and gives as many values; positive towards `low`.
    low, high
        Bounds, one for each set, in either order.
    points
        Places tried at a time: many are quick for few sets, one (bisection) for many.
    """
    fractions = np.linspace(0, 1, points + 2)
    rows = np.arange(len(low))
    while (np.abs(high - low) > _WIDTH * np.maximum(1.0, np.abs(low) + np.abs(high))).any():
        places = low[:, None] + (high - low)[:, None] * fractions
        positive = (f(places[:, 1:-1]) > 0).sum(-1)
        low, high = places[rows, positive], places[rows, positive + 1]
    return (low + high) / 2


def _weights(decline: Floats) -> tuple[Floats, Floats]:
    """h_t over the largest of them, and what is missing to 1."""
    log_weight = decline.min(-1, keepdims=True) - decline
    return np.exp(log_weight), -np.expm1(log_weight)


def _slope(solved: Floats, failed: Floats, times: Floats, rates: Floats) -> Floats:
    """Derivative of the profiled log-likelihood by λ."""
    decline = rates[..., None] * times
    weight, rest = _weights(decline)
    odds = level_odds(solved, failed, decline)[..., None]
    expected = failed * weight * odds / (1 + rest * odds)
    slope = (times * (expected - solved)).sum(-1)
    # Where h reaches 1 the level cannot follow: at λ < 0 it is the last attempt that holds it, and moves it with λ.
    held = (solved - expected).sum(-1)
    return np.asarray(slope + np.where(rates < 0, times[-1] * held, 0.0))
