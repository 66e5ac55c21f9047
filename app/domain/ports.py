"""What the product needs from the outside, as protocols; tests hold every adapter to one contract each."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

from app.domain.problems import CaseTests, CommandTests, Limits, SuiteTests
from app.domain.programs import Program
from app.domain.verdicts import MemoryTier, Verdict


class End(StrEnum):
    """How an execution ended, by the supervisor's account."""

    COMPLETED = "completed"
    """The candidate answered every call (or its tests ran through) and was ended by us."""
    EXITED = "exited"
    """It ended by itself before that, by exit code or signal."""
    CPU_TIME = "cpu_time"
    WALL_TIME = "wall_time"
    MEMORY = "memory"
    OUTPUT_LIMIT = "output_limit"


@dataclass(frozen=True, slots=True)
class Execution:
    """A program to run and what to do with it. No expected value is ever in it, save inside `tester`.

    Exactly one of these says what to do:
    `calls`: argument tuples (codec text, see `app.domain.codec`), called in order on `entry_point`; with `in_place`
    the answer is that argument after the call, with `fresh_process` each call gets a process of its own.
    `inputs`: texts, for each of which the program runs as a script that reads it from standard input.
    `tester`: test code that calls the candidate itself; it runs beside the candidate, and calls cross
    between the two.
    `suite`: a suite of tests that imports the program, likewise beside it.
    `command`: a command run in the program's folder, in the candidate's own process.

    `prelude`: code that runs in the candidate's process before the program, in its namespace; for calls and testers.
    `cpu_factor`: CPU time is cut at so many times its limit, so that a program near the limit is seen to end. Whoever
    asks for more than 1 holds `cpu_ms` against the limit themselves.
    """

    program: Program
    entry_point: str
    limits: Limits
    language: str = "python"
    calls: tuple[str, ...] = ()
    in_place: int | None = None
    fresh_process: bool = False
    prelude: str = ""
    inputs: tuple[str, ...] = ()
    tester: str | None = None
    suite: SuiteTests | None = None
    command: CommandTests | None = None
    cpu_factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call gave: a value (codec text), or an error.

    kind `value`: `value` is set. `exception`: `error` is the exception's type name, `detail` its message
    and traceback through the candidate's lines. `unencodable`: the value cannot leave the process
    (a function, a custom object); `detail` names its type.
    """

    kind: Literal["value", "exception", "unencodable"]
    value: str | None = None
    error: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Printed:
    """What one run on an input gave: bytes on standard output, and how the process ended.

    `error` is None where it ended with exit code 0, else a word (the exception's type, `exit`, a signal's name), and
    `detail` says more.
    """

    output: bytes
    error: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ExecutionOutcome:
    """Facts about an execution, gathered outside the candidate's process.

    `compile_error` is set where the program could not be compiled, and nothing ran then.
    `answers` holds one entry a call answered, in order; it is shorter than `calls` where the candidate ended early.
    `printed` holds one entry an input, and is shorter than `inputs` where a limit was exceeded.
    `report` is the text of the file a `command` left as its report, None where it left none.
    `tester_checks` counts checks that ran and passed, `tester_failed` those that failed; `tester_failures` holds the
    source of the first hundred that failed. `tester_error` is what made the tests fail, None if they passed;
    `tester_reason` says it in a word: `assertion_failed`, or the type of what the candidate raised.
    `tester_completed`: the tests ran to their end, whether or not checks failed.
    """

    end: End
    answers: tuple[Answer, ...]
    sandbox: str
    memory_tier: MemoryTier
    printed: tuple[Printed, ...] = ()
    report: str | None = None
    compile_error: str | None = None
    tester_checks: int = 0
    tester_failed: int = 0
    tester_failures: tuple[str, ...] = ()
    tester_error: str | None = None
    tester_reason: str | None = None
    tester_completed: bool = False
    weak: bool = False
    near_limit: bool = False
    exit_code: int | None = None
    signal: int | None = None
    cpu_ms: float = 0.0
    wall_ms: float = 0.0
    peak_memory_kb: int = 0
    oom_kills: int = 0
    stdout: str = ""
    stderr: str = ""


class Sandbox(Protocol):
    """Runs untrusted programs. Safe to call from several threads; each call takes one slot."""

    @property
    def name(self) -> str:
        """The isolation: "bubblewrap", "slot" (a container), or "none" where programs run without."""
        ...

    @property
    def memory_tier(self) -> MemoryTier:
        """How exactly memory limits are enforced."""
        ...

    def run(
        self, execution: Execution, *, cancelled: Callable[[], bool] = lambda: False, alone: bool = False
    ) -> ExecutionOutcome:
        """Carry out one execution; `alone` with no other execution of this sandbox beside it.

        Raises SandboxError where it could not be carried out (which says nothing about the program).
        `cancelled` is polled; a cancelled execution raises SandboxError too.
        """
        ...

    def close(self) -> None:
        """End every process of the sandbox."""
        ...


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters as sent. None leaves the endpoint's default in force."""

    temperature: float | None = 0.8
    top_p: float | None = None
    max_tokens: int = 1024


UNKNOWN_SAMPLING = Sampling(temperature=None, top_p=None, max_tokens=0)
"""Of a model whose runs were recorded elsewhere. Nobody is asked for no token at all."""


@dataclass(frozen=True, slots=True)
class Trial:
    """An earlier attempt of this trajectory, as a local model may see it. `program` is None where it held none."""

    program: Program | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Task:
    """The problem as data, for models that are programs (repair-search). It holds only what the conversation discloses:

    `tests` has the visible cases, or all where the protocol discloses all; None where there are none.
    `start` is the given buggy program; None when the run starts by generating.
    """

    problem_key: str
    entry_point: str
    limits: Limits
    tests: CaseTests | None
    start: Program | None
    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model. `seed` is derived from run, problem and attempt, so that a rerun asks alike."""

    messages: tuple[Message, ...]
    sampling: Sampling
    seed: int
    task: Task


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's answer. Token counts are None where the endpoint reports none; `truncated` when it hit `max_tokens`."""

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    truncated: bool
    latency_ms: float
    finish_reason: str | None = None
    model: str | None = None
    """The model's name as the endpoint reports it."""


class Model(Protocol):
    """Something that answers a request. Safe to call from several threads."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Answer the request once, without retrying.

        Raises ModelUnavailable (passing; the engine retries with backoff) or ModelRejected (lasting).
        """
        ...
