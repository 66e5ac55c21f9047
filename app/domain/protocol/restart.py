"""Fresh starts: when the conversation is cleared and the original task sent again, alone.

References
----------
The Debugging Decay Index: Rethinking Debugging Strategies for Code LLMs, arXiv:2506.18403, and its authors' code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.attempts import AttemptRecord
from app.domain.errors import InputError

USUAL_PATIENCE = 2
"""Attempts without progress before an adaptive restart, unless a run says otherwise."""


class RestartRule(StrEnum):
    """When to start afresh; n is `FreshStart.after`. G is an answer to the task alone, D a debugging attempt."""

    NONE = "none"
    """Never: one conversation (G D D D D D)."""
    ONCE = "once"
    """Once, after n debugging attempts (n = 2: G D D G D D, and D from there on)."""
    EVERY = "every"
    """After every n debugging attempts since the last fresh start (n = 1: G D G D G D)."""
    ADAPTIVE = "adaptive"
    """When the best count of visible cases passed since the last fresh start has not risen in n attempts, or when a
    program repeats an earlier one of its trajectory."""
    RESAMPLE = "resample"
    """Before every attempt: pure resampling, the control (G G G G G G)."""
    REFERENCE = "reference"
    """As the authors' code: when the repair's index, from 0, is a multiple of n, so that the first repair always is a
    restart (n = 2: G G D G D G)."""


COUNTED = (RestartRule.ONCE, RestartRule.EVERY, RestartRule.ADAPTIVE, RestartRule.REFERENCE)
"""The rules that have an n."""


@dataclass(frozen=True, slots=True)
class FreshStart:
    """A policy of fresh starts. `after` is the rule's n; None for the rules that have none.

    Raises InputError where a rule lacks its n, or has one too many.
    """

    rule: RestartRule = RestartRule.NONE
    after: int | None = None

    def __post_init__(self) -> None:
        if self.rule not in COUNTED:
            if self.after is not None:
                raise InputError(f"fresh start: {self.rule} takes no number of attempts")
        elif self.after is None or self.after < 1:
            raise InputError(f"fresh start: {self.rule} needs a number of attempts, at least 1")

    @classmethod
    def parse(cls, text: str) -> "FreshStart":
        """From `none`, `once:2`, `every:2`, `adaptive` (that is `adaptive:2`), `resample` or `reference:2`.

        Raises InputError.

        Examples
        --------
        >>> str(FreshStart.parse("once:2")), str(FreshStart.parse("adaptive"))
        ('once:2', 'adaptive:2')
        """
        name, colon, number = text.strip().lower().partition(":")
        if name not in set(RestartRule) or (colon and not (number.isascii() and number.isdigit() and len(number) < 10)):
            raise InputError(
                f"fresh start: one of none, once:N, every:N, adaptive:N, resample, reference:N, not {text!r}"
            )
        after = int(number) if colon else USUAL_PATIENCE if name == RestartRule.ADAPTIVE else None
        return cls(RestartRule(name), after)

    def __str__(self) -> str:
        return self.rule.value if self.after is None else f"{self.rule.value}:{self.after}"

    @property
    def first(self) -> int | None:
        """Index of the first attempt that can be a fresh start; None where there is none."""
        match self.rule:
            case RestartRule.NONE:
                return None
            case RestartRule.RESAMPLE | RestartRule.REFERENCE:
                return 1
            case RestartRule.ADAPTIVE:
                # A repeated program can end a conversation after its second attempt.
                return 2
            case _:
                return (self.after or 0) + 1

    def check(self, attempts: int) -> None:
        """Refuse a policy under which no attempt would be left for a fresh start. Raises InputError."""
        if self.first is not None and self.first >= attempts:
            raise InputError(
                f"fresh start: {self} would start afresh at attempt {self.first}, but the last of {attempts} "
                f"attempts is attempt {attempts - 1}"
            )

    def before_next(self, history: Sequence[AttemptRecord]) -> bool:
        """Whether the attempt after these, which are judged and unsolved, is a fresh start. False for the first."""
        if not history:
            return False
        segment = [attempt for attempt in history if attempt.segment == history[-1].segment]
        # The first of a segment is an answer, the others debug it.
        debugging = len(segment) - 1
        match self.rule:
            case RestartRule.NONE:
                return False
            case RestartRule.RESAMPLE:
                return True
            case RestartRule.ONCE:
                return history[-1].segment == 0 and debugging == self.after
            case RestartRule.EVERY:
                return debugging == self.after
            case RestartRule.REFERENCE:
                return (len(history) - 1) % (self.after or 1) == 0
            case RestartRule.ADAPTIVE:
                return debugging >= 1 and (history[-1].repeats or _no_progress(segment, self.after or 1))


NO_FRESH_START = FreshStart()
"""One conversation from the first attempt to the last."""


def _no_progress(segment: Sequence[AttemptRecord], patience: int) -> bool:
    """Whether the last `patience` attempts passed no more visible cases than the best before them."""
    passed = [attempt.visible_passed for attempt in segment]
    return len(passed) > patience and max(passed[-patience:]) <= max(passed[:-patience])
