"""What the judge says about a program."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The six verdicts, and two that no judge gives: each counts as a failed attempt.

    `no_code` is a reply without a program. `failed` is known from a recording that does not say how the program failed.
    An infrastructure failure is no verdict: it is raised as `InfrastructureError`, retried and never stored as one.
    """

    AC = "AC"
    CE = "CE"
    RE = "RE"
    WA = "WA"
    TLE = "TLE"
    MLE = "MLE"
    NO_CODE = "no_code"
    FAILED = "failed"


class MemoryTier(StrEnum):
    """How exactly the memory limit was enforced; part of comparability."""

    CGROUP = "cgroup"
    RLIMIT = "rlimit"


@dataclass(frozen=True, slots=True)
class FirstFailure:
    """The first failing case. Texts are Python literals, cut to a readable length.

    `visible` False means that a model must not be shown it unless the protocol discloses all.
    `expected` is None where the tests are code and no expected value exists; `actual` is None
    where the program gave no value; `error` then says why (exception and traceback, or the limit).
    """

    index: int
    visible: bool
    input: str
    expected: str | None
    actual: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its evidence.

    Times in milliseconds, memory in KiB. `reason` is a short stable word or phrase that says why
    (for example `wrong_value`, `ZeroDivisionError`, `output_limit`, `cpu_time`, `wall_time`).
    `weak`: the tests had to run in the candidate's own process. `near_limit`: it used between 0.6 and 1.5 times
    the CPU time allowed, where a crowded machine could decide; if more than allowed, it was run once more alone.
    `sandbox` names the isolation ("bubblewrap", "slot"; "none" where an explicit setting ran the program unsandboxed).
    Invariant: verdict AC implies cases_passed = cases_run = cases_total > 0.
    """

    verdict: Verdict
    reason: str
    cases_passed: int
    cases_run: int
    cases_total: int
    visible_passed: int
    visible_total: int
    sandbox: str
    memory_tier: MemoryTier
    judge_version: int
    weak: bool = False
    near_limit: bool = False
    first_failure: FirstFailure | None = None
    exit_code: int | None = None
    signal: int | None = None
    cpu_ms: float = 0.0
    wall_ms: float = 0.0
    peak_memory_kb: int = 0
    oom_kills: int = 0
    stdout: str = ""
    stderr: str = ""

    def __post_init__(self) -> None:
        if self.verdict is Verdict.AC and not (self.cases_passed == self.cases_run == self.cases_total > 0):
            raise ValueError(
                f"AC needs every case run and passed, got {self.cases_passed}/{self.cases_run}/{self.cases_total}"
            )
