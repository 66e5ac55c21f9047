"""Judging by a unittest or pytest suite that imports the program."""

from dataclasses import replace

from app.domain.errors import InputError
from app.domain.problems import SuiteTests
from app.domain.verdicts import FirstFailure, Judgement, Verdict
from app.judge import asserts, evidence
from app.judge.files import check_files
from app.judge.styles import Question


def check(tests: SuiteTests) -> None:
    """Refuse a suite that cannot judge. Raises InputError."""
    check_files(tests.files)
    if not any("test" in path.rpartition("/")[2] and path.endswith(".py") for path in tests.files):
        raise InputError("tests: no file of the suite is named like a test (`…test….py`)")
    if not all(part.isidentifier() for part in tests.module.split(".")):
        raise InputError(f"tests: {tests.module!r} is not the name of a module")
    if tests.checks is not None and tests.checks < 1:
        raise InputError("tests: a suite of no checks cannot fail")


def judge(question: Question, tests: SuiteTests) -> Judgement:
    """Run the suite to its end and decide by the first test that fails."""
    outcome = question.run(replace(question.execution(), suite=tests))
    expected = tests.checks or 1
    if outcome.compile_error is not None:
        return evidence.compile_failure(outcome, total=expected, visible_total=0)
    verdict, reason, error = asserts.decide(outcome)
    passed = outcome.tester_checks
    run = passed + outcome.tester_failed
    if verdict is not Verdict.AC:
        run = max(run, passed + 1)
    total = max(run, tests.checks or 0)
    if verdict is Verdict.AC and run < total:
        verdict, reason, error = Verdict.RE, "missing_checks", f"only {run} of {total} tests ran"
    first_failure = None
    if verdict is not Verdict.AC:
        shown = outcome.tester_failures[0] if outcome.tester_failures else ""
        first_failure = FirstFailure(0 if shown else passed, False, shown, None, None, error)
    return evidence.judgement(
        outcome,
        verdict,
        reason,
        passed=passed,
        run=run,
        total=total,
        visible_passed=0,
        visible_total=0,
        first_failure=first_failure,
    )
