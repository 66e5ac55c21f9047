"""A protocol: everything about a run that decides whether two runs may be compared."""

from dataclasses import dataclass
from enum import StrEnum

from app.domain.errors import InputError
from app.domain.problems import Limits

MAX_ATTEMPTS = 50
"""Far above any published protocol (25); a bound so that a typing slip cannot start an endless run."""


class Start(StrEnum):
    """What attempt 0 is."""

    GENERATE = "generate"
    """The model writes a first answer, then debugs it."""
    DEBUG = "debug"
    """The model is given a buggy program; attempt 0 is its first repair."""


class Disclosure(StrEnum):
    """What feedback may show of a failing case."""

    VERDICT = "verdict"
    VISIBLE = "visible"
    ALL = "all"


class StopOn(StrEnum):
    """Which tests end a trajectory once they pass."""

    ALL = "all"
    VISIBLE = "visible"


class History(StrEnum):
    """How much of the conversation is sent with the next request."""

    FULL = "full"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a run proceeds. Every field is recorded with the run and checked when runs are compared.

    `limits` None leaves each problem's own limits in force. `seed` is sent to the endpoint (mixed
    with problem and attempt) and breaks ties in local models.
    """

    start: Start = Start.GENERATE
    attempts: int = 6
    disclosure: Disclosure = Disclosure.VISIBLE
    stop_on: StopOn = StopOn.ALL
    history: History = History.FULL
    limits: Limits | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.attempts <= MAX_ATTEMPTS:
            raise InputError(f"attempts: must be between 1 and {MAX_ATTEMPTS}, not {self.attempts}")
        if self.limits is not None and not (0 < self.limits.cpu_seconds <= 300 and self.limits.memory_mb >= 32):
            raise InputError("limits: CPU time must be between 0 and 300 s and memory at least 32 MB")
