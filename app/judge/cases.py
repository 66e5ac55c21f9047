"""Judging literal calls: the sandbox answers them, the comparison with the expected values happens here."""

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from app.domain.codec import CodecError, decode, encode, readable
from app.domain.errors import InputError, SandboxError
from app.domain.ports import Answer, End, Execution, ExecutionOutcome
from app.domain.problems import Case, CaseTests, Comparison, Limits
from app.domain.programs import Program
from app.domain.syntax import parse
from app.domain.verdicts import Judgement, Verdict
from app.judge import evidence
from app.judge.case_results import SHOWN, CaseResult, decide
from app.judge.comparison import matches
from app.judge.styles import Question, check_prelude

CHECKER = "check"
"""The function a checker defines: `check(arguments, expected, actual)`, true where `actual` is a right answer."""
_CHECKER_LIMITS = Limits(cpu_seconds=20.0, memory_mb=512)


@lru_cache(maxsize=8)  # many programs are judged by the same tests, and reading large cases takes longer than a program
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
        if tests.in_place is not None and not 0 <= tests.in_place < len(arguments):
            raise InputError(f"tests: case {index}: there is no argument {tests.in_place} to find the answer in")
    _check_checker(tests)
    check_prelude(tests.prelude, tests.called)


def _check_checker(tests: CaseTests) -> None:
    wanted = any(case.comparison is Comparison.CHECKER for case in tests.cases)
    if wanted is not (tests.checker is not None):
        raise InputError("tests: a checker, and cases that it decides, go together")
    if tests.checker is None:
        return
    try:
        tree = parse(tests.checker)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"tests: the checker does not compile: {error}") from error
    if not any(isinstance(node, ast.FunctionDef) and node.name == CHECKER for node in tree.body):
        raise InputError(f"tests: the checker defines no function {CHECKER}(arguments, expected, actual)")


def judge(question: Question, tests: CaseTests) -> Judgement:
    """Run every case and decide by the first that fails.

    Raises SandboxError where the checker fails: that says nothing about the program.
    """
    calls = tuple(case.arguments for case in tests.cases)
    outcome = question.run(
        replace(
            question.execution(),
            entry_point=tests.called or question.entry_point,
            calls=calls,
            in_place=tests.in_place,
            fresh_process=tests.fresh_process,
            prelude=tests.prelude,
        )
    )
    total = len(tests.cases)
    visible_total = sum(case.visible for case in tests.cases)
    if outcome.compile_error is not None:
        return evidence.compile_failure(outcome, total=total, visible_total=visible_total)
    results = [_result(case, answer) for case, answer in zip(tests.cases, outcome.answers, strict=False)]
    if tests.checker is not None:
        results = _ask_checker(question, tests.checker, tests.cases, outcome.answers, results)
    results = _add_limit(results, outcome, total)

    def shown(index: int) -> tuple[str, str]:
        case = tests.cases[index]
        return readable(case.arguments, SHOWN), readable(case.expected, SHOWN)

    return decide(outcome, tests.cases, results, shown)


def _result(case: Case, answer: Answer) -> CaseResult:
    if answer.kind == "exception":
        return CaseResult(Verdict.RE, answer.error or "exception", error=answer.detail)
    if answer.kind == "unencodable" or answer.value is None:
        return CaseResult(Verdict.WA, "unencodable_value", error=answer.detail)
    if answer.value == case.expected and case.comparison is Comparison.EXACT:
        # The expected value was read by `check`, and the same text is the same value.
        return CaseResult(Verdict.AC, evidence.ACCEPTED, actual=readable(answer.value, SHOWN))
    try:
        actual = decode(answer.value)
    except CodecError as error:
        # Only a program that writes its answers itself, past the encoder, gets here.
        return CaseResult(Verdict.WA, "unencodable_value", error=str(error))
    shown = readable(answer.value, SHOWN)
    if case.comparison is Comparison.CHECKER:
        return CaseResult(Verdict.AC, evidence.ACCEPTED, actual=shown)  # so far
    if matches(actual, decode(case.expected), case.comparison, case.tolerance):
        return CaseResult(Verdict.AC, evidence.ACCEPTED, actual=shown)
    return CaseResult(Verdict.WA, "wrong_value", actual=shown)


def _ask_checker(
    question: Question, checker: str, cases: Sequence[Case], answers: Sequence[Answer], results: list[CaseResult]
) -> list[CaseResult]:
    """Let the checker decide its cases: a program like any other to the sandbox, in a process of its own."""
    open_ones = [
        index
        for index, result in enumerate(results)
        if cases[index].comparison is Comparison.CHECKER and result.verdict is Verdict.AC
    ]
    if not open_ones:
        return results
    calls = tuple(
        encode((decode(cases[index].arguments), decode(cases[index].expected), decode(answers[index].value or "")))
        for index in open_ones
    )
    outcome = question.run(Execution(Program.single(checker), CHECKER, _CHECKER_LIMITS, calls=calls))
    if outcome.compile_error is not None or len(outcome.answers) < len(calls):
        raise SandboxError(f"the checker failed: {outcome.compile_error or outcome.end}")
    decided = list(results)
    for index, answer in zip(open_ones, outcome.answers, strict=True):
        said = None if answer.value is None else decode(answer.value)
        if not isinstance(said, bool):
            raise SandboxError(f"the checker gave no True or False for case {index}: {answer.detail or said!r}")
        if not said:
            decided[index] = replace(results[index], verdict=Verdict.WA, reason="wrong_value")
    return decided


def _add_limit(results: list[CaseResult], outcome: ExecutionOutcome, total: int) -> list[CaseResult]:
    """Give the case during which a limit was exceeded its result."""
    if outcome.end in evidence.LIMIT_VERDICTS:
        over = CaseResult(
            evidence.LIMIT_VERDICTS[outcome.end], outcome.end.value, error=evidence.LIMIT_TEXTS[outcome.end]
        )
        # Where every case had been answered, the last one was the last straw.
        return [*results[: total - 1], over]
    if len(results) < total or (outcome.end is End.EXITED and all(one.verdict is Verdict.AC for one in results)):
        gone = CaseResult(Verdict.RE, "exit", error="the program ended before it had answered")
        return [*results[: total - 1], gone]
    return results
