"""Where a recorded trajectory ends by verdicts that came later: the rules applied to what is stored, asking nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.attempts import AttemptRecord
from app.domain.protocol.decide import Outcome, Stop, decide
from app.domain.protocol.policy import Protocol


@dataclass(frozen=True, slots=True)
class Ending:
    """The end by the rules; `outcome` is None where they would have asked for another attempt, which is not stored.

    `counted` attempts come up to the end; those behind it are surplus.
    """

    outcome: Outcome | None
    counted: int

    @property
    def solved_at(self) -> int | None:
        """Index of the first accepted attempt."""
        return self.counted - 1 if self.outcome is Outcome.SOLVED else None


def replay(judged: Sequence[AttemptRecord], policy: Protocol) -> Ending:
    """Follow the judged attempts of a trajectory to the first at which its protocol stops."""
    for counted in range(1, len(judged) + 1):
        decision = decide(judged[:counted], policy)
        if isinstance(decision, Stop):
            return Ending(decision.outcome, counted)
    return Ending(None, len(judged))
