"""Intervals for proportions."""

import math
from dataclasses import dataclass
from statistics import NormalDist


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
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    p = successes / n
    centre = p + z * z / (2 * n)
    spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # At the edges the two terms are equal in exact arithmetic; rounding would leave ±1e-17.
    low = 0.0 if successes == 0 else (centre - spread) / scale
    high = 1.0 if successes == n else (centre + spread) / scale
    return Proportion(successes, n, p, low, high)
