"""The judge: a program and a problem's tests in, a verdict with its evidence out."""

from collections.abc import Callable

from app.domain.errors import InputError
from app.domain.ports import Sandbox
from app.domain.problems import CaseTests, Limits, Tests
from app.domain.programs import Program
from app.domain.verdicts import Judgement
from app.judge import asserts, cases

JUDGE_VERSION = 1
"""Raised whenever the same program and tests could get another verdict than before. Part of the result cache's key."""

LANGUAGES = ("python",)


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
        if isinstance(tests, CaseTests):
            return cases.judge(self._sandbox, program, tests, entry_point, limits, language, JUDGE_VERSION, cancelled)
        return asserts.judge(self._sandbox, program, tests, entry_point, limits, language, JUDGE_VERSION, cancelled)


def check_tests(tests: Tests, *, entry_point: str, language: str = "python") -> None:
    """Refuse tests that could not tell a right program from a wrong one.

    Raises InputError: no case or check at all, values that are not codec text, code that does not compile.
    To be asked at import, before a run depends on it.
    """
    if language not in LANGUAGES:
        raise InputError(f"language: {language} programs cannot be judged, only {', '.join(LANGUAGES)}")
    if not entry_point or not all(part.isidentifier() for part in entry_point.split(".")):
        raise InputError(f"entry_point: {entry_point!r} is not a name")
    if isinstance(tests, CaseTests):
        cases.check(tests)
    else:
        asserts.check(tests)
