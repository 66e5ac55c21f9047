"""The test styles beside plain calls, on every sandbox: scripts on inputs, suites, commands, checkers."""

from collections.abc import Iterator

import pytest

from app.adapters.sandbox import BareSandbox, BubblewrapSandbox, SlotSandbox
from app.adapters.sandbox.pool import RunnerPool
from app.domain.codec import encode
from app.domain.errors import InputError, SandboxError
from app.domain.problems import (
    Case,
    CaseTests,
    CommandTests,
    Comparison,
    Limits,
    OutputComparison,
    StdinCase,
    StdinTests,
    SuiteTests,
    Tests,
)
from app.domain.programs import Program
from app.domain.verdicts import Judgement, Verdict
from app.judge import Judge

LIMITS = Limits(cpu_seconds=5.0, memory_mb=256, output_bytes=8192)


@pytest.fixture(scope="module", params=["bubblewrap", "slot", "bare"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[RunnerPool]:
    kinds = {
        "bubblewrap": lambda: BubblewrapSandbox(1),
        "slot": lambda: SlotSandbox(request.getfixturevalue("slots").sockets()),
        "bare": lambda: BareSandbox(1),
    }
    with kinds[request.param]() as opened:
        yield opened


def judge(
    sandbox: RunnerPool, source: str | dict[str, str], tests: Tests, limits: Limits = LIMITS, entry: str = "f"
) -> Judgement:
    program = Program.single(source) if isinstance(source, str) else Program(source)
    return Judge(sandbox).judge(program, tests=tests, entry_point=entry, limits=limits)


# --- scripts on inputs ----------------------------------------------------------------------------------------------

DOUBLE = StdinTests((StdinCase("2\n", "4\n", visible=True), StdinCase("5\n", "10"), StdinCase("0\n", "0\n")))


@pytest.mark.parametrize(
    "source",
    [
        "print(int(input()) * 2)",
        "import sys\nsys.stdout.write(str(int(sys.stdin.buffer.read()) * 2))",
        "print(int(open(0).read()) * 2, end='  \\n\\n')",
        "print(int(input()) * 2)\nraise SystemExit",
        "if __name__ == '__main__':\n    import atexit\n    atexit.register(lambda n: print(n * 2), int(input()))",
    ],
)
def test_29_standard_input_is_read_in_every_way(sandbox, source):
    result = judge(sandbox, source, DOUBLE)
    assert (result.verdict, result.cases_passed, result.cases_total, result.weak) == (Verdict.AC, 3, 3, False)


def test_a_wrong_output_is_shown_with_its_input(sandbox):
    result = judge(sandbox, "n = int(input())\nprint(n * 2 if n != 5 else '\\x00<b>')", DOUBLE)
    assert (result.verdict, result.reason, result.cases_passed) == (Verdict.WA, "wrong_output", 2)
    failure = result.first_failure
    assert failure is not None
    assert (failure.index, failure.visible, failure.input, failure.expected) == (1, False, "5\n", "10")
    assert failure.actual == "\\x00<b>\n"


def test_a_crash_of_a_script_fails_its_case_only(sandbox):
    result = judge(sandbox, "n = int(input())\nprint(0 if n == 0 else 10 // (n - 2) * 0 + n * 2)", DOUBLE)
    assert (result.verdict, result.reason, result.cases_passed) == (Verdict.RE, "ZeroDivisionError", 2)
    assert result.first_failure is not None
    assert "solution.py, line 2" in (result.first_failure.error or "")
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("print(4)\nraise SystemExit(3)", "exit"),
        ("import os\nprint(4, flush=True)\nos.kill(os.getpid(), 9)", "SIGKILL"),
    ],
)
def test_the_right_output_with_a_bad_end_is_a_runtime_error(sandbox, source, reason):
    result = judge(sandbox, source, StdinTests((StdinCase("2", "4"),)))
    assert (result.verdict, result.reason) == (Verdict.RE, reason)


def test_ending_early_with_exit_code_0_is_judged_by_the_output(sandbox):
    assert judge(
        sandbox, "import os\nprint(4, flush=True)\nos._exit(0)", StdinTests((StdinCase("2", "4"),))
    ).verdict is (Verdict.AC)
    assert judge(sandbox, "import os\nos._exit(0)", StdinTests((StdinCase("2", "4"),))).verdict is Verdict.WA


def test_22_a_script_that_hangs_keeps_what_it_had_printed(sandbox):
    limits = Limits(cpu_seconds=0.3, memory_mb=128)
    result = judge(sandbox, "print('so far', flush=True)\nwhile True:\n    pass", DOUBLE, limits)
    assert (result.verdict, result.cases_run) == (Verdict.TLE, 1)
    assert result.first_failure is not None
    assert result.first_failure.actual == "so far\n"


def test_a_script_does_not_compile_and_one_floods(sandbox):
    assert judge(sandbox, "print(", DOUBLE).verdict is Verdict.CE
    flood = judge(sandbox, "while True:\n    print('x' * 1000)", DOUBLE)
    assert (flood.verdict, flood.reason) == (Verdict.RE, "output_limit")


def test_scripts_do_not_see_each_others_files(sandbox):
    if sandbox.name == "none":
        pytest.skip("needs namespaces")
    source = (
        "import os\nn = int(input())\nprint(n * 2 + len(os.listdir('/dev/shm')))\nopen('/dev/shm/left', 'w').close()"
    )
    # The runs of one execution share its /tmp as they share its limits; another execution sees nothing of it.
    assert judge(sandbox, source, StdinTests((StdinCase("2", "4"),))).verdict is Verdict.AC
    assert judge(sandbox, source, StdinTests((StdinCase("2", "4"),))).verdict is Verdict.AC


@pytest.mark.parametrize(
    ("comparison", "tolerance", "printed", "expected", "same"),
    [
        (OutputComparison.LINES, None, "a \nb\n\n", "a\nb", True),
        (OutputComparison.LINES, None, "a b", "a  b", False),
        (OutputComparison.TOKENS, None, "a\n b", "a  b", True),
        (OutputComparison.TOKENS, None, "1.0", "1", False),
        (OutputComparison.TOKENS, 1e-6, "0.3333333", "0.33333333", True),
        (OutputComparison.TOKENS, 1e-6, "0.334", "0.333", False),
        (OutputComparison.TOKENS, 1e-6, "nan", "0.1", False),
        (OutputComparison.EXACT, None, "a\n", "a", False),
        (OutputComparison.EXACT, None, "a", "a", True),
    ],
)
def test_comparing_output(sandbox, comparison, tolerance, printed, expected, same):
    tests = StdinTests((StdinCase("", expected),), comparison, tolerance)
    result = judge(sandbox, f"import sys\nsys.stdout.write({printed!r})", tests)
    assert result.verdict is (Verdict.AC if same else Verdict.WA)


# --- suites ---------------------------------------------------------------------------------------------------------

UNITTEST = """
import unittest
import solution
from solution import add, LIMIT

class TestAdd(unittest.TestCase):
    def test_small(self):
        self.assertEqual(add(1, 2), 3)
    def test_named(self):
        self.assertEqual(solution.add(a=2, b=2), 4)
    def test_limit(self):
        self.assertEqual(LIMIT, 10)
    def test_error(self):
        with self.assertRaises(ValueError):
            add(LIMIT, 1)
    def test_in_place(self):
        values = [3, 1, 2]
        solution.order(values)
        self.assertEqual(values, [1, 2, 3])
    @unittest.skip("not today")
    def test_skipped(self):
        self.fail()
"""
PYTEST = """
import pytest
from solution import *

@pytest.mark.parametrize("n", [1, 2])
def test_small(n):
    assert add(n, 2) == n + 2

def test_limit():
    assert LIMIT == 10

def test_error(tmp_path):
    with pytest.raises(ValueError, match="too large"):
        add(LIMIT, 1)

def test_in_place():
    values = [3, 1, 2]
    order(values)
    assert values == [1, 2, 3]
"""
ADD = """
import math
LIMIT = 10
def add(a, b):
    if a + b > LIMIT:
        raise ValueError("too large")
    return a + b
def order(values):
    values.sort()
"""


@pytest.fixture(params=["unittest", "pytest"])
def suite(request: pytest.FixtureRequest) -> SuiteTests:
    source = {"unittest": UNITTEST, "pytest": PYTEST}[request.param]
    return SuiteTests(request.param, {"test_add.py": source})


def test_a_suite_passes_across_the_boundary(sandbox, suite):
    result = judge(sandbox, ADD, suite)
    assert (result.verdict, result.cases_passed, result.cases_total, result.weak) == (Verdict.AC, 5, 5, False)


@pytest.mark.parametrize(
    ("change", "verdict", "reason", "passed"),
    [
        (("return a + b", "return a - b"), Verdict.WA, "assertion_failed", 3),
        (("return a + b", "return 1 // 0"), Verdict.RE, "ZeroDivisionError", 3),
        (("LIMIT = 10", "LIMIT = 9"), Verdict.WA, "assertion_failed", 4),
        (("values.sort()", "return sorted(values)"), Verdict.WA, "assertion_failed", 4),
        (("return a + b", "import os; os._exit(0)"), Verdict.RE, "exit", None),
        (("return a + b", "import unittest; raise unittest.SkipTest('all')"), Verdict.RE, "SkipTest", 3),
        (("LIMIT = 10", "LIMIT = "), Verdict.CE, "compile_error", 0),
        (("import math", "import does_not_exist"), Verdict.RE, "ModuleNotFoundError", 0),
    ],
)
def test_4_5_a_suite_and_bad_programs(sandbox, suite, change, verdict, reason, passed):
    result = judge(sandbox, ADD.replace(*change), suite)
    assert (result.verdict, result.reason) == (verdict, reason)
    assert passed is None or result.cases_passed == passed
    assert not result.weak


@pytest.mark.parametrize(
    "source",
    [
        # 1: equal to everything; 4: patched assertions; 6: a conftest; 10: the test file overwritten
        "class Any:\n    __eq__ = lambda self, other: True\ndef add(a, b): return Any()\n",
        "import builtins, unittest\nunittest.TestCase.assertEqual = lambda *_: None\n"
        "builtins.AssertionError = type('Never', (Exception,), {})\ndef add(a, b): return 0\n",
        "import glob, os\nopen('conftest.py', 'w').write('raise SystemExit(0)')\n"
        "[open(p, 'w').write('') for p in glob.glob('/[ht]*/**/test_add.py', recursive=True)]\n"
        "def add(a, b): return 0\n",
    ],
)
def test_1_4_6_10_a_suite_is_not_fooled(sandbox, suite, source):
    if sandbox.name == "none" and "glob" in source:
        pytest.skip("without isolation a program reaches every file of its user")
    result = judge(sandbox, source + "LIMIT = 10\ndef order(values): values.sort()\n", suite)
    assert (result.verdict, result.weak) == (Verdict.WA, False)


def test_a_class_cannot_cross_and_makes_the_verdict_weak(sandbox):
    test = "from stack import Stack\ndef test_it():\n    s = Stack()\n    s.push(1)\n    assert s.pop() == 1\n"
    tests = SuiteTests("pytest", {"test_stack.py": test}, module="stack")
    source = "class Stack(list):\n    push = list.append\n"
    result = judge(sandbox, source, tests)
    assert (result.verdict, result.weak, result.cases_total) == (Verdict.AC, True, 1)
    broken = judge(sandbox, source.replace("append", "remove"), tests)
    assert (broken.verdict, broken.weak) == (Verdict.WA, True)  # ValueError by list.remove, a frame of no program line
    # Ending the tests is no way to pass them, and neither is running fewer than there must be.
    assert judge(sandbox, source + "import os\nos._exit(0)\n", tests).verdict is Verdict.RE
    quiet = source + "import pytest\npytest.main = lambda *_, **__: 0\n"
    assert judge(sandbox, quiet, tests).verdict is Verdict.RE


def test_a_suite_sees_several_modules(sandbox):
    files = {"solution.py": "from shapes.area import square\n", "shapes/area.py": "def square(a):\n    return a * a\n"}
    test = (
        "import shapes.area\nfrom shapes.area import square\n"
        "def test_it():\n    assert square(3) == 9 == shapes.area.square(-3)\n"
    )
    result = judge(sandbox, files, SuiteTests("pytest", {"test_area.py": test}))
    assert (result.verdict, result.weak, result.first_failure) == (Verdict.AC, False, None)


def test_38_a_suite_without_a_test_is_no_verdict(sandbox):
    with pytest.raises(SandboxError, match="without a single check"):
        judge(sandbox, ADD, SuiteTests("pytest", {"test_nothing.py": "x = 1\n"}))
    with pytest.raises(InputError, match="named like a test"):
        judge(sandbox, ADD, SuiteTests("pytest", {"nothing.py": "x = 1\n"}))
    with pytest.raises(InputError, match="path"):
        judge(sandbox, ADD, SuiteTests("pytest", {"../test_out.py": "x = 1\n"}))


# --- commands -------------------------------------------------------------------------------------------------------

PROJECT = {
    "calc/__init__.py": "",
    "calc/core.py": "def add(a, b):\n    return a + b\n",
    "README.md": "# calc\n",
}
COMMAND = CommandTests(
    command=("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml"),
    report="report.xml",
    checks=2,
    files={
        "tests/test_core.py": "from calc.core import add\ndef test_a():\n    assert add(1, 2) == 3\n"
        "def test_b():\n    assert add(-1, 1) == 0\n"
    },
)


@pytest.mark.parametrize(
    ("core", "verdict", "reason", "passed"),
    [
        ("def add(a, b):\n    return a + b\n", Verdict.AC, "accepted", 2),
        ("def add(a, b):\n    return abs(a) + b\n", Verdict.WA, "failure", 1),
        ("def sub(a, b):\n    return a - b\n", Verdict.RE, "error", 0),
        ("import os\nos._exit(0)\n", Verdict.RE, "missing_checks", 0),
        ("import os\nos.symlink('/etc/passwd', 'report.xml')\nos._exit(0)\n", Verdict.RE, "missing_checks", 0),
        ("import os\nos.mkfifo('report.xml')\nos._exit(0)\n", Verdict.RE, "missing_checks", 0),
        ("import os\nos.truncate(os.open('report.xml', 66), 30 << 20)\nos._exit(0)\n", Verdict.RE, "missing_checks", 0),
    ],
)
def test_31_a_test_command_of_a_project(sandbox, core, verdict, reason, passed):
    result = judge(sandbox, PROJECT | {"calc/core.py": core}, COMMAND)
    assert (result.verdict, result.reason, result.cases_passed) == (verdict, reason, passed)
    assert result.weak


# --- cases: checkers, in place, a process each ----------------------------------------------------------------------


def test_a_checker_decides_beside_the_comparison(sandbox):
    checker = (
        "def check(arguments, expected, actual):\n    (n,) = arguments\n    return sorted(actual) == list(range(n))\n"
    )
    cases = tuple(Case(encode((n,)), encode(None), comparison=Comparison.CHECKER) for n in (3, 4))
    tests = CaseTests((*cases, Case(encode((0,)), encode([]))), checker=checker)
    assert judge(sandbox, "def f(n):\n    return list(range(n))[::-1]\n", tests).verdict is Verdict.AC
    wrong = judge(sandbox, "def f(n):\n    return list(range(n)) if n != 4 else [0, 0, 1, 2]\n", tests)
    assert (wrong.verdict, wrong.reason, wrong.cases_passed) == (Verdict.WA, "wrong_value", 2)
    assert wrong.first_failure is not None
    assert wrong.first_failure.index == 1


@pytest.mark.parametrize(
    "checker",
    [
        "def check(arguments, expected, actual):\n    return 1 // 0\n",
        "def check(arguments, expected, actual):\n    return 'yes'\n",
        "import os\ndef check(arguments, expected, actual):\n    os._exit(0)\n",
    ],
)
def test_38_a_checker_that_fails_is_no_verdict(sandbox, checker):
    tests = CaseTests((Case(encode((1,)), encode(1), comparison=Comparison.CHECKER),), checker=checker)
    with pytest.raises(SandboxError, match="checker"):
        judge(sandbox, "def f(n):\n    return n\n", tests)


def test_39_the_answer_may_be_an_argument_changed_in_place(sandbox):
    tests = CaseTests((Case(encode(([3, 1, 2],)), encode([1, 2, 3])),), in_place=0)
    assert judge(sandbox, "def f(values):\n    values.sort()\n", tests).verdict is Verdict.AC
    assert judge(sandbox, "def f(values):\n    return sorted(values)\n", tests).verdict is Verdict.WA
    with pytest.raises(InputError, match="no argument 1"):
        judge(sandbox, "", CaseTests(tests.cases, in_place=1))


def test_39_a_process_for_each_case_keeps_no_state(sandbox):
    source = "seen = []\ndef f(n):\n    seen.append(n)\n    return len(seen)\n"
    cases = tuple(Case(encode((n,)), encode(1)) for n in range(4))
    assert judge(sandbox, source, CaseTests(cases)).cases_passed == 1
    result = judge(sandbox, source, CaseTests(cases, fresh_process=True))
    assert (result.verdict, result.cases_passed) == (Verdict.AC, 4)
    ends = "import os\ndef f(n):\n    return 1 if n != 1 else os._exit(0)\n"
    result = judge(sandbox, ends, CaseTests(cases, fresh_process=True))
    assert (result.verdict, result.reason, result.cases_passed) == (Verdict.RE, "exit", 3)
