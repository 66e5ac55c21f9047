"""Error analysis: how often each verdict occurs, and whether the next attempt passes more cases, as many, or fewer.

References
----------
The paper on iterative feedback loops, definition 3.1 and table 5.
"""

from dataclasses import dataclass, replace

import numpy as np

from app.domain.metrics.intervals import Estimate, Resamples
from app.domain.metrics.outcomes import VERDICTS, Ints, Outcomes
from app.domain.metrics.refinement import ERRORS, fix_rate, pairs_uncounted
from app.domain.verdicts import Verdict

_CODE = {verdict: code for code, verdict in enumerate(VERDICTS)}


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """Attempts with one verdict, None for all failing ones.

    Attributes
    ----------
    occurrences
        Those that the next attempt answers; with last errors counted, those that none follows as well.
    fixed, regressed
        Of them, those after which more cases pass, and those after which fewer do; None where a recording does not
        count the cases of all.
    rate
        fixed/occurrences, averaged over the samples of a problem; its interval resamples problems.
    """

    verdict: Verdict | None
    occurrences: int
    fixed: int | None
    regressed: int | None
    rate: Estimate


@dataclass(frozen=True, slots=True)
class Changes:
    """Debugging attempts after which more cases pass than before, as many, and fewer; and those not counted."""

    up: int
    same: int
    down: int
    unknown: int = 0

    @property
    def n(self) -> int:
        """Those whose cases are counted."""
        return self.up + self.same + self.down


def error_rows(outcomes: Outcomes, resamples: Resamples, *, count_last: bool = False) -> tuple[ErrorRow, ...]:
    """A row for each verdict that occurs, and the row of all at the end.

    `count_last`: a failing attempt that none follows is an occurrence, never fixed.
    """
    errors = outcomes.verdict != _CODE[Verdict.AC]
    counted = errors if count_last else errors & outcomes.followed
    change, unknown = _changes(outcomes), pairs_uncounted(outcomes)
    rows: list[ErrorRow] = []
    for verdict in (*ERRORS, None):
        these = counted if verdict is None else counted & (outcomes.verdict == _CODE[verdict])
        if verdict is None or these.any():
            rate = fix_rate(outcomes, resamples, verdict, count_last=count_last)
            known = not (these & unknown).any()
            fixed, regressed = (int((these & (change == sign)).sum()) if known else None for sign in (1, -1))
            rows.append(ErrorRow(verdict, int(these.sum()), fixed, regressed, rate))
    return tuple(rows)


def changes(outcomes: Outcomes) -> Changes:
    """Counts over all pairs of an attempt and the next one."""
    unknown = pairs_uncounted(outcomes)
    signs = _changes(outcomes)[outcomes.followed & ~unknown]
    up, same, down = (int((signs == sign).sum()) for sign in (1, 0, -1))
    return Changes(up, same, down, int(unknown.sum()))


def uncounted(outcomes: Outcomes) -> int:
    """Attempts with a program whose recording does not say how many cases pass, so that T is unknown."""
    return 0 if outcomes.uncounted is None else int(outcomes.uncounted.sum())


def with_syntax_errors_as_runtime_errors(outcomes: Outcomes) -> Outcomes:
    """As a judge counts that compiles nothing before it runs: the published table's, for Python."""
    verdict = outcomes.verdict
    return replace(outcomes, verdict=np.where(verdict == _CODE[Verdict.CE], _CODE[Verdict.RE], verdict))


def _changes(outcomes: Outcomes) -> Ints:
    """The sign of T_{i+1} − T_i; 0 where no attempt follows."""
    signs: Ints = np.sign(np.diff(outcomes.passed, append=0))
    return np.where(outcomes.followed, signs, 0)
