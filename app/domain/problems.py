"""Problem sets, problems, their tests, and buggy programs with known bugs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from app.domain.edits.blocks import Block
from app.domain.edits.diff import LineEdit
from app.domain.programs import Program


class Comparison(StrEnum):
    """How a returned value is held against the expected one."""

    EXACT = "exact"
    """Equal values of the same built-in type; NaN equals NaN."""
    FLOAT = "float"
    """As EXACT, but floats may differ by `tolerance`, absolute or relative."""
    UNORDERED = "unordered"
    """Sequences equal as multisets."""
    ANY_OF = "any_of"
    """Equal to any element of the expected list."""
    CHECKER = "checker"
    """Decided by the tests' own `check(arguments, expected, actual)`."""


class OutputComparison(StrEnum):
    """How printed text is held against the expected text."""

    LINES = "lines"
    """Equal line by line; blanks at the ends of lines and empty lines at the end do not count."""
    TOKENS = "tokens"
    """Equal as words between white space; two numbers may differ by the tolerance, where one is given."""
    EXACT = "exact"
    """Equal byte by byte."""


@dataclass(frozen=True, slots=True)
class Case:
    """One call of the entry point.

    `arguments` (a tuple) and `expected` are values in the text form of `app.domain.codec`.
    `visible` cases may be shown to the model; hidden ones never are, unless the protocol discloses all.
    """

    arguments: str
    expected: str
    visible: bool = False
    comparison: Comparison = Comparison.EXACT
    tolerance: float | None = None


@dataclass(frozen=True, slots=True)
class CaseTests:
    """Literal calls with expected values; the comparison happens outside the candidate's process.

    `in_place`: the answer is the argument of this index after the call, and what the call returns does not count.
    `fresh_process`: each case runs in a process of its own, for programs that may keep state between calls.
    `checker`: source of `check(arguments, expected, actual)`, for cases compared by CHECKER.
    `prelude`: code that runs in the candidate's process before the program, in its namespace; what a problem provides.
    `called`: a function of the prelude that is called in place of the entry point, where arguments or results must be
    converted there (nodes from lists, a list from a generator); it calls the entry point.
    """

    cases: tuple[Case, ...]
    in_place: int | None = None
    fresh_process: bool = False
    checker: str | None = None
    prelude: str = ""
    called: str | None = None
    style: Literal["cases"] = "cases"


@dataclass(frozen=True, slots=True)
class StdinCase:
    """One run of a program that reads standard input and prints its answer. Texts, in UTF-8."""

    input: str
    expected: str
    visible: bool = False


@dataclass(frozen=True, slots=True)
class StdinTests:
    """Runs of the program as a script, each in a process of its own. `tolerance` is for numbers among TOKENS."""

    cases: tuple[StdinCase, ...]
    comparison: OutputComparison = OutputComparison.LINES
    tolerance: float | None = None
    style: Literal["stdin"] = "stdin"


@dataclass(frozen=True, slots=True)
class AssertTests:
    """Test code that calls the candidate itself (HumanEval's `check(candidate)`, lists of asserts).

    `source` defines `check(candidate)`. `helpers` is code the tests may use (a prompt's helper
    functions), never the candidate's own globals. `visible` holds asserts a model may be shown.
    `prelude` is as in `CaseTests`.
    """

    source: str
    helpers: str = ""
    visible: tuple[str, ...] = ()
    prelude: str = ""
    style: Literal["asserts"] = "asserts"


@dataclass(frozen=True, slots=True)
class SuiteTests:
    """A unittest or pytest suite that imports the program.

    `files`: sources by path, never placed where the candidate runs. `module`: the name the suite imports the main file
    under. `checks`: how many tests must pass, where the suite's own count is not to be relied on.
    """

    framework: Literal["unittest", "pytest"]
    files: Mapping[str, str]
    module: str = "solution"
    checks: int | None = None
    style: Literal["suite"] = "suite"


@dataclass(frozen=True, slots=True)
class CommandTests:
    """A test command of a program of many files, run in the program's folder. Its verdicts are weak.

    `files` are laid over the program's. `command` must write a JUnit report to the path `report`, in which `checks`
    tests must have passed: an exit code alone is no evidence that anything was tested.
    """

    command: tuple[str, ...]
    report: str
    checks: int
    files: Mapping[str, str]
    style: Literal["command"] = "command"


Tests = CaseTests | AssertTests | StdinTests | SuiteTests | CommandTests


@dataclass(frozen=True, slots=True)
class Limits:
    """What one execution (all cases of one program) may use."""

    cpu_seconds: float = 5.0
    memory_mb: int = 512
    output_bytes: int = 64 * 1024

    @property
    def wall_seconds(self) -> float:
        """Wall time allowed: three times the CPU time, as the judge's rules have it."""
        return 3 * self.cpu_seconds


@dataclass(frozen=True, slots=True)
class Bug:
    """One atomic bug: its ODC class where it is known, and the edits that repair it.

    They are one block of the edit script from the buggy program to the reference.
    """

    edits: tuple[LineEdit, ...]
    description: str = ""
    odc_class: str | None = None
    odc_subclass: str | None = None


@dataclass(frozen=True, slots=True)
class BuggyProgram:
    """A faulty variant of a problem's reference, with the bugs it is known to hold, from its first line to its last.

    `epsilon`: edits a bug that a repair may need beyond the bug's own without loss of precision, where its set says so.
    """

    key: str
    program: Program
    bugs: tuple[Bug, ...]
    epsilon: int | None = None

    @property
    def truth(self) -> tuple[Block, ...]:
        """The blocks of edits that repair its bugs, one each."""
        return tuple(Block(bug.edits) for bug in self.bugs)

    @property
    def tolerance(self) -> int:
        """ε: what the set says, and else the benchmark's own: 2 where every bug is one line, 1 where one is longer."""
        if self.epsilon is not None:
            return self.epsilon
        return 2 if all(len(bug.edits) == 1 for bug in self.bugs) else 1


@dataclass(frozen=True, slots=True)
class Problem:
    """One task: what the model is asked, and how its answer is judged.

    `signature` is the code the model is given (imports, helpers, typed signature, docstring);
    `statement` is prose and may be empty where the signature's docstring says it all.
    """

    key: str
    title: str
    statement: str
    signature: str
    entry_point: str
    tests: Tests
    reference: Program
    language: str = "python"
    difficulty: str | None = None
    limits: Limits = Limits()
    buggy_programs: tuple[BuggyProgram, ...] = ()


@dataclass(frozen=True, slots=True)
class ProblemSet:
    """Problems as read from a file, before validation and storage."""

    name: str
    format: str
    problems: tuple[Problem, ...]
    licence: str = "unknown"
    source: str = ""
    notes: tuple[str, ...] = field(default=())
    """What the reader wants a person to know, such as problems it could not convert to cases."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Items it could not read as problems or buggy programs: their keys, and the reasons."""
