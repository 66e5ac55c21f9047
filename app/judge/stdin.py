"""Judging what a program prints for what it reads."""

import math
from dataclasses import dataclass, replace

from app.domain.errors import InputError
from app.domain.ports import End, ExecutionOutcome, Printed
from app.domain.problems import OutputComparison, StdinCase, StdinTests
from app.domain.verdicts import FirstFailure, Judgement, Verdict
from app.judge import evidence
from app.judge.styles import Question

_SHOWN = 2000
"""Characters of a text that are shown."""


@dataclass(frozen=True, slots=True)
class _Result:
    """What one case came to. `verdict` AC means passed."""

    verdict: Verdict
    reason: str
    actual: str | None = None
    error: str | None = None


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
    failing = next((index for index, result in enumerate(results) if result.verdict is not Verdict.AC), None)
    first_failure = None
    verdict, reason = Verdict.AC, evidence.ACCEPTED
    if failing is not None:
        case, result = tests.cases[failing], results[failing]
        verdict, reason = result.verdict, result.reason
        first_failure = FirstFailure(
            failing, case.visible, _cut(case.input), _cut(case.expected), result.actual, result.error
        )
    return evidence.judgement(
        outcome,
        verdict,
        reason,
        passed=sum(result.verdict is Verdict.AC for result in results),
        run=len(results),
        total=total,
        visible_passed=sum(
            case.visible and result.verdict is Verdict.AC for case, result in zip(tests.cases, results, strict=False)
        ),
        visible_total=visible_total,
        first_failure=first_failure,
    )


def _result(case: StdinCase, printed: Printed, tests: StdinTests) -> _Result:
    shown = _cut(printed.output.decode("utf-8", "backslashreplace"))
    if printed.error is not None:
        return _Result(Verdict.RE, printed.error, shown, printed.detail)
    if _same(printed.output, case.expected.encode("utf-8", "surrogatepass"), tests.comparison, tests.tolerance):
        return _Result(Verdict.AC, evidence.ACCEPTED, shown)
    return _Result(Verdict.WA, "wrong_output", shown)


def _add_limit(results: list[_Result], outcome: ExecutionOutcome, total: int) -> list[_Result]:
    """Give the case during which a limit was exceeded its result; what had been printed by then is in the output."""
    if outcome.end in evidence.LIMIT_VERDICTS:
        over = _Result(
            evidence.LIMIT_VERDICTS[outcome.end],
            outcome.end.value,
            _cut(outcome.stdout) or None,
            evidence.LIMIT_TEXTS[outcome.end],
        )
        return [*results[: total - 1], over]
    if len(results) < total or outcome.end is not End.COMPLETED:
        return [
            *results[: total - 1],
            _Result(Verdict.RE, "exit", error="the program ended before every input was read"),
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
    """At most `_SHOWN` characters, without NUL and lone surrogates."""
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
