"""What a sum over things not yet measured will come to, judged by a sample of their kind."""

import math
import statistics
from collections.abc import Sequence

from scipy.special import stdtrit


def predicted_total(sample: Sequence[float], n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    r"""Prediction interval of the sum of `n` further values like those of `sample`.

    .. math:: n\bar x \pm t_{N-1}\, s \sqrt{n + n^2/N}

    The first term under the root is the spread of the `n` values themselves, the second that of the mean they are
    judged by.

    Parameters
    ----------
    sample
        N ≥ 2 values measured.
    n
        How many are still to come.
    confidence
        Coverage in (0, 1), exact for normal values and near it for large N.

    References
    ----------
    Hahn, G. J. and Meeker, W. Q. (1991). Statistical Intervals, section 4.8.

    Examples
    --------
    >>> low, high = predicted_total([1.0, 3.0], 2)
    >>> round(low, 2), round(high, 2)
    (-31.94, 39.94)
    """
    if len(sample) < 2:
        raise ValueError(f"a spread cannot be told from {len(sample)} values")
    t = float(stdtrit(len(sample) - 1, (1 + confidence) / 2))
    centre = n * statistics.fmean(sample)
    spread = t * statistics.stdev(sample) * math.sqrt(n + n * n / len(sample))
    return centre - spread, centre + spread
