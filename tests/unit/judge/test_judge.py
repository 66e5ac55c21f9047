"""The rules from outcome to verdict, on outcomes written by hand."""

from collections.abc import Callable

import pytest

from app.domain.codec import encode
from app.domain.errors import InputError, SandboxError
from app.domain.ports import Answer, End, Execution, ExecutionOutcome
from app.domain.problems import AssertTests, Case, CaseTests, Comparison, Limits
from app.domain.programs import Program
from app.domain.verdicts import MemoryTier, Verdict
from app.judge import JUDGE_VERSION, Judge, check_tests

RIGHT = Answer("value", encode(1))
WRONG = Answer("value", encode(2))
RAISED = Answer("exception", error="KeyError", detail="KeyError: 'k'")


class Told:
    """A sandbox that gives the outcome it was told to, and remembers what it was asked."""

    name = "told"

    def __init__(self, outcome: ExecutionOutcome) -> None:
        self.outcome = outcome
        self.asked: list[Execution] = []

    def run(self, execution: Execution, *, cancelled: Callable[[], bool] = lambda: False) -> ExecutionOutcome:
        self.asked.append(execution)
        return self.outcome

    def close(self) -> None:
        pass


def outcome(end: End, *answers: Answer, **more: object) -> ExecutionOutcome:
    return ExecutionOutcome(end, answers, "told", MemoryTier.RLIMIT, **more)  # type: ignore[arg-type]


def judge(told: ExecutionOutcome, tests: CaseTests | AssertTests | None = None):
    cases = CaseTests(tuple(Case(encode((n,)), encode(1), visible=n == 0) for n in range(3)))
    sandbox = Told(told)
    result = Judge(sandbox).judge(Program.single("x"), tests=tests or cases, entry_point="f", limits=Limits())
    (execution,) = sandbox.asked
    assert execution.calls == (() if tests else tuple(encode((n,)) for n in range(3)))
    return result


@pytest.mark.parametrize(
    ("told", "verdict", "reason", "passed", "run", "index"),
    [
        (outcome(End.COMPLETED, RIGHT, RIGHT, RIGHT), Verdict.AC, "accepted", 3, 3, None),
        (outcome(End.COMPLETED, RIGHT, WRONG, RAISED), Verdict.WA, "wrong_value", 1, 3, 1),
        (outcome(End.COMPLETED, RAISED, WRONG, RIGHT), Verdict.RE, "KeyError", 1, 3, 0),
        (
            outcome(End.COMPLETED, RIGHT, Answer("unencodable", detail="function"), RIGHT),
            Verdict.WA,
            "unencodable_value",
            2,
            3,
            1,
        ),
        (outcome(End.COMPLETED, RIGHT, Answer("value", "hostile"), RIGHT), Verdict.WA, "unencodable_value", 2, 3, 1),
        (outcome(End.CPU_TIME, RIGHT), Verdict.TLE, "cpu_time", 1, 2, 1),
        (outcome(End.WALL_TIME), Verdict.TLE, "wall_time", 0, 1, 0),
        (outcome(End.MEMORY, RIGHT, RIGHT), Verdict.MLE, "memory", 2, 3, 2),
        (outcome(End.OUTPUT_LIMIT, WRONG), Verdict.WA, "wrong_value", 0, 2, 0),
        (outcome(End.OUTPUT_LIMIT, RIGHT), Verdict.RE, "output_limit", 1, 2, 1),
        # Answered in full, yet over a limit: the last case takes the blame, so that it is never AC.
        (outcome(End.CPU_TIME, RIGHT, RIGHT, RIGHT), Verdict.TLE, "cpu_time", 2, 3, 2),
        (outcome(End.EXITED, RIGHT), Verdict.RE, "exit", 1, 2, 1),
        (outcome(End.EXITED, RIGHT, RIGHT, RIGHT), Verdict.RE, "exit", 2, 3, 2),
    ],
)
def test_the_first_failing_case_decides(told, verdict, reason, passed, run, index):
    result = judge(told)
    assert (result.verdict, result.reason, result.cases_passed, result.cases_run) == (verdict, reason, passed, run)
    assert (result.cases_total, result.visible_total, result.judge_version) == (3, 1, JUDGE_VERSION)
    assert (result.first_failure.index if result.first_failure else None) == index


def test_a_compile_error_belongs_to_no_case():
    result = judge(outcome(End.EXITED, compile_error="SyntaxError: line 1"))
    assert (result.verdict, result.cases_run, result.cases_total) == (Verdict.CE, 0, 3)
    assert result.first_failure is not None
    assert (result.first_failure.visible, result.first_failure.input, result.first_failure.error) == (
        True,
        "",
        "SyntaxError: line 1",
    )


TESTS = AssertTests(
    "def check(candidate):\n    assert candidate(1) == 1\n    assert candidate(2) == 2\n",
    visible=("assert candidate(2)  ==  2",),
)


@pytest.mark.parametrize(
    ("told", "verdict", "reason", "numbers"),
    [
        # numbers: passed, run, total, visible passed
        (outcome(End.COMPLETED, tester_checks=2, tester_completed=True), Verdict.AC, "accepted", (2, 2, 2, 1)),
        (
            outcome(
                End.COMPLETED,
                tester_checks=1,
                tester_failed=1,
                tester_failures=("assert candidate(1) == 1",),
                tester_reason="assertion_failed",
                tester_error="e",
                tester_completed=True,
            ),
            Verdict.WA,
            "assertion_failed",
            (1, 2, 2, 1),
        ),
        (outcome(End.CPU_TIME), Verdict.TLE, "cpu_time", (0, 1, 2, 0)),
        (outcome(End.EXITED, tester_checks=1, tester_reason="SIGSEGV"), Verdict.RE, "SIGSEGV", (1, 2, 2, 0)),
        (outcome(End.COMPLETED, tester_completed=True, weak=True), Verdict.RE, "no_checks", (0, 1, 1, 1)),
    ],
)
def test_test_code(told, verdict, reason, numbers):
    result = judge(told, TESTS)
    assert (result.verdict, result.reason) == (verdict, reason)
    assert (result.cases_passed, result.cases_run, result.cases_total, result.visible_passed) == numbers


def test_tests_without_a_single_check_are_no_verdict():
    with pytest.raises(SandboxError, match="without a single check"):
        judge(outcome(End.COMPLETED, tester_completed=True), TESTS)


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        (CaseTests(()), "no case"),
        (CaseTests((Case("x", encode(1)),)), "case 0"),
        (CaseTests((Case(encode((1,)), encode(1)), Case(encode((1,)), "l1:"))), "case 1"),
        (CaseTests((Case(encode([1]), encode(1)),)), "not a tuple"),
        (CaseTests((Case(encode((1,)), encode(1), comparison=Comparison.ANY_OF),)), "any_of"),
        (CaseTests((Case(encode((1,)), encode([]), comparison=Comparison.ANY_OF),)), "any_of"),
        (CaseTests((Case(encode((1,)), encode(1), tolerance=-1.0),)), "tolerance"),
        (AssertTests("assert True"), "check"),
        (AssertTests("def check(candidate):\n    pass\n"), "asserts nothing"),
        (AssertTests("def check(candidate:\n"), "compile"),
    ],
)
def test_tests_that_cannot_judge_are_refused(tests, message):
    with pytest.raises(InputError, match=message):
        check_tests(tests, entry_point="f")


@pytest.mark.parametrize("name", ["", "a b", "f.", "f()"])
def test_an_entry_point_is_a_name(name):
    with pytest.raises(InputError, match="entry_point"):
        check_tests(TESTS, entry_point=name)


def test_other_languages_are_refused():
    with pytest.raises(InputError, match="language"):
        check_tests(TESTS, entry_point="f", language="cobol")
