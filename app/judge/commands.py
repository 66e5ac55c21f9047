"""Judging by a test command of a program of many files, from the JUnit report it leaves. Always weak."""

from dataclasses import replace
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from app.domain.errors import InputError
from app.domain.ports import End
from app.domain.problems import CommandTests
from app.domain.verdicts import FirstFailure, Judgement, Verdict
from app.judge import evidence
from app.judge.files import check_files
from app.judge.styles import Question

_MAX_TEXT = 2000


def check(tests: CommandTests) -> None:
    """Refuse a command that cannot judge. Raises InputError."""
    if not tests.command or not all(tests.command):
        raise InputError("tests: the command is empty")
    if tests.checks < 1:
        raise InputError("tests: a command of no checks cannot fail")
    check_files([*tests.files, tests.report])


def judge(question: Question, tests: CommandTests) -> Judgement:
    """Run the command; accepted are exit code 0 and a report in which as many tests passed as there must be."""
    outcome = question.run(replace(question.execution(), command=tests))
    passed, failures = _read(outcome.report)
    run = passed + len(failures)
    if outcome.end in evidence.LIMIT_VERDICTS:
        verdict, reason = evidence.LIMIT_VERDICTS[outcome.end], outcome.end.value
        error: str | None = evidence.LIMIT_TEXTS[outcome.end]
    elif failures:
        (name, reason, error), *_ = failures
        verdict = Verdict.WA if reason == "failure" else Verdict.RE
        error = f"{name}\n{error}"
    elif outcome.end is not End.COMPLETED or outcome.tester_error is not None:
        verdict, reason, error = Verdict.RE, "exit", f"the command ended with {outcome.tester_error or outcome.end}"
    elif run < tests.checks:
        verdict, reason, error = Verdict.RE, "missing_checks", f"only {run} of {tests.checks} tests ran"
    else:
        verdict, reason, error = Verdict.AC, evidence.ACCEPTED, None
    if verdict is not Verdict.AC:
        run = max(run, passed + 1)
    return evidence.judgement(
        outcome,
        verdict,
        reason,
        passed=passed,
        run=run,
        total=max(run, tests.checks),
        visible_passed=0,
        visible_total=0,
        first_failure=None if error is None else FirstFailure(passed, False, "", None, None, error),
    )


def _read(report: str | None) -> tuple[int, list[tuple[str, str, str]]]:
    """How many tests passed, and (name, `failure` or `error`, text) of those that did not. Skipped ones are neither."""
    if report is None:
        return 0, []
    try:
        root: Element = fromstring(report, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError):
        return 0, []
    passed = 0
    failures = []
    for test in root.iter("testcase"):
        bad = next((part for part in test if part.tag in ("failure", "error")), None)
        if bad is not None:
            name = f"{test.get('classname', '')}.{test.get('name', '')}".strip(".")
            failures.append((name, bad.tag, (bad.get("message") or bad.text or "")[:_MAX_TEXT]))
        elif test.find("skipped") is None:
            passed += 1
    return passed, failures
