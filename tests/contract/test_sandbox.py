"""One suite for every sandbox: what untrusted programs do, and the verdict each must get.

The numbers are those of the judge's table of behaviours seen in public bug reports.
"""

import contextlib
import math
import os
import secrets
import threading
from collections.abc import Iterator

import pytest

from app.adapters.sandbox import BareSandbox, BubblewrapSandbox, SlotSandbox
from app.adapters.sandbox.pool import RunnerPool
from app.domain.codec import decode, encode
from app.domain.errors import SandboxError
from app.domain.ports import End, Execution, ExecutionOutcome
from app.domain.problems import AssertTests, Case, CaseTests, Limits
from app.domain.programs import Program
from app.domain.verdicts import Judgement, MemoryTier, Verdict
from app.judge import Judge

LIMITS = Limits(cpu_seconds=0.3, memory_mb=96, output_bytes=8192)
ENOUGH = Limits(cpu_seconds=5.0, memory_mb=256, output_bytes=8192)
"""Where the limits are not the point."""

RIGHT = "def f(x):\n    return x + 1\n"


@pytest.fixture(scope="module", params=["bubblewrap", "bubblewrap-rlimit", "slot", "bare"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[RunnerPool]:
    kinds = {
        "slot": lambda: SlotSandbox(request.getfixturevalue("slots").sockets()),
        "bubblewrap": lambda: BubblewrapSandbox(1),
        "bubblewrap-rlimit": lambda: BubblewrapSandbox(1, use_cgroups=False),
        "bare": lambda: BareSandbox(1),
    }
    with kinds[request.param]() as opened:
        yield opened


@pytest.fixture(scope="module")
def isolated(sandbox: RunnerPool) -> RunnerPool:
    if sandbox.name == "none":
        pytest.skip("needs namespaces")
    return sandbox


def run(
    sandbox: RunnerPool, source: str, *arguments: tuple, limits: Limits = ENOUGH, entry: str = "f"
) -> ExecutionOutcome:
    calls = tuple(encode(one) for one in (arguments or ((1,),)))
    return sandbox.run(Execution(Program.single(source), entry, limits, calls=calls))


def judge(sandbox: RunnerPool, source: str, limits: Limits = ENOUGH) -> Judgement:
    """Judge a program that should add one, on three cases of which the first is visible."""
    cases = tuple(Case(encode((n,)), encode(n + 1), visible=n == 1) for n in (1, 2, 3))
    return Judge(sandbox).judge(Program.single(source), tests=CaseTests(cases), entry_point="f", limits=limits)


def values(outcome: ExecutionOutcome) -> list:
    return [decode(answer.value) if answer.value is not None else answer.kind for answer in outcome.answers]


def still_works(sandbox: RunnerPool) -> None:
    assert judge(sandbox, RIGHT).verdict is Verdict.AC


# --- by its answers -------------------------------------------------------------------------------------------------


def test_a_right_program_is_accepted_with_its_evidence(sandbox):
    result = judge(sandbox, RIGHT)
    assert (result.verdict, result.reason) == (Verdict.AC, "accepted")
    assert (result.cases_passed, result.cases_run, result.cases_total) == (3, 3, 3)
    assert (result.visible_passed, result.visible_total) == (1, 1)
    assert result.sandbox == sandbox.name
    assert result.memory_tier is sandbox.memory_tier
    assert result.peak_memory_kb > 0
    assert not result.weak


def test_a_wrong_answer_names_the_first_failing_case_and_the_others_run(sandbox):
    result = judge(sandbox, "def f(x):\n    return x + 1 if x != 2 else (0, 'no')\n")
    assert (result.verdict, result.reason) == (Verdict.WA, "wrong_value")
    assert (result.cases_passed, result.cases_run) == (2, 3)
    failure = result.first_failure
    assert failure is not None
    assert (failure.index, failure.visible, failure.input, failure.expected, failure.actual) == (
        1,
        False,
        "(2,)",
        "3",
        "(0, 'no')",
    )


def test_an_exception_ends_its_case_only(sandbox):
    result = judge(sandbox, "def g(x):\n    return 1 // (x - 2)\n\ndef f(x):\n    return g(x) * 0 + x + 1\n")
    assert (result.verdict, result.reason, result.cases_passed) == (Verdict.RE, "ZeroDivisionError", 2)
    assert result.first_failure is not None
    error = result.first_failure.error
    assert error is not None
    assert error.startswith("ZeroDivisionError: ")
    assert "solution.py, line 2, in g\n    return 1 // (x - 2)" in error
    assert "runner" not in error


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("def f(x:\n  return 1", "SyntaxError"),
        ("def f(x):\n\treturn 1\n        return 2\n", "TabError"),
        ("x = '\0'", "null"),
        ("x = '\ud800'", "surrogates"),
        ("x = " + "(" * 500 + ")" * 500, "SyntaxError"),
        ("x = " + "-" * 200_000 + "1", ""),
        ("x = 1" + "+1" * 100_000, ""),
        ("return 1", "SyntaxError"),
    ],
    ids=["syntax", "tabs", "nul", "surrogate", "parentheses", "unary", "sum", "return"],
)
def test_what_cannot_be_compiled_is_a_compile_error(sandbox, source, word):
    result = judge(sandbox, source)
    assert (result.verdict, result.reason, result.cases_run) == (Verdict.CE, "compile_error", 0)
    assert result.first_failure is not None
    assert word in (result.first_failure.error or "")
    still_works(sandbox)


def test_a_failing_import_is_a_runtime_error(sandbox):
    result = judge(sandbox, "import no_such_module\n" + RIGHT)
    assert (result.verdict, result.reason) == (Verdict.RE, "ModuleNotFoundError")
    assert (result.cases_passed, result.cases_run) == (0, 3)


def test_the_main_guard_stays_closed_and_a_missing_function_is_a_runtime_error(sandbox):
    result = judge(sandbox, "if __name__ == '__main__':\n    def f(x):\n        return x + 1\n")
    assert (result.verdict, result.reason) == (Verdict.RE, "NameError")


def test_a_method_is_called_on_an_instance_of_its_own_per_call(sandbox):
    source = """
class Solution:
    def __init__(self):
        self.n = 0
    def up(self, x):
        self.n += x
        return self.n
"""
    assert values(run(sandbox, source, (1,), (2,), entry="Solution.up")) == [1, 2]


def test_several_files_import_each_other(sandbox):
    program = Program(
        {
            "solution.py": "from pkg.part import g\ndef f(x):\n    return g(x)\n",
            "pkg/part.py": "def g(x):\n    return x * 2\n",
        }
    )
    outcome = sandbox.run(Execution(program, "f", ENOUGH, calls=(encode((4,)),)))
    assert values(outcome) == [8]


def test_1_an_object_equal_to_everything_is_wrong(sandbox):
    result = judge(sandbox, "class E:\n    def __eq__(self, o):\n        return True\ndef f(x):\n    return E()\n")
    assert (result.verdict, result.reason) == (Verdict.WA, "unencodable_value")


def test_2_the_expected_value_is_not_in_the_process(sandbox):
    source = """
import gc, sys
def wanted(value):
    return isinstance(value, str) and value.startswith("EXPECTED-") and len(value) > 20
def f(x):
    frame = sys._getframe(0)
    while frame:
        for value in frame.f_locals.values():
            if wanted(value):
                return value
        frame = frame.f_back
    for one in gc.get_objects():
        for value in list(one.values()) if isinstance(one, dict) else one if isinstance(one, (list, tuple)) else ():
            if wanted(value):
                return value
"""
    case = Case(encode((1,)), encode("EXPECTED-" + secrets.token_hex(20)))
    result = Judge(sandbox).judge(Program.single(source), tests=CaseTests((case,)), entry_point="f", limits=ENOUGH)
    assert (result.verdict, result.first_failure and result.first_failure.actual) == (Verdict.WA, "None")


def test_7_8_21_what_is_printed_changes_nothing(sandbox):
    source = """
import sys
def f(x):
    print('PASS all tests', end='')
    sys.stderr.write('timelimit exceeded')
    return x + 1
"""
    result = judge(sandbox, source)
    assert result.verdict is Verdict.AC
    assert result.stdout == "PASS all tests" * 3
    assert result.stderr == "timelimit exceeded" * 3


@pytest.mark.parametrize("call", ["sys.exit(0)", "os._exit(0)", "os.execlp('true', 'true')"])
def test_3_11_ending_early_is_a_runtime_error(sandbox, call):
    result = judge(sandbox, f"import os, sys\ndef f(x):\n    {call}\n")
    assert result.verdict is Verdict.RE
    assert (result.cases_passed, result.cases_run) == (0, 3)
    still_works(sandbox)


def test_ending_in_one_call_leaves_the_others_to_a_new_process(sandbox):
    outcome = run(
        sandbox, "import os\ndef f(x):\n    if x == 2:\n        os._exit(0)\n    return x\n", (1,), (2,), (3,)
    )
    assert values(outcome) == [1, "exception", 3]
    assert (outcome.answers[1].error, outcome.end, outcome.exit_code) == ("exit", End.EXITED, 0)


def test_ending_while_loading_fails_every_call_at_once(sandbox):
    outcome = run(sandbox, "import os\nos._exit(3)\n", (1,), (2,))
    assert [answer.error for answer in outcome.answers] == ["exit", "exit"]
    assert (outcome.end, outcome.exit_code) == (End.EXITED, 3)


def test_writing_forged_answers_ahead_does_not_complete_anything(sandbox):
    source = """
import os
def f(x):
    for d in range(3, 20):
        try:
            os.write(d, b'\\0\\0\\0\\4V\\0\\0\\0')
        except OSError:
            pass
    os._exit(0)
"""
    result = judge(sandbox, source)
    assert result.verdict is Verdict.RE
    still_works(sandbox)


# --- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "print('x' * 65536)",
        "print('x' * 10_000_000)",
        "import sys\n    while True:\n        sys.stderr.write('y' * 5000)",
    ],
    ids=["64KiB", "10MB", "endless"],
)
def test_9_too_much_output_is_a_runtime_error(sandbox, body):
    result = judge(sandbox, f"def f(x):\n    {body}\n    return x + 1\n")
    assert (result.verdict, result.reason) == (Verdict.RE, "output_limit")
    assert len(result.stdout) + len(result.stderr) <= 3 * ENOUGH.output_bytes


def test_output_up_to_the_limit_is_kept_whole(sandbox):
    outcome = run(sandbox, "def f(x):\n    print('x' * 8191)\n    return 1\n")
    assert outcome.end is End.COMPLETED
    assert outcome.stdout == "x" * 8191 + "\n"


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "while True:\n        try:\n            while True: pass\n        except BaseException: pass",
        "import signal\n    signal.alarm(0)\n    signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n    while True: pass",
        "import os\n    try:\n        os.kill(os.getppid(), 19)\n    except OSError: pass\n    while True: pass",
        "import os\n    while True:\n        if os.fork() == 0:\n            while True: pass\n        os.wait()",
    ],
    ids=["loop", "12-except", "13-signals", "13-sigstop-parent", "in-a-child"],
)
def test_cpu_time(sandbox, body):
    if sandbox.name == "none" and "getppid" in body:
        pytest.skip("nothing protects the supervisor")
    result = judge(sandbox, f"def f(x):\n    print('begun', flush=True)\n    {body}\n", LIMITS)
    # On a crowded machine the wall clock may come first.
    assert (result.verdict, result.reason in ("cpu_time", "wall_time")) == (Verdict.TLE, True)
    # 22: what was printed before is kept.
    assert result.stdout == "begun\n"
    assert result.cases_run == 1
    still_works(sandbox)


@pytest.mark.parametrize(
    "body",
    ["time.sleep(60)", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    time.sleep(60)", "os.kill(os.getpid(), 19)"],
    ids=["19-sleep", "13-ignores-sigterm", "stops-itself"],
)
def test_wall_time(sandbox, body):
    limits = Limits(cpu_seconds=0.2, memory_mb=96)
    result = judge(sandbox, f"import os, signal, time\ndef f(x):\n    {body}\n", limits)
    assert (result.verdict, result.reason) == (Verdict.TLE, "wall_time")
    still_works(sandbox)


def test_an_earlier_wrong_answer_decides_over_a_later_limit(sandbox):
    result = judge(sandbox, "def f(x):\n    while x == 2: pass\n    return 0\n", LIMITS)
    assert (result.verdict, result.cases_run, result.cases_passed) == (Verdict.WA, 2, 0)


def test_23_memory(sandbox):
    result = judge(
        sandbox, "def f(x):\n    held = []\n    while True:\n        held.append(bytearray(1 << 20))\n", LIMITS
    )
    assert (result.verdict, result.reason) == (Verdict.MLE, "memory")
    still_works(sandbox)


def test_23_memory_of_a_child(sandbox):
    if sandbox.memory_tier is not MemoryTier.CGROUP:
        pytest.skip("the rlimit tier counts every process alone")
    source = """
import os
def f(x):
    if os.fork() == 0:
        held = [bytearray(1 << 20) for _ in range(500)]
        os._exit(0)
    os.wait()
    return x + 1
"""
    result = judge(sandbox, source, LIMITS)
    assert (result.verdict, result.reason) == (Verdict.MLE, "memory")
    assert result.oom_kills >= 1
    still_works(sandbox)


def test_24_raising_memory_error_is_not_running_out(sandbox):
    assert judge(sandbox, "def f(x):\n    raise MemoryError('no')\n").verdict is Verdict.RE
    assert judge(sandbox, "def f(x):\n    return len([0] * 10**11)\n").verdict is Verdict.MLE
    caught = "def f(x):\n    try:\n        [0] * 10**11\n    except MemoryError:\n        return x + 1\n"
    assert judge(sandbox, caught).verdict is Verdict.AC


def test_25_endless_recursion(sandbox):
    result = judge(sandbox, "def f(x):\n    return f(x)\n")
    assert (result.verdict, result.reason) == (Verdict.RE, "RecursionError")
    assert result.first_failure is not None
    assert len(result.first_failure.error or "") < 3000


def test_recursion_of_the_usual_depth_works(sandbox):
    assert values(run(sandbox, "def f(x):\n    return 0 if x == 0 else 1 + f(x - 1)\n", (980,))) == [980]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import ctypes\ndef f(x):\n    ctypes.string_at(0)\n", "SIGSEGV"),
        ("import os\ndef f(x):\n    os.kill(os.getpid(), 9)\n", "SIGKILL"),
        ("import os\ndef f(x):\n    os.abort()\n", "SIGABRT"),
    ],
)
def test_28_ending_by_a_signal(sandbox, source, name):
    result = judge(sandbox, source)
    assert (result.verdict, result.reason, result.cases_run) == (Verdict.RE, name, 3)
    assert result.signal == {"SIGSEGV": 11, "SIGKILL": 9, "SIGABRT": 6}[name]


# --- processes ------------------------------------------------------------------------------------------------------


def test_15_a_fork_bomb(isolated):
    source = """
import os
def f(x):
    while True:
        try:
            os.fork()
        except OSError:
            pass
"""
    result = judge(isolated, source, LIMITS)
    assert result.verdict in (Verdict.RE, Verdict.TLE, Verdict.MLE)
    still_works(isolated)


def test_16_a_daemon_is_dead_before_the_verdict(sandbox):
    # It becomes another program whose arguments can be found from outside; the closing pipe tells that it has.
    marker = f"99999.{secrets.randbelow(10**9):09}"
    source = f"""
import os
def f(x):
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv("/bin/sleep", ["sleep", "{marker}"])
        os._exit(0)
    os.close(writing)
    os.wait()
    os.read(reading, 1)
    return x + 1
"""
    assert judge(sandbox, source).verdict is Verdict.AC
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as arguments:
            assert marker not in arguments.read()


def test_17_sleeping_children_that_hold_the_output_open_delay_nothing(sandbox):
    source = """
import os, time
def f(x):
    for _ in range(30):
        if os.fork() == 0:
            time.sleep(1000)
    return x + 1
"""
    result = judge(sandbox, source)
    assert result.verdict is Verdict.AC
    assert result.wall_ms < 1000 * ENOUGH.wall_seconds


def test_18_killing_everything_in_sight(isolated):
    source = """
import os
def f(x):
    for pid in range(1, 400):
        try:
            os.kill(pid, 9)
        except OSError:
            pass
    os.kill(os.getpid(), 9)
"""
    result = judge(isolated, source)
    assert (result.verdict, result.reason) == (Verdict.RE, "SIGKILL")
    assert isolated.run(Execution(Program.single(RIGHT), "f", ENOUGH, calls=(encode((1,)),))).end is End.COMPLETED


def test_20_full_pipes_in_both_directions(sandbox):
    limits = Limits(cpu_seconds=5.0, memory_mb=256, output_bytes=1 << 20)
    outcome = run(
        sandbox, "def f(x):\n    print('o' * 100_000)\n    return x\n", *[("a" * 200_000,)] * 5, limits=limits
    )
    assert values(outcome) == ["a" * 200_000] * 5
    assert len(outcome.stdout) == 5 * 100_001


def test_40_a_thread_that_goes_on_after_the_main_thread_ended(sandbox):
    source = """
import _thread, sys, time, threading
def f(x):
    threading.Thread(target=lambda: (time.sleep(0.05), print(x + 1))).start()
    raise SystemExit
"""
    assert judge(sandbox, source).verdict is Verdict.RE


# --- what it can see ------------------------------------------------------------------------------------------------


def test_14_35_nothing_to_find_and_nowhere_to_go(isolated):
    source = """
import os, socket
def f(places):
    found = []
    for place in places:
        try:
            found += [place + "/" + name for name in os.listdir(place)]
        except OSError:
            pass
    for action in (
        lambda: socket.create_connection(("192.0.2.1", 80), timeout=1),
        lambda: socket.getaddrinfo("example.org", 80),
        lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
        lambda: open("/usr/x", "w"),
        lambda: open("/x", "w"),
        lambda: open("/halflife/app/domain/codec.py", "a"),
    ):
        try:
            found.append(str(action()))
        except OSError:
            pass
    return found, os.getppid(), sorted(os.environ), "app" in __import__("sys").modules
"""
    places = ("/home", "/work", "/tmp", "/dev/shm")
    if isolated.name != "slot":
        # A container shows its processes; what can be read of them is tested where slots are.
        places += ("/proc",)
    ((found, parent, environment, app),) = values(run(isolated, source, (places,)))
    assert found == []
    assert (parent == 1) == (isolated.name != "slot")
    assert set(environment) <= {"HOME", "LANG", "LC_CTYPE", "PATH", "PWD", "PYTHONHASHSEED", "PYTHONUTF8"}
    assert app is False


def test_the_sandbox_cannot_be_left_or_nested(isolated):
    source = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def f(x):
    calls = {
        "unshare": lambda: libc.unshare(0x10000000),
        "mount": lambda: libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None),
        "umount": lambda: libc.umount2(b"/proc", 2),
        "clone": lambda: libc.syscall(56 if os.uname().machine == "x86_64" else 220, 0x10000000 | 17, 0, 0, 0, 0),
        "ptrace": lambda: libc.ptrace(16, 1, 0, 0),
        "setuid": lambda: libc.setuid(0),
    }
    return sorted(name for name, call in calls.items() if call() != -1)
"""
    assert values(run(isolated, source)) == [[]]


def test_29_standard_input_is_empty(sandbox):
    source = """
import sys
def f(x):
    try:
        input()
    except EOFError:
        return sys.stdin.buffer.read(), open(0, closefd=False).read()
"""
    assert values(run(sandbox, source)) == [(b"", "")]


def test_30_nothing_is_left_for_the_next(isolated):
    leave = """
import os, math, ctypes
libc = ctypes.CDLL(None)
math.left = 1
os.environ["LEFT"] = "1"
def f(x):
    open("/tmp/left", "w").close()
    open("/dev/shm/left", "w").close()
    open("left", "w").close()
    os.mkdir("/tmp/locked", 0o000)
    return libc.shmget(4242, 100, 0o1666) >= 0
"""
    look = """
import os, math, ctypes
libc = ctypes.CDLL(None)
def f(x):
    files = [os.listdir(place) for place in ("/tmp", "/dev/shm", ".")]
    return files, hasattr(math, "left"), "LEFT" in os.environ, libc.shmget(4242, 100, 0o666)
"""
    assert values(run(isolated, leave)) == [True]
    assert values(run(isolated, look)) == [([[], [], []], False, False, -1)]


def test_36_the_disk_is_small_and_has_few_inodes(isolated):
    fill = "def f(x):\n    with open('big', 'wb') as out:\n        while True:\n            out.write(bytes(1 << 20))\n"
    assert judge(isolated, fill, Limits(cpu_seconds=5, memory_mb=256)).reason == "OSError"
    many = "def f(x):\n    for n in range(10**6):\n        open(f'/tmp/{n}', 'w').close()\n"
    assert judge(isolated, many).reason == "OSError"
    still_works(isolated)


# --- values ---------------------------------------------------------------------------------------------------------


def test_32_strange_output_is_escaped(sandbox):
    outcome = run(sandbox, "import os\ndef f(x):\n    os.write(1, b'a\\0b\\xff\\xc3\\xa9')\n    return 1\n")
    assert outcome.stdout == "a\\x00b\\xffé"


def test_33_34_values_survive(sandbox):
    source = """
def f(k):
    if k == 0:
        return [float('nan'), float('inf'), -0.0]
    if k == 1:
        return 10**5000
    v = []
    for _ in range(1000):
        v = [v]
    return v
"""
    floats, large, deep = values(run(sandbox, source, (0,), (1,), (2,)))
    assert math.isnan(floats[0])
    assert floats[1] == math.inf
    assert math.copysign(1, floats[2]) == -1
    assert large == 10**5000
    assert encode(deep) == "l1:" * 1000 + "l0:"


def test_39_arguments_are_fresh_for_every_call_and_generators_do_not_pass(sandbox):
    mutate = "def f(xs):\n    xs.append(0)\n    return len(xs)\n"
    assert values(run(sandbox, mutate, ([],), ([],))) == [1, 1]
    assert run(sandbox, "def f(x):\n    yield x\n").answers[0].kind == "unencodable"


def test_a_huge_value_does_not_pass(sandbox):
    outcome = run(sandbox, "def f(x):\n    return 'a' * 10**8\n")
    assert outcome.answers[0].kind == "unencodable"
    assert "larger than" in outcome.answers[0].detail


# --- test code ------------------------------------------------------------------------------------------------------

CHECK = """
def check(candidate):
    assert candidate(1) == 2
    for n in range(3):
        assert candidate(n) == n + 1, n
    try:
        candidate("x")
    except TypeError:
        assert True
"""


def asserts(sandbox: RunnerPool, source: str, tests: str, limits: Limits = ENOUGH, **more: object) -> Judgement:
    return Judge(sandbox).judge(
        Program.single(source),
        tests=AssertTests(tests, **more),  # type: ignore[arg-type]
        entry_point="f",
        limits=limits,
    )


def test_test_code_passes_with_its_checks_counted(sandbox):
    result = asserts(sandbox, RIGHT, CHECK, visible=("assert candidate(1) == 2",))
    # 1 + 3 in the loop + 1 in the handler
    assert (result.verdict, result.cases_passed, result.cases_total) == (Verdict.AC, 5, 5)
    assert (result.visible_passed, result.visible_total, result.weak) == (1, 1, False)


def test_false_asserts_do_not_hide_the_later_ones(sandbox):
    source = "def f(x):\n    return x + 1 if x != 1 else 0\n"
    result = asserts(sandbox, source, CHECK, visible=("assert candidate(1)==2",))
    assert (result.verdict, result.reason) == (Verdict.WA, "assertion_failed")
    assert (result.cases_passed, result.cases_run, result.cases_total) == (3, 5, 5)
    assert result.visible_passed == 0
    assert result.first_failure is not None
    assert result.first_failure.visible
    assert result.first_failure.error == "assert candidate(1) == 2\nf(1) returned 0"


@pytest.mark.parametrize(
    ("source", "verdict", "reason"),
    [
        ("def f(x):\n    raise KeyError(x)\n", Verdict.RE, "KeyError"),
        ("def f(x):\n    raise AssertionError\n", Verdict.RE, "AssertionError"),
        ("def f(x):\n    raise SystemExit\n", Verdict.RE, "SystemExit"),
        ("import os\ndef f(x):\n    os._exit(0)\n", Verdict.RE, "exit"),
        ("import os\ndef f(x):\n    os.kill(os.getpid(), 9)\n", Verdict.RE, "SIGKILL"),
        ("raise ValueError\n", Verdict.RE, "ValueError"),
        ("def f(x:\n", Verdict.CE, "compile_error"),
        ("import time\ndef f(x):\n    time.sleep(60)\n", Verdict.TLE, "wall_time"),
        ("def f(x):\n    return None\n", Verdict.WA, "assertion_failed"),
        (
            "class E:\n    def __eq__(self, o): return True\ndef f(x):\n    return E()\n",
            Verdict.WA,
            "unencodable_value",
        ),
        (
            "import builtins\nbuiltins.AssertionError = Exception\ndef f(x):\n    return 7\n",
            Verdict.WA,
            "assertion_failed",
        ),
        ("def f(x):\n    return len([0] * 10**11)\n", Verdict.MLE, "memory"),
    ],
)
def test_4_test_code_and_bad_programs(sandbox, source, verdict, reason):
    result = asserts(sandbox, source, CHECK, LIMITS)
    assert (result.verdict, result.reason) == (verdict, reason)
    assert not result.weak
    still_works(sandbox)


def test_what_cannot_cross_runs_weakly_in_one_process(sandbox):
    tests = "def check(candidate):\n    assert candidate(lambda v: v + 1) == 2\n"
    result = asserts(sandbox, "def f(g):\n    return g(1)\n", tests)
    assert (result.verdict, result.weak, result.cases_total) == (Verdict.AC, True, 1)
    wrong = asserts(sandbox, "def f(g):\n    return g(2)\n", tests)
    assert (wrong.verdict, wrong.weak) == (Verdict.WA, True)


def test_tests_that_name_the_programs_own_types_run_weakly(sandbox):
    tests = "def check(candidate):\n    assert candidate(Pair(1, 2)) == 3\n"
    source = (
        "class Pair:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\ndef f(p):\n    return p.a + p.b\n"
    )
    result = asserts(sandbox, source, tests)
    assert (result.verdict, result.weak) == (Verdict.AC, True)


def test_5_a_program_that_ends_the_tests_passes_nothing_even_weakly(sandbox):
    tests = "def check(candidate):\n    assert candidate(lambda v: v + 1) == 2\n"
    result = asserts(sandbox, "import os\ndef f(g):\n    os._exit(0)\n", tests)
    assert result.verdict is Verdict.RE


def test_helpers_are_the_tests_own_and_the_entry_point_may_be_named(sandbox):
    tests = "def check(candidate):\n    assert twice(candidate(1)) == 4\n    assert f(2) == 3\n"
    result = asserts(
        sandbox, "def twice(x):\n    return -1\n" + RIGHT, tests, helpers="def twice(x):\n    return 2 * x\n"
    )
    assert (result.verdict, result.cases_total, result.weak) == (Verdict.AC, 2, False)


def test_the_candidate_never_holds_the_tests(sandbox):
    source = """
import gc
def f(x):
    marker = "MARK" + "ER-9"
    for one in gc.get_objects():
        if isinstance(one, dict) and any(isinstance(v, str) and marker in v for v in one.values() if v is not marker):
            if one.get("marker") is not marker:
                return "found"
    return "clean"
"""
    tests = "def check(candidate):\n    note = 'MARKER-9'\n    assert candidate(1) == 'clean'\n"
    assert asserts(sandbox, source, tests).verdict is Verdict.AC


# --- the sandbox itself ---------------------------------------------------------------------------------------------


def test_slots_run_side_by_side_and_each_gets_its_own_answer():
    with BubblewrapSandbox(2) as sandbox:
        results: dict[int, list] = {}

        def work(n: int) -> None:
            results[n] = values(run(sandbox, RIGHT, (n,)))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == {n: [n + 1] for n in range(12)}


def test_alone_means_with_nothing_beside_it_and_is_not_starved():
    source = """
import time
def f(x):
    begun = time.monotonic()
    time.sleep(0.02)
    return begun, time.monotonic()
"""
    execution = Execution(Program.single(source), "f", ENOUGH, calls=(encode((1,)),))
    spans: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    served = threading.Event()
    with BubblewrapSandbox(2) as sandbox:

        def work(alone: bool) -> None:
            while not served.is_set():
                spans[alone] += values(sandbox.run(execution, alone=alone))
                if alone:
                    return

        ordinary = [threading.Thread(target=work, args=(False,), daemon=True) for _ in range(4)]
        alone = [threading.Thread(target=work, args=(True,), daemon=True) for _ in range(3)]
        for thread in ordinary + alone:
            thread.start()
        for thread in alone:
            thread.join(60)
        served.set()
        for thread in ordinary:
            thread.join(60)
    assert len(spans[True]) == 3

    def overlaps(one: tuple[float, float], others: list[tuple[float, float]]) -> bool:
        return any(one[0] < other[1] and other[0] < one[1] for other in others if other is not one)

    assert not any(overlaps(one, spans[True] + spans[False]) for one in spans[True])
    # What is not alone does run side by side, or the test would show nothing.
    assert any(overlaps(one, spans[False]) for one in spans[False])


def test_a_cancelled_execution_raises_and_frees_its_slot(sandbox):
    asked = iter([False, False])
    sleeper = Execution(
        Program.single("import time\ndef f(x):\n    time.sleep(60)\n"), "f", ENOUGH, calls=(encode((1,)),)
    )
    with pytest.raises(SandboxError, match="cancelled"):
        sandbox.run(sleeper, cancelled=lambda: next(asked, True))
    still_works(sandbox)


def test_a_runner_that_died_is_replaced_silently():
    with BubblewrapSandbox(1) as sandbox:
        still_works(sandbox)
        (runner,) = sandbox._runners
        runner.link.process.kill()
        runner.link.process.wait()
        still_works(sandbox)


def test_runners_are_recycled():
    with BubblewrapSandbox(1, recycle_after=2) as sandbox:
        (first,) = sandbox._runners
        still_works(sandbox)
        still_works(sandbox)
        still_works(sandbox)
        assert first not in sandbox._runners


def test_a_closed_sandbox_refuses():
    sandbox = BubblewrapSandbox(1)
    sandbox.close()
    with pytest.raises(SandboxError, match="closed"):
        run(sandbox, RIGHT)


def test_only_one_of_calls_and_tester(sandbox):
    with pytest.raises(ValueError, match="one of"):
        sandbox.run(Execution(Program.single(RIGHT), "f", ENOUGH))
