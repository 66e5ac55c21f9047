"""Judging by test code that calls the candidate itself."""

import ast
from dataclasses import replace

from app.domain.errors import InputError, SandboxError
from app.domain.ports import End, ExecutionOutcome
from app.domain.problems import AssertTests
from app.domain.syntax import parse
from app.domain.verdicts import FirstFailure, Judgement, Verdict
from app.judge import evidence
from app.judge.styles import Question, check_prelude

_WRONG_ANSWERS = ("assertion_failed", "unencodable_value")


def check(tests: AssertTests) -> None:
    """Refuse test code that cannot judge. Raises InputError."""
    tree = _parse(tests)
    if not any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body):
        raise InputError("tests: the code defines no function check(candidate)")
    if not _count_asserts(tree):
        raise InputError("tests: the code asserts nothing, so nothing could fail")
    check_prelude(tests.prelude)


def judge(question: Question, tests: AssertTests) -> Judgement:
    """Run the tests to their end, false asserts included, and decide by the first that fails.

    An assert in a loop counts each time it runs. Where the tests stop early, the asserts in the code say how many
    checks there were at least.
    """
    source = _source(tests)
    visible_total = len(tests.visible)
    in_code = _count_asserts(parse(source))
    outcome = question.run(replace(question.execution(), tester=source, prelude=tests.prelude))
    if outcome.compile_error is not None:
        return evidence.compile_failure(outcome, total=in_code, visible_total=visible_total)
    verdict, reason, error = decide(outcome)
    passed = outcome.tester_checks
    if verdict is Verdict.AC:
        run = total = passed
        visible_passed = visible_total
        first_failure = None
    else:
        # What ended the tests outside of any assert is one more check that ran.
        run = passed + max(outcome.tester_failed, 1)
        total = run if outcome.tester_completed else max(run, in_code)
        failed = {_normal(one) for one in outcome.tester_failures}
        seen = [one for one in tests.visible if _normal(one) not in failed]
        visible_passed = len(seen) if outcome.tester_completed else 0
        visible = bool(outcome.tester_failures) and _normal(outcome.tester_failures[0]) in map(_normal, tests.visible)
        shown = outcome.tester_failures[0] if outcome.tester_failures else ""
        first_failure = FirstFailure(passed if not outcome.tester_failures else 0, visible, shown, None, None, error)
    return evidence.judgement(
        outcome,
        verdict,
        reason,
        passed=passed,
        run=run,
        total=total,
        visible_passed=visible_passed,
        visible_total=visible_total,
        first_failure=first_failure,
    )


def decide(outcome: ExecutionOutcome) -> tuple[Verdict, str, str | None]:
    """Verdict, reason and error of tests that count their checks. Raises SandboxError where trusted ones made none."""
    # An earlier failing check decides, even where a later one went over a limit.
    if outcome.tester_reason is not None and outcome.tester_reason != "memory":
        verdict = Verdict.WA if outcome.tester_reason in _WRONG_ANSWERS else Verdict.RE
        return verdict, outcome.tester_reason, outcome.tester_error
    if outcome.end in evidence.LIMIT_VERDICTS:
        text = evidence.LIMIT_TEXTS[outcome.end]
        return evidence.LIMIT_VERDICTS[outcome.end], outcome.end.value, text
    if outcome.tester_failed or outcome.end is not End.COMPLETED or not outcome.tester_completed:
        return Verdict.RE, "exit", outcome.tester_error or "the program ended before the tests did"
    if outcome.tester_checks == 0:
        if outcome.weak:
            return Verdict.RE, "no_checks", "the tests ended without a check"
        raise SandboxError("the tests ran to their end without a single check")
    return Verdict.AC, evidence.ACCEPTED, None


def _source(tests: AssertTests) -> str:
    return f"{tests.helpers}\n\n{tests.source}"


def _parse(tests: AssertTests) -> ast.Module:
    try:
        return parse(_source(tests))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"tests: the code does not compile: {error}") from error


def _count_asserts(tree: ast.AST) -> int:
    return sum(isinstance(node, ast.Assert) for node in ast.walk(tree))


def _normal(check: str) -> str:
    try:
        return ast.unparse(parse(check))
    except (SyntaxError, ValueError, RecursionError):
        return check.strip()
