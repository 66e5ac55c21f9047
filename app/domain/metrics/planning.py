"""What a run of so many problems and attempts can show, before it is made."""

import math
from statistics import NormalDist

import numpy as np
from scipy.optimize import brentq

from app.domain.metrics.comparison import ALPHA, POWER

LARGEST_RATE = 5.0
"""Beyond this nothing is solved after the first attempt: e^−5 is under a hundredth."""
_STEPS = 200
_TINY = 1e-12


def smallest_rate(
    problems: int, first: float, attempts: int, *, start: int = 0, power: float = POWER, alpha: float = ALPHA
) -> float | None:
    r"""The smallest λ that the careful fit tells from no decay with this power.

    With the counts expected under h_t = first·e^(−λt), the variance of λ̂ by the information of (log h_s, λ) is

    .. math:: V = \frac{\sum w_t}{\sum w_t \sum w_t t^2 - (\sum w_t t)^2}, \qquad w_t = \frac{N_t h_t}{1 - h_t}

    and λ is found where λ ≥ (z_{1−α/2} + z_power)·√V. A normal approximation: with fewer than ten solves expected among
    the fitted attempts it promises too much.

    Parameters
    ----------
    problems
        N.
    first
        Chance of solving at t = 0, in (0, 1).
    attempts
        The first answer included.
    start
        The first fitted attempt: 0, or 1 for debugging alone.

    Returns
    -------
    Per attempt; None where no λ up to `LARGEST_RATE` would be found.

    Examples
    --------
    >>> round(smallest_rate(164, 0.5, 6), 2)
    0.15
    """
    if not 0 < first < 1:
        raise ValueError(f"the chance at the first attempt must be between 0 and 1, not {first}")
    times = np.arange(start, attempts, dtype=float)
    if len(times) < 2:
        return None
    normal = NormalDist()
    z = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)

    def excess(rate: float) -> float:
        hazards = first * np.exp(-rate * np.arange(attempts))
        at_risk = problems * np.concatenate(([1.0], np.cumprod(1 - hazards)[:-1]))
        weights = (at_risk * hazards / (1 - hazards))[start:]
        determinant = weights.sum() * (weights * times**2).sum() - (weights * times).sum() ** 2
        return rate - z * math.sqrt(weights.sum() / determinant)

    # The excess rises, and falls again once the later attempts are empty: the first crossing is wanted.
    tried = np.linspace(0, LARGEST_RATE, _STEPS + 1)[1:]
    reached = next((float(rate) for rate in tried if excess(float(rate)) >= 0), None)
    if reached is None:
        return None
    below = max(reached - LARGEST_RATE / _STEPS, _TINY)
    return float(brentq(excess, below, reached, xtol=1e-10))
