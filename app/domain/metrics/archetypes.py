"""The published index in one word: where a run stands by E0 and λ among others."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from app.domain.metrics.decay import Decay, DecayStatus

LEAST_R_SQUARED = 0.7
"""Below this the published fit describes nothing, and a run has no archetype."""


class Archetype(StrEnum):
    """E0 and λ, each high or low."""

    HIGH_E0_LOW_LAMBDA = "high_e0_low_lambda"
    """Strong reasoning and persistent debugging."""
    LOW_E0_LOW_LAMBDA = "low_e0_low_lambda"
    """Consistent but ineffective."""
    HIGH_E0_HIGH_LAMBDA = "high_e0_high_lambda"
    """Strong at first, poor at debugging on."""
    LOW_E0_HIGH_LAMBDA = "low_e0_high_lambda"
    """Weak at first, and soon at its end."""


@dataclass(frozen=True, slots=True)
class CutOffs:
    """From where on E0 (a fraction) and λ (per attempt) are high."""

    e0: float
    lambda_: float


def medians(runs: Iterable[tuple[float, float]]) -> CutOffs | None:
    """The medians of E0 and of λ over runs whose fit has R² ≥ 0.7; None without any."""
    kept = list(runs)
    if not kept:
        return None
    e0, rate = (statistics.median(column) for column in zip(*kept, strict=True))
    return CutOffs(e0, rate)


def described(run: Decay) -> tuple[float, float] | None:
    """E0 and λ of a run; None where its published fit is too poor to describe it."""
    fitted = run.status in (DecayStatus.FITTED, DecayStatus.FLAT)
    if not fitted or run.r_squared is None or run.r_squared < LEAST_R_SQUARED:
        return None
    return (run.e0.estimate or 0.0, run.lambda_ or 0.0)


def archetype(run: Decay, cuts: CutOffs) -> Archetype | None:
    """Where a run stands; None where its fit is too poor.

    References
    ----------
    The Debugging Decay Index, arXiv:2506.18403, which gives no cut-offs.

    Examples
    --------
    >>> from app.domain.metrics.decay import decay
    >>> runs = [decay([84, 17, 4, 1, 3, 0], 164), decay([96, 23, 16, 5, 2, 4], 164)]
    >>> cuts = medians(place for run in runs if (place := described(run)) is not None)
    >>> [archetype(run, cuts).value for run in runs]
    ['low_e0_high_lambda', 'high_e0_low_lambda']
    """
    place = described(run)
    if place is None:
        return None
    high = place[0] >= cuts.e0
    if place[1] >= cuts.lambda_:
        return Archetype.HIGH_E0_HIGH_LAMBDA if high else Archetype.LOW_E0_HIGH_LAMBDA
    return Archetype.HIGH_E0_LOW_LAMBDA if high else Archetype.LOW_E0_LOW_LAMBDA
