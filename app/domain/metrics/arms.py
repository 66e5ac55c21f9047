"""Fresh starts judged: each arm against its baseline, problem by problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from app.domain.metrics.comparison import Key, Paired, holm, matched


@dataclass(frozen=True, slots=True)
class Result:
    """How a problem ended by the rules of its run. `afresh`: it was solved after a fresh start."""

    solved: bool
    afresh: bool = False


@dataclass(frozen=True, slots=True)
class ArmComparison(Generic[Key]):
    """An arm against its baseline.

    Attributes
    ----------
    paired
        Over the problems that ended by the rules in both; `gained` by the arm, `lost` by it.
    gained, lost
        These problems, in the baseline's order.
    gained_before, gained_after
        Of those gained: solved before the first fresh start (which the arm cannot owe to it), and after.
    left_out
        Problems of either that were cut short in one of them, or have not ended.
    p_holm
        Exact p, adjusted over the arms.
    """

    paired: Paired
    gained: tuple[Key, ...]
    lost: tuple[Key, ...]
    gained_before: int
    gained_after: int
    left_out: int
    p_holm: float


def compare_arms(
    baseline: Mapping[Key, Result], arms: Sequence[Mapping[Key, Result]], problems: int
) -> tuple[ArmComparison[Key], ...]:
    """Compare each arm with the baseline.

    Parameters
    ----------
    baseline, arms
        Results by problem; those without an end by the rules are absent.
    problems
        Problems that each of them set out with.

    Examples
    --------
    >>> solved, unsolved = Result(True), Result(False)
    >>> (found,) = compare_arms({1: solved, 2: unsolved, 3: unsolved}, [{1: solved, 2: Result(True, afresh=True)}], 3)
    >>> found.gained, found.gained_after, found.left_out
    ((2,), 1, 1)
    """
    against = {problem: one.solved for problem, one in baseline.items()}
    found = [matched({problem: one.solved for problem, one in arm.items()}, against) for arm in arms]
    adjusted = holm([one.paired.p_exact for one in found])
    return tuple(
        ArmComparison(
            paired=one.paired,
            gained=one.gained,
            lost=one.lost,
            gained_before=sum(not arm[p].afresh for p in one.gained),
            gained_after=sum(arm[p].afresh for p in one.gained),
            left_out=problems - one.paired.n,
            p_holm=p_holm,
        )
        for one, arm, p_holm in zip(found, arms, adjusted, strict=True)
    )
