"""The published index in one word: where a run stands by E0 and λ among others."""

import statistics
from collections.abc import Sequence
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
class Archetypes:
    """The archetype of each run, None where its fit is too poor, and the cut-offs: None where no run has one."""

    of: tuple[Archetype | None, ...]
    e0: float | None
    lambda_: float | None


def archetypes(runs: Sequence[Decay]) -> Archetypes:
    """Sort runs by the medians of E0 and λ over those whose fit has R² ≥ 0.7; at a median counts as high.

    References
    ----------
    The Debugging Decay Index, arXiv:2506.18403, which gives no cut-offs.

    Examples
    --------
    >>> from app.domain.metrics.decay import decay
    >>> found = archetypes([decay([84, 17, 4, 1, 3, 0], 164), decay([96, 23, 16, 5, 2, 4], 164)])
    >>> [one.value for one in found.of]
    ['low_e0_high_lambda', 'high_e0_low_lambda']
    """
    described = [_place(run) for run in runs]
    kept = [place for place in described if place is not None]
    if not kept:
        return Archetypes(tuple(None for _ in runs), None, None)
    e0, rate = (statistics.median(column) for column in zip(*kept, strict=True))
    return Archetypes(tuple(None if place is None else _name(place, e0, rate) for place in described), e0, rate)


def _place(run: Decay) -> tuple[float, float] | None:
    fitted = run.status in (DecayStatus.FITTED, DecayStatus.FLAT)
    if not fitted or run.r_squared is None or run.r_squared < LEAST_R_SQUARED:
        return None
    return (run.e0.estimate or 0.0, run.lambda_ or 0.0)


def _name(place: tuple[float, float], e0: float, rate: float) -> Archetype:
    high = place[0] >= e0
    if place[1] >= rate:
        return Archetype.HIGH_E0_HIGH_LAMBDA if high else Archetype.LOW_E0_HIGH_LAMBDA
    return Archetype.HIGH_E0_LOW_LAMBDA if high else Archetype.LOW_E0_LOW_LAMBDA
