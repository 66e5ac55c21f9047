"""The judge: a program and a problem's tests in, a verdict with its evidence out."""

from collections.abc import Callable
from dataclasses import replace

from app.domain.errors import InputError
from app.domain.ports import End, Execution, ExecutionOutcome, Sandbox
from app.domain.problems import AssertTests, CaseTests, CommandTests, Limits, StdinTests, SuiteTests, Tests
from app.domain.programs import Program
from app.domain.verdicts import Judgement
from app.judge import asserts, cases, commands, stdin, suites
from app.judge.evidence import JUDGE_VERSION
from app.judge.styles import Question

__all__ = ["JUDGE_VERSION", "LANGUAGES", "Judge", "check_tests"]

LANGUAGES = ("python",)

NEAR_LIMIT = (0.6, 1.5)
"""Multiples of the CPU time allowed between which the load of the machine could decide."""


class Judge:
    """Judges programs with one sandbox. Safe to use from several threads, as the sandbox is."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def judge(
        self,
        program: Program,
        *,
        tests: Tests,
        entry_point: str,
        limits: Limits,
        language: str = "python",
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Judgement:
        """Run the program on every test and decide.

        The first failing case decides the verdict; the others run all the same, because partial scores are measured.
        Raises InputError where the tests cannot judge anything (see `check_tests`), SandboxError where the program
        could not be run or `cancelled` said so.
        """
        check_tests(tests, entry_point=entry_point, language=language)
        question = Question(program, entry_point, limits, language, lambda execution: self._run(execution, cancelled))
        match tests:
            case CaseTests():
                return cases.judge(question, tests)
            case AssertTests():
                return asserts.judge(question, tests)
            case StdinTests():
                return stdin.judge(question, tests)
            case SuiteTests():
                return suites.judge(question, tests)
            case CommandTests():
                return commands.judge(question, tests)

    def _run(self, execution: Execution, cancelled: Callable[[], bool]) -> ExecutionOutcome:
        """Run it; where the load of the machine could have decided whether it kept its time limit, once more alone.

        CPU time is inflated by what else the machine does. A program is therefore let run to the upper end of the
        band: whoever is ended there is too slow on any machine, and whoever ends before it and over the limit is run
        again with nothing beside. So is one that the wall clock ended while it was computing.
        """
        low, high = NEAR_LIMIT
        outcome = self._sandbox.run(replace(execution, cpu_factor=high), cancelled=cancelled)
        used = outcome.cpu_ms / 1000 / execution.limits.cpu_seconds
        starved = outcome.end is End.WALL_TIME and used > low / 3
        if outcome.end is End.CPU_TIME or not (low <= used or starved):
            return outcome
        if used > 1 or starved:
            outcome = self._sandbox.run(execution, cancelled=cancelled, alone=True)
        return replace(outcome, near_limit=True)


def check_tests(tests: Tests, *, entry_point: str, language: str = "python") -> None:
    """Refuse tests that could not tell a right program from a wrong one.

    Raises InputError: no case or check at all, values that are not codec text, code that does not compile.
    To be asked at import, before a run depends on it.
    """
    if language not in LANGUAGES:
        raise InputError(f"language: {language} programs cannot be judged, only {', '.join(LANGUAGES)}")
    if isinstance(tests, CaseTests | AssertTests) and not (
        entry_point and all(part.isidentifier() for part in entry_point.split("."))
    ):
        raise InputError(f"entry_point: {entry_point!r} is not a name")
    match tests:
        case CaseTests():
            cases.check(tests)
        case AssertTests():
            asserts.check(tests)
        case StdinTests():
            stdin.check(tests)
        case SuiteTests():
            suites.check(tests)
        case CommandTests():
            commands.check(tests)
