"""What happens from one attempt to the next: fixes, regressions, verdicts that follow verdicts, and what they cost.

T_i is the number of all cases, visible and hidden, that the program of iteration i passes. Attempts of one problem
depend on each other, so every interval resamples problems. A fresh start answers no attempt: no pair spans one.

References
----------
The paper on iterative feedback loops, definition 3.1 and section 3.5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.metrics.intervals import Estimate, EstimateStatus, Floats, Proportion, Resamples, wilson
from app.domain.metrics.outcomes import VERDICTS, Bools, Ints, Outcomes, ratio
from app.domain.verdicts import Verdict

ERRORS = tuple(verdict for verdict in VERDICTS if verdict is not Verdict.AC)


@dataclass(frozen=True, slots=True)
class Flow:
    """Counts over all pairs of an attempt and the next one of the same trajectory, without a fresh start between them.

    Attributes
    ----------
    matrix
        (verdict, next verdict) → pairs; absent where there is none.
    fixed
        Verdict → pairs in which more cases pass afterwards (T rises).
    stopped_short
        Attempts whose recording ends at a failing case, so that T is the least it can be: pairs with them may be
        counted wrongly.
    """

    matrix: Mapping[tuple[Verdict, Verdict], int]
    fixed: Mapping[Verdict, int]
    stopped_short: int


def flow(outcomes: Outcomes) -> Flow:
    """Which verdict follows which, and which pairs are fixes."""
    followed = outcomes.followed
    before, after = outcomes.verdict[followed], outcomes.verdict[np.roll(followed, 1)]
    counts = np.bincount(len(VERDICTS) * before + after, minlength=len(VERDICTS) ** 2)
    fixed = np.bincount(before[(_change(outcomes) > 0) & ~pairs_uncounted(outcomes)[followed]], minlength=len(VERDICTS))
    short = (outcomes.executed > 0) & (outcomes.executed < outcomes.total)
    return Flow(
        {
            (VERDICTS[code // len(VERDICTS)], VERDICTS[code % len(VERDICTS)]): int(count)
            for code, count in enumerate(counts)
            if count
        },
        {verdict: int(count) for verdict, count in zip(VERDICTS, fixed, strict=True) if count},
        int(short.sum()),
    )


def fix_rate(
    outcomes: Outcomes, resamples: Resamples, verdict: Verdict | None = None, *, count_last: bool = False
) -> Estimate:
    """The share of errors fixed by the next attempt: T_{i+1} > T_i.

    Parameters
    ----------
    verdict
        Errors of this verdict alone; None is all.
    count_last
        Whether a failing attempt that none follows is an occurrence, never fixed. The published rule leaves it open;
        by default it is none.

    Returns
    -------
    A fraction; undefined without occurrences, unknown where a recording does not count the cases that pass.
    """
    errors = outcomes.verdict != VERDICTS.index(Verdict.AC)
    if verdict is not None:
        errors &= outcomes.verdict == VERDICTS.index(verdict)
    occurrences = errors if count_last else errors & outcomes.followed
    fixed = np.where(errors, _with_change(outcomes, 1), 0.0)
    return ratio(outcomes.attempts_by_unit(fixed, occurrences), resamples)


def change_share(outcomes: Outcomes, resamples: Resamples, sign: int) -> Estimate:
    """The share of debugging attempts that pass more (1), as many (0) or fewer (−1: regressions) cases than the last.

    A fraction; undefined without debugging attempts, unknown where a recording does not count the cases that pass.
    """
    return ratio(outcomes.attempts_by_unit(_with_change(outcomes, sign), outcomes.followed), resamples)


def hidden_failure_share(outcomes: Outcomes, resamples: Resamples) -> Estimate:
    """Of the attempts that pass every visible case, the share that fails a hidden one.

    A fraction; undefined where none passes the visible cases, unknown where a recording does not say which do.
    """
    if outcomes.unshown is not None:
        return Estimate(None, None, None, outcomes.units, EstimateStatus.UNKNOWN)
    failing = outcomes.passes_visible & (outcomes.verdict != VERDICTS.index(Verdict.AC))
    return ratio(outcomes.attempts_by_unit(failing, outcomes.passes_visible), resamples)


def repeat_share(outcomes: Outcomes, resamples: Resamples) -> Estimate:
    """The share of debugging attempts (t ≥ 1) whose program equals an earlier one of its trajectory.

    A fraction; undefined without debugging attempts, unknown where a recording has no programs.
    """
    if outcomes.unseen is not None:
        return Estimate(None, None, None, outcomes.units, EstimateStatus.UNKNOWN)
    debugging = ~outcomes.first
    return ratio(outcomes.attempts_by_unit(outcomes.repeats & debugging, debugging), resamples)


def solved_per_1000_tokens(outcomes: Outcomes, resamples: Resamples) -> Estimate:
    """Problems solved for each 1,000 tokens, input and output; unknown where an attempt's tokens are."""
    return _per(outcomes, resamples, "tokens", 1000.0)


def solved_per_cost(outcomes: Outcomes, resamples: Resamples) -> Estimate:
    """Problems solved for each unit of cost; unknown where an attempt's cost is, undefined where all was free."""
    return _per(outcomes, resamples, "cost", 1.0)


def solved_within_budget(spent: Sequence[float], of: int, budget: float) -> Proportion:
    """The share of problems that are solved where each may spend so much, with Wilson's interval.

    Parameters
    ----------
    spent
        Of each problem solved, what its attempts up to the one that solved it took.
    of
        Problems, all of which ended by the rules.

    Examples
    --------
    >>> solved_within_budget([300, 900], of=4, budget=500).estimate
    0.25
    """
    return wilson(sum(one <= budget for one in spent), of)


def pairs_uncounted(outcomes: Outcomes) -> Bools:
    """Of each attempt whether another follows and T of one of the two is unknown."""
    if outcomes.uncounted is None:
        return np.zeros(len(outcomes.verdict), dtype=bool)
    return np.asarray(outcomes.followed & (outcomes.uncounted | np.roll(outcomes.uncounted, -1)))


def _per(outcomes: Outcomes, resamples: Resamples, spent: str, scale: float) -> Estimate:
    solved = outcomes.by_unit(outcomes.solved_at >= 0)
    return ratio(
        np.hstack((solved, outcomes.attempts_by_unit(getattr(outcomes, spent)))), resamples, scale=scale, most=np.inf
    )


def _change(outcomes: Outcomes) -> Ints:
    """The sign of T_{i+1} − T_i, for attempts that another follows."""
    return np.asarray(np.sign(np.diff(outcomes.passed, append=0))[outcomes.followed])


def _with_change(outcomes: Outcomes, sign: int) -> Floats:
    """Whether an attempt is followed by one with this change of T; NaN where that is not known."""
    followed = outcomes.followed
    found = np.zeros(len(followed))
    found[followed] = _change(outcomes) == sign
    found[pairs_uncounted(outcomes)] = np.nan
    return found
