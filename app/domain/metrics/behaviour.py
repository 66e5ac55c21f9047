"""How a model repairs, in a word: where it stands on the plane of precision and unit-test pass rate."""

from dataclasses import dataclass
from enum import StrEnum

from app.domain.metrics.intervals import Estimate


class Behaviour(StrEnum):
    """Precision and pass rate, each high or low."""

    PRECISE = "pass_with_precision"
    """Passes, and edits what needs it."""
    WEAK_PRECISE = "weak_but_precise"
    """Edits what needs it, and passes too seldom."""
    WEAK_IMPRECISE = "weak_and_imprecise"
    """Neither."""
    PASS_ORIENTED = "pass_oriented"  # noqa: S105 — a class, no password
    """Passes by writing anew what was right: it regenerates."""


@dataclass(frozen=True, slots=True)
class CutOffs:
    """From where precision and pass rate count as high, fractions of 1; at a cut-off counts as high.

    The benchmark prints none. These reproduce the words that its figures are given, save that a thinking model gets one
    of its own there.
    """

    precision: float = 0.60
    unit_pass: float = 0.71

    def of(self, precision: float, unit_pass: float) -> Behaviour:
        """The class of a place on the plane.

        Examples
        --------
        >>> CutOffs().of(0.397, 0.761).value, CutOffs(precision=0.3).of(0.397, 0.761).value
        ('pass_oriented', 'pass_with_precision')
        """
        if precision >= self.precision:
            return Behaviour.PRECISE if unit_pass >= self.unit_pass else Behaviour.WEAK_PRECISE
        return Behaviour.PASS_ORIENTED if unit_pass >= self.unit_pass else Behaviour.WEAK_IMPRECISE

    def compatible(self, precision: Estimate, unit_pass: Estimate) -> tuple[Behaviour, ...]:
        """The class of two estimates first, then those that their intervals reach as well; empty without estimates.

        Without an interval an estimate stands for itself alone.
        """
        if precision.estimate is None or unit_pass.estimate is None:
            return ()
        places = [(precision.estimate, unit_pass.estimate)]
        places += [(one, other) for one in _ends(precision) for other in _ends(unit_pass)]
        return tuple(dict.fromkeys(self.of(*place) for place in places))


USUAL_CUT_OFFS = CutOffs()


def _ends(found: Estimate) -> list[float]:
    return [value for value in (found.low, found.estimate, found.high) if value is not None]
