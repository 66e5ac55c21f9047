"""A protocol: everything about a run that decides whether two runs may be compared."""

from dataclasses import dataclass, replace
from enum import StrEnum

from app.domain.errors import InputError
from app.domain.ports import Sampling
from app.domain.problems import Limits
from app.domain.protocol.restart import NO_FRESH_START, FreshStart
from app.domain.text import has_controls

MAX_ATTEMPTS = 50
"""Far above any published protocol (25); a bound so that a typing slip cannot start an endless run."""


MAX_CPU_SECONDS = 300
MIN_MEMORY_MB = 32
"""An interpreter alone needs about 10."""
MAX_MEMORY_MB = 65_536
MAX_SYSTEM_PROMPT = 20_000
"""Characters. It is sent with every request."""
MAX_TEMPERATURE = 2.0


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


class Prompts(StrEnum):
    """How the task and the feedback on a failure are worded."""

    HALFLIFE = "halflife"
    """Ours, see `app.domain.protocol.prompts`."""
    FEEDBACK_LOOPS = "feedback_loops"
    """As the paper on iterative feedback loops words them, see `app.domain.protocol.feedback_loops`."""
    MINIMAL = "minimal"
    """For repairs: to fix only what is wrong, see `app.domain.protocol.precise_debugging`."""
    FREEFORM = "freeform"
    """For repairs: to debug, without constraints."""


class History(StrEnum):
    """How much of the conversation is sent with the next request."""

    FULL = "full"
    LAST = "last"
    APPENDED = "appended"
    """No conversation: each request is the task anew, with the failed replies since the last fresh start appended."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a run proceeds. Every field is recorded with the run and checked when runs are compared.

    `cpu_seconds` and `memory_mb` stand in for each problem's own limits; None leaves those in force. `seed` is sent
    to the endpoint (mixed with problem and attempt) and breaks ties in local models. `system_prompt` stands in for the
    one of `app.domain.protocol.prompts`. `fresh_start` says when the conversation is cleared.

    `temperature` and `top_p` stand in for the model's own; None leaves those in force. `hint` ends the first message by
    a line that asks for a fast algorithm.
    """

    start: Start = Start.GENERATE
    attempts: int = 6
    disclosure: Disclosure = Disclosure.VISIBLE
    stop_on: StopOn = StopOn.ALL
    history: History = History.FULL
    cpu_seconds: float | None = None
    memory_mb: int | None = None
    seed: int = 0
    system_prompt: str | None = None
    fresh_start: FreshStart = NO_FRESH_START
    prompts: Prompts = Prompts.HALFLIFE
    hint: bool = False
    temperature: float | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.attempts <= MAX_ATTEMPTS:
            raise InputError(f"attempts: must be between 1 and {MAX_ATTEMPTS}, not {self.attempts}")
        self.fresh_start.check(self.attempts)
        if self.cpu_seconds is not None and not 0 < self.cpu_seconds <= MAX_CPU_SECONDS:
            raise InputError(f"CPU limit: must be above 0 and at most {MAX_CPU_SECONDS} s, not {self.cpu_seconds:g}")
        if self.memory_mb is not None and not MIN_MEMORY_MB <= self.memory_mb <= MAX_MEMORY_MB:
            raise InputError(
                f"memory limit: must be between {MIN_MEMORY_MB} and {MAX_MEMORY_MB} MB, not {self.memory_mb}"
            )
        if self.system_prompt is not None:
            check_system_prompt(self.system_prompt)
        check_sampling(self.temperature, self.top_p)
        check_prompts(self.prompts, self.start)

    def limits(self, own: Limits) -> Limits:
        """The limits in force for a problem whose own are `own`."""
        return replace(own, cpu_seconds=self.cpu_seconds or own.cpu_seconds, memory_mb=self.memory_mb or own.memory_mb)

    def sampling(self, own: Sampling) -> Sampling:
        """The sampling in force for a model whose own is `own`."""
        return replace(
            own,
            temperature=own.temperature if self.temperature is None else self.temperature,
            top_p=own.top_p if self.top_p is None else self.top_p,
        )


def check_prompts(prompts: Prompts, start: Start) -> None:
    """Refuse prompts that have no words for what attempt 0 is. Raises InputError."""
    if prompts is Prompts.FEEDBACK_LOOPS and start is Start.DEBUG:
        raise InputError("prompts: those of the paper on feedback loops ask for a first answer, not for a repair")
    if prompts in (Prompts.MINIMAL, Prompts.FREEFORM) and start is not Start.DEBUG:
        raise InputError(f"prompts: the {prompts} one asks for a repair, not for a first answer")


def check_sampling(temperature: float | None, top_p: float | None) -> None:
    """Refuse what no endpoint takes; None leaves its default. Raises InputError."""
    if temperature is not None and not 0 <= temperature <= MAX_TEMPERATURE:
        raise InputError(f"temperature: must be between 0 and {MAX_TEMPERATURE:g}, not {temperature:g}")
    if top_p is not None and not 0 < top_p <= 1:
        raise InputError(f"top-p: must be above 0 and at most 1, not {top_p:g}")


def check_system_prompt(text: str) -> None:
    """Refuse what cannot be sent as a system prompt. Raises InputError."""
    if not text.strip():
        raise InputError("system prompt: must not be blank; leave it out for the usual one")
    if len(text) > MAX_SYSTEM_PROMPT:
        raise InputError(f"system prompt: must have at most {MAX_SYSTEM_PROMPT:,} characters, not {len(text):,}")
    if has_controls(text):
        raise InputError("system prompt: must not hold control characters")
