"""What a trajectory does next: a pure function of its stored attempts and its protocol."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.attempts import AttemptRecord
from app.domain.protocol.policy import Protocol, StopOn


class Outcome(StrEnum):
    """Why a trajectory ended by the rules (censoring by budget, cancel or infrastructure is not decided here)."""

    SOLVED = "solved"
    VISIBLE_ONLY = "visible_only"
    """The visible tests passed, the hidden ones did not, and the protocol stops on the visible ones."""
    EXHAUSTED = "exhausted"


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model for attempt `index`; `segment` counts the fresh starts before it."""

    index: int
    segment: int


@dataclass(frozen=True, slots=True)
class Run:
    """Judge the stored program of attempt `index`."""

    index: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The trajectory has ended."""

    outcome: Outcome


Decision = Ask | Run | Stop


def decide(history: Sequence[AttemptRecord], policy: Protocol) -> Decision:
    """Name the next step.

    Parameters
    ----------
    history
        The trajectory's attempts in order, without gaps from index 0.
    policy
        The run's protocol.

    Raises
    ------
    ValueError
        Where `history` has a gap, or an attempt before the last is unjudged: the engine stores neither.
    """
    for position, attempt in enumerate(history):
        if attempt.index != position or (attempt.verdict is None and position != len(history) - 1):
            raise ValueError(f"attempt {attempt.index} at position {position} breaks the order of the trajectory")
    if not history:
        return Ask(index=0, segment=0)
    last = history[-1]
    if last.verdict is None:
        return Run(last.index)
    if last.solved:
        return Stop(Outcome.SOLVED)
    if policy.stop_on is StopOn.VISIBLE and last.passes_visible:
        return Stop(Outcome.VISIBLE_ONLY)
    if len(history) >= policy.attempts:
        return Stop(Outcome.EXHAUSTED)
    return Ask(index=len(history), segment=last.segment + policy.fresh_start.before_next(history))
