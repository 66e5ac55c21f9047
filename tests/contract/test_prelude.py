"""Code that a problem puts in front of every program, and a function of it that is called in the program's place."""

from collections.abc import Iterator

import pytest

from app.adapters.sandbox import BareSandbox, BubblewrapSandbox
from app.adapters.sandbox.pool import RunnerPool
from app.domain.codec import encode
from app.domain.errors import InputError
from app.domain.problems import AssertTests, Case, CaseTests, Limits, Tests
from app.domain.programs import Program
from app.domain.verdicts import Judgement, Verdict
from app.judge import Judge

PRELUDE = """from typing import List

class Node:
    def __init__(self, value, next=None):
        self.value, self.next = value, next

def call(values):
    node = None
    for value in reversed(values):
        node = Node(value, node)
    return list(walk(node))
"""
WALK = CaseTests(
    tuple(Case(encode((values,)), encode(values)) for values in ([], [1], [2, 1])), prelude=PRELUDE, called="call"
)
RIGHT = "def walk(node: Node):\n    while node:\n        yield node.value\n        node = node.next\n"


@pytest.fixture(scope="module", params=["bubblewrap", "bare"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[RunnerPool]:
    with {"bubblewrap": BubblewrapSandbox, "bare": BareSandbox}[request.param](1) as opened:
        yield opened


def judge(sandbox: RunnerPool, source: str, tests: Tests = WALK) -> Judgement:
    return Judge(sandbox).judge(Program.single(source), tests=tests, entry_point="walk", limits=Limits())


def test_arguments_and_results_are_converted_where_the_program_runs(sandbox):
    result = judge(sandbox, RIGHT)
    assert (result.verdict, result.cases_passed, result.weak) == (Verdict.AC, 3, False)
    wrong = judge(sandbox, RIGHT.replace("while", "if"))
    assert (wrong.verdict, wrong.reason, wrong.cases_passed) == (Verdict.WA, "wrong_value", 2)
    assert wrong.first_failure is not None
    assert (wrong.first_failure.input, wrong.first_failure.actual) == ("([2, 1],)", "[2]")


def test_a_program_may_define_the_preludes_names_itself_and_import_from_the_future(sandbox):
    own = "from __future__ import annotations\nclass Node:\n    def __init__(self, *both):\n"
    own += "        self.value, self.next = both\n"
    assert judge(sandbox, own + RIGHT).verdict is Verdict.AC


def test_places_in_messages_are_the_programs_own(sandbox):
    broken = judge(sandbox, "def walk(node)\n    return []\n")
    assert broken.verdict is Verdict.CE
    assert broken.first_failure is not None
    assert "solution.py, line 1" in (broken.first_failure.error or "")
    raising = judge(sandbox, "def walk(node):\n    return [] if node is None else 1 // 0\n")
    assert (raising.verdict, raising.reason, raising.cases_passed) == (Verdict.RE, "ZeroDivisionError", 1)
    assert raising.first_failure is not None
    assert (raising.first_failure.error or "").splitlines()[1:] == [
        "  solution.py, line 2, in walk",
        "    return [] if node is None else 1 // 0",
    ]


def test_a_program_without_the_function_is_a_runtime_error(sandbox):
    result = judge(sandbox, "def other(node):\n    return []\n")
    assert (result.verdict, result.reason, result.cases_run) == (Verdict.RE, "NameError", 3)


def test_a_prelude_that_fails_is_a_runtime_error(sandbox):
    result = judge(sandbox, RIGHT, CaseTests(WALK.cases, prelude="import no_such_module\n" + PRELUDE, called="call"))
    assert (result.verdict, result.reason) == (Verdict.RE, "ModuleNotFoundError")


def test_test_code_has_the_prelude_in_the_programs_process(sandbox):
    tests = AssertTests("def check(candidate):\n    assert list(candidate(Node(3))) == [3]\n", prelude=PRELUDE)
    result = judge(sandbox, RIGHT, tests)
    # A Node cannot cross, so that the tests share the program's process.
    assert (result.verdict, result.weak) == (Verdict.AC, True)
    crossing = AssertTests("def check(candidate):\n    assert candidate(None) == []\n", prelude=PRELUDE)
    result = judge(sandbox, "def walk(node: List):\n    return []\n", crossing)
    assert (result.verdict, result.weak) == (Verdict.AC, False)


@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        (CaseTests(WALK.cases, prelude="def ("), "tests: the prelude does not compile"),
        (CaseTests(WALK.cases, prelude="x = 1", called="call"), "tests: the prelude defines no function call"),
        (CaseTests(WALK.cases, called="call"), "tests: the prelude defines no function call"),
        (AssertTests("def check(f):\n    assert f(1)", prelude="def ("), "tests: the prelude does not compile"),
    ],
)
def test_preludes_that_cannot_work_are_refused(sandbox, tests, reason):
    with pytest.raises(InputError, match=f"^{reason}"):
        judge(sandbox, RIGHT, tests)
