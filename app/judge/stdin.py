"""Judging what a program prints for what it reads."""

import math
from dataclasses import replace

from app.domain.errors import InputError
from app.domain.ports import End, ExecutionOutcome, Printed
from app.domain.problems import OutputComparison, StdinCase, StdinTests
from app.domain.verdicts import Judgement, Verdict
from app.judge import evidence
from app.judge.case_results import SHOWN, CaseResult, decide
from app.judge.styles import Question


def check(tests: StdinTests) -> None:
    """Refuse cases that cannot judge. Raises InputError."""
    if not tests.cases:
        raise InputError("tests: there is no case, so nothing could fail")
    if tests.tolerance is not None and not (tests.tolerance >= 0 and tests.comparison is OutputComparison.TOKENS):
        raise InputError("tests: a tolerance is a number from 0 and belongs to the comparison of tokens")


def judge(question: Question, tests: StdinTests) -> Judgement:
    """Run the program once a case and decide by the first that fails. Exit code 0 with the right output passes."""
    outcome = question.run(replace(question.execution(), inputs=tuple(case.input for case in tests.cases)))
    total = len(tests.cases)
    visible_total = sum(case.visible for case in tests.cases)
    if outcome.compile_error is not None:
        return evidence.compile_failure(outcome, total=total, visible_total=visible_total)
    results = [_result(case, printed, tests) for case, printed in zip(tests.cases, outcome.printed, strict=False)]
    results = _add_limit(results, outcome, total)

    def shown(index: int) -> tuple[str, str]:
        case = tests.cases[index]
        return _cut(case.input), _cut(case.expected)

    return decide(outcome, tests.cases, results, shown)


def _result(case: StdinCase, printed: Printed, tests: StdinTests) -> CaseResult:
    shown = _cut(printed.output.decode("utf-8", "backslashreplace"))
    if printed.error is not None:
        return CaseResult(Verdict.RE, printed.error, shown, printed.detail)
    if _same(printed.output, case.expected.encode("utf-8", "surrogatepass"), tests.comparison, tests.tolerance):
        return CaseResult(Verdict.AC, evidence.ACCEPTED, shown)
    return CaseResult(Verdict.WA, "wrong_output", shown)


def _add_limit(results: list[CaseResult], outcome: ExecutionOutcome, total: int) -> list[CaseResult]:
    """Give the case during which a limit was exceeded its result; what had been printed by then is in the output."""
    if outcome.end in evidence.LIMIT_VERDICTS:
        over = CaseResult(
            evidence.LIMIT_VERDICTS[outcome.end],
            outcome.end.value,
            _cut(outcome.stdout) or None,
            evidence.LIMIT_TEXTS[outcome.end],
        )
        return [*results[: total - 1], over]
    if len(results) < total or outcome.end is not End.COMPLETED:
        return [
            *results[: total - 1],
            CaseResult(Verdict.RE, "exit", error="the program ended before every input was read"),
        ]
    return results


def _same(actual: bytes, expected: bytes, comparison: OutputComparison, tolerance: float | None) -> bool:
    if comparison is OutputComparison.EXACT:
        return actual == expected
    if comparison is OutputComparison.LINES:
        return _lines(actual) == _lines(expected)
    ours, theirs = actual.split(), expected.split()
    return len(ours) == len(theirs) and all(
        one == other or (tolerance is not None and _close(one, other, tolerance))
        for one, other in zip(ours, theirs, strict=True)
    )


def _lines(text: bytes) -> list[bytes]:
    return [line.rstrip() for line in text.rstrip().split(b"\n")]


def _close(one: bytes, other: bytes, tolerance: float) -> bool:
    try:
        return math.isclose(float(one), float(other), rel_tol=tolerance, abs_tol=tolerance)
    except ValueError:
        return False


def _cut(text: str) -> str:
    """At most `SHOWN` characters, without NUL and lone surrogates."""
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"
