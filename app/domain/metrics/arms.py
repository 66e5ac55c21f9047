"""Fresh starts judged: each arm against its baseline, problem by problem."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from app.domain.metrics.comparison import Paired, holm, paired, smallest_difference

Key = TypeVar("Key", bound=Hashable)


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
    detectable
        Smallest difference found at power 0.8 with as many problems that tell the two apart; None where none is.
    """

    paired: Paired
    gained: tuple[Key, ...]
    lost: tuple[Key, ...]
    gained_before: int
    gained_after: int
    left_out: int
    p_holm: float
    detectable: float | None


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
    found = []
    for arm in arms:
        both = [problem for problem in baseline if problem in arm]
        gained = tuple(p for p in both if arm[p].solved and not baseline[p].solved)
        lost = tuple(p for p in both if baseline[p].solved and not arm[p].solved)
        solved = sum(arm[p].solved and baseline[p].solved for p in both)
        neither = len(both) - solved - len(gained) - len(lost)
        found.append((paired(solved, len(gained), len(lost), neither), gained, lost, arm))
    adjusted = holm([one.p_exact for one, _, _, _ in found])
    return tuple(
        ArmComparison(
            paired=one,
            gained=gained,
            lost=lost,
            gained_before=sum(not arm[p].afresh for p in gained),
            gained_after=sum(arm[p].afresh for p in gained),
            left_out=problems - one.n,
            p_holm=p,
            detectable=smallest_difference(one.n, discordant / one.n) if discordant else None,
        )
        for (one, gained, lost, arm), p in zip(found, adjusted, strict=True)
        for discordant in [len(gained) + len(lost)]
    )
