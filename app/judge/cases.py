"""Judging literal calls: the sandbox answers them, the comparison with the expected values happens here."""

from collections.abc import Callable
from dataclasses import dataclass

from app.domain.codec import CodecError, decode, readable
from app.domain.errors import InputError
from app.domain.ports import Answer, End, Execution, ExecutionOutcome, Sandbox
from app.domain.problems import Case, CaseTests, Comparison, Limits
from app.domain.programs import Program
from app.domain.verdicts import FirstFailure, Judgement, Verdict
from app.judge import evidence
from app.judge.comparison import matches

_SHOWN = 2000
"""Characters of a value that are shown."""


@dataclass(frozen=True, slots=True)
class _Result:
    """What one case came to. `verdict` AC means passed."""

    verdict: Verdict
    reason: str
    actual: str | None = None
    error: str | None = None


def check(tests: CaseTests) -> None:
    """Refuse cases that cannot judge. Raises InputError naming the case (counted from 0)."""
    if not tests.cases:
        raise InputError("tests: there is no case, so nothing could fail")
    for index, case in enumerate(tests.cases):
        try:
            arguments, expected = decode(case.arguments), decode(case.expected)
        except CodecError as error:
            raise InputError(f"tests: case {index}: {error}") from error
        if not isinstance(arguments, tuple):
            raise InputError(f"tests: case {index}: the arguments are not a tuple")
        if case.comparison is Comparison.ANY_OF and not (isinstance(expected, (list, tuple)) and expected):
            raise InputError(f"tests: case {index}: any_of needs a list of accepted values")
        if case.tolerance is not None and not case.tolerance >= 0:
            raise InputError(f"tests: case {index}: the tolerance is negative or not a number")


def judge(
    sandbox: Sandbox,
    program: Program,
    tests: CaseTests,
    entry_point: str,
    limits: Limits,
    language: str,
    version: int,
    cancelled: Callable[[], bool],
) -> Judgement:
    """Run every case and decide by the first that fails."""
    calls = tuple(case.arguments for case in tests.cases)
    outcome = sandbox.run(Execution(program, entry_point, limits, language, calls=calls), cancelled=cancelled)
    total = len(tests.cases)
    visible_total = sum(case.visible for case in tests.cases)
    if outcome.compile_error is not None:
        return evidence.compile_failure(outcome, total=total, visible_total=visible_total, version=version)
    results = [_result(case, answer) for case, answer in zip(tests.cases, outcome.answers, strict=False)]
    results = _add_limit(results, outcome, total)
    failing = next((index for index, result in enumerate(results) if result.verdict is not Verdict.AC), None)
    passed = sum(result.verdict is Verdict.AC for result in results)
    first_failure = None
    verdict, reason = Verdict.AC, evidence.ACCEPTED
    if failing is not None:
        case, result = tests.cases[failing], results[failing]
        verdict, reason = result.verdict, result.reason
        first_failure = FirstFailure(
            failing,
            case.visible,
            readable(case.arguments, _SHOWN),
            readable(case.expected, _SHOWN),
            result.actual,
            result.error,
        )
    return evidence.judgement(
        outcome,
        verdict,
        reason,
        passed=passed,
        run=len(results),
        total=total,
        visible_passed=sum(
            case.visible and result.verdict is Verdict.AC for case, result in zip(tests.cases, results, strict=False)
        ),
        visible_total=visible_total,
        version=version,
        first_failure=first_failure,
    )


def _result(case: Case, answer: Answer) -> _Result:
    if answer.kind == "exception":
        return _Result(Verdict.RE, answer.error or "exception", error=answer.detail)
    if answer.kind == "unencodable" or answer.value is None:
        return _Result(Verdict.WA, "unencodable_value", error=answer.detail)
    try:
        actual = decode(answer.value)
    except CodecError as error:
        # Only a program that writes its answers itself, past the encoder, gets here.
        return _Result(Verdict.WA, "unencodable_value", error=str(error))
    shown = readable(answer.value, _SHOWN)
    if matches(actual, decode(case.expected), case.comparison, case.tolerance):
        return _Result(Verdict.AC, evidence.ACCEPTED, actual=shown)
    return _Result(Verdict.WA, "wrong_value", actual=shown)


def _add_limit(results: list[_Result], outcome: ExecutionOutcome, total: int) -> list[_Result]:
    """Give the case during which a limit was exceeded its result."""
    if outcome.end in evidence.LIMIT_VERDICTS:
        over = _Result(evidence.LIMIT_VERDICTS[outcome.end], outcome.end.value, error=evidence.LIMIT_TEXTS[outcome.end])
        # Where every case had been answered, the last one was the last straw.
        return [*results[: total - 1], over]
    if len(results) < total or (outcome.end is End.EXITED and all(one.verdict is Verdict.AC for one in results)):
        gone = _Result(Verdict.RE, "exit", error="the program ended before it had answered")
        return [*results[: total - 1], gone]
    return results
