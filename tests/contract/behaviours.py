"""The judge's table of hostile and unlucky programs as data, one entry a behaviour, with the outcomes that are right.

`python -m tests.contract.behaviours` prints what each home makes of each of them.
"""

import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from app.adapters.sandbox.pool import RunnerPool
from app.adapters.sandbox.slot_container import find_slots
from app.domain.codec import encode
from app.domain.errors import InputError, SandboxError
from app.domain.ports import Sandbox
from app.domain.problems import Case, CaseTests, CommandTests, Limits, StdinCase, StdinTests, SuiteTests, Tests
from app.domain.programs import Program
from app.judge import Judge

ADD_ONE = CaseTests(tuple(Case(encode((n,)), encode(n + 1), visible=n == 1) for n in (1, 2, 3)))
SUITE = SuiteTests(
    "unittest",
    {
        "test_f.py": "import unittest\nfrom solution import f\n"
        "class Tests(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(f(1), 2)\n"
    },
)
DOUBLED = StdinTests((StdinCase("2\n", "4\n"), StdinCase("5\n", "10\n")))
REPORTED = CommandTests(("python", "solution.py"), "report.xml", 1, {})
NOTHING = CaseTests(())
NAN = CaseTests(tuple(Case(encode((x,)), encode([x, -0.0])) for x in (float("nan"), float("inf"))))
LARGE = CaseTests((Case(encode((7**5900,)), encode(7**5900 + 1)),))

TIGHT = Limits(cpu_seconds=0.3, memory_mb=96, output_bytes=8192)
AMPLE = Limits(cpu_seconds=5.0, memory_mb=256, output_bytes=8192)

INFRASTRUCTURE = "infrastructure_error"


@dataclass(frozen=True)
class Behaviour:
    """`outcomes` are the right ones: `VERDICT` or `VERDICT reason`. `quick`: it must not take longer than two seconds."""

    number: str
    what: str
    source: str
    outcomes: tuple[str, ...]
    tests: Tests = ADD_ONE
    limits: Limits = AMPLE
    quick: bool = False


def outcome(sandbox: Sandbox, behaviour: Behaviour) -> str:
    """`VERDICT reason` of one behaviour, or INFRASTRUCTURE."""
    try:
        judged = Judge(sandbox).judge(
            Program.single(behaviour.source), tests=behaviour.tests, entry_point="f", limits=behaviour.limits
        )
    except (SandboxError, InputError):
        return INFRASTRUCTURE
    return f"{judged.verdict} {judged.reason}"


def is_right(behaviour: Behaviour, seen: str) -> bool:
    """Whether what was seen is among the right outcomes."""
    return any(seen == right or seen.startswith(right + " ") for right in behaviour.outcomes)


def afterwards(sandbox: Sandbox) -> str:
    """What comes of a right program that looks for traces of earlier ones: `AC accepted` where there are none."""
    return outcome(sandbox, Behaviour("", "", _TRACELESS, ()))


_TRACELESS = """
import os, math, ctypes
def f(x):
    libc = ctypes.CDLL(None)
    left = [n for place in (".", "/tmp", "/dev/shm") for n in os.listdir(place) if not n.startswith("x-")]
    found = left or hasattr(math, "left") or libc.shmget(4242, 100, 0o666) >= 0 or "LEFT" in os.environ
    return x if found else x + 1
"""

_RIGHT_WITH = "{setup}\ndef f(x):\n    {body}\n    return x + 1\n"


def right_with(body: str, setup: str = "import os, sys, time") -> str:
    """A program that does something and then answers rightly."""
    return _RIGHT_WITH.format(setup=setup, body=body)


def wrong_with(body: str, setup: str = "import os, sys") -> str:
    """A program that does something and then answers wrongly."""
    return right_with(body, setup).replace("return x + 1", "return 0")


BEHAVIOURS = [
    Behaviour(
        "1",
        "an object equal to everything",
        "class Any:\n    __eq__ = lambda self, other: True\n    __hash__ = None\ndef f(x):\n    return Any()\n",
        ("WA",),
    ),
    Behaviour(
        "1",
        "an int that is equal to everything",
        "class Any(int):\n    __eq__ = lambda self, other: True\n    __hash__ = None\ndef f(x):\n    return Any(99)\n",
        ("WA",),
    ),
    Behaviour(
        "2",
        "looks for the expected value in its callers and in all objects",
        "import gc, sys\ndef f(x):\n    frame, seen = sys._getframe(1), []\n    while frame:\n"
        "        seen += [v for v in frame.f_locals.values() if type(v) is int and v != x]\n        frame = frame.f_back\n"
        "    for o in gc.get_objects():\n        if type(o) is dict and 'expected' in o:\n            return o['expected']\n"
        "    return seen[-1] if seen else None\n",
        ("WA", "RE"),
    ),
    Behaviour(
        "3",
        "writes into every descriptor it holds, then leaves",
        "import os\ndef f(x):\n    for d in range(3, 64):\n        try:\n            os.write(d, b'PASS' * 9)\n"
        "        except OSError:\n            pass\n    os._exit(0)\n",
        ("RE",),
        quick=True,
    ),
    Behaviour(
        "4",
        "patches assertEqual and AssertionError",
        "import builtins, unittest\nunittest.TestCase.assertEqual = lambda *_: None\n"
        "builtins.AssertionError = type('Never', (Exception,), {})\ndef f(x):\n    return 0\n",
        ("WA",),
        SUITE,
    ),
    Behaviour(
        "5", "raises SkipTest", "import unittest\ndef f(x):\n    raise unittest.SkipTest('no')\n", ("RE",), SUITE
    ),
    Behaviour(
        "5",
        "makes the loader return an empty suite",
        "import unittest\nunittest.TestLoader.discover = lambda *a, **k: unittest.TestSuite()\ndef f(x):\n    return 0\n",
        ("WA",),
        SUITE,
    ),
    Behaviour(
        "6",
        "drops a conftest.py that reports passes",
        "open('conftest.py', 'w').write('def pytest_runtest_makereport(item, call): ...')\ndef f(x):\n    return 0\n",
        ("WA",),
        SuiteTests("pytest", {"test_f.py": "from solution import f\ndef test_it():\n    assert f(1) == 2\n"}),
    ),
    Behaviour(
        "7", "prints forged results", wrong_with("print('PASS', 'OK', '3 passed', 'V\\x00', flush=True)"), ("WA",)
    ),
    Behaviour("8", "prints without a newline", right_with("print('1', end=''); sys.stdout.flush()"), ("AC",)),
    Behaviour("9", "prints 64 KiB", right_with("print('x' * 65536)"), ("RE output_limit",)),
    Behaviour("9", "prints 10 MB", right_with("print('x' * 10_000_000)"), ("RE output_limit",)),
    Behaviour("9", "prints endlessly", right_with("while True: os.write(2, b'x' * 5000)"), ("RE output_limit",)),
    Behaviour(
        "10",
        "overwrites the test file",
        "import glob\nfor p in glob.glob('/[ht]*/**/test_f.py', recursive=True): open(p, 'w').close()\n"
        "def f(x):\n    return 0\n",
        ("WA",),
        SUITE,
    ),
    Behaviour("11", "sys.exit(0)", "import sys\ndef f(x):\n    sys.exit(0)\n", ("RE",), quick=True),
    Behaviour("11", "os._exit(0)", "import os\ndef f(x):\n    os._exit(0)\n", ("RE",), quick=True),
    Behaviour(
        "11", "execs another program", "import os\ndef f(x):\n    os.execlp('true', 'true')\n", ("RE",), quick=True
    ),
    Behaviour(
        "12",
        "swallows every exception in an endless loop",
        "def f(x):\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass\n",
        ("TLE",),
        limits=TIGHT,
    ),
    Behaviour(
        "13",
        "clears the alarm and sleeps",
        "import signal, time\ndef f(x):\n    signal.alarm(0)\n    time.sleep(60)\n",
        ("TLE",),
        limits=TIGHT,
    ),
    Behaviour(
        "13",
        "ignores and blocks every signal",
        "import signal\ndef f(x):\n    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    while True: pass\n",
        ("TLE",),
        limits=TIGHT,
    ),
    Behaviour(
        "13",
        "stops its parent",
        "import os\ndef f(x):\n    try:\n        os.kill(os.getppid(), 19)\n    except PermissionError:\n        pass\n"
        "    while True: pass\n",
        ("TLE",),
        limits=TIGHT,
    ),
    Behaviour(
        "14",
        "reads the environment, other processes, its own source",
        "import glob, os\ndef f(x):\n"
        "    mine = {'HOME', 'LANG', 'LC_CTYPE', 'PATH', 'PWD', 'PYTHONHASHSEED', 'PYTHONUTF8', 'HALFLIFE_LENT'}\n"
        "    secrets = set(os.environ) - mine\n    for p in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/*/mem'):\n"
        "        try:\n            secrets.add(open(p).read(1)) if 'self' not in p and str(os.getpid()) not in p else 0\n"
        "        except OSError:\n            pass\n    return x if secrets or glob.glob('/home/*') else x + 1\n",
        ("AC",),
    ),
    Behaviour(
        "15",
        "a fork bomb",
        "import os\ndef f(x):\n    while True:\n        try:\n            os.fork()\n        except OSError:\n            pass\n",
        ("RE", "TLE"),
        limits=Limits(cpu_seconds=0.3, memory_mb=512),
    ),
    Behaviour(
        "16",
        "leaves a daemon and answers rightly",
        right_with(
            "if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            time.sleep(60)\n        os._exit(0)"
        ),
        ("AC",),
        quick=True,
    ),
    Behaviour(
        "17",
        "leaves 100 sleeping children that hold the output open",
        "import os, time\nfor _ in range(100):\n    if os.fork() == 0:\n        time.sleep(60)\n        os._exit(0)\n"
        "def f(x):\n    return x + 1\n",
        ("AC",),
        quick=True,
    ),
    Behaviour(
        "18", "kills everything it can see", "import os\ndef f(x):\n    os.kill(-1, 9)\n    return x\n", ("RE", "WA")
    ),
    Behaviour("19", "sleeps", "import time\ndef f(x):\n    time.sleep(60)\n", ("TLE wall_time",), limits=TIGHT),
    Behaviour(
        "20",
        "fills the pipes",
        "import sys\nsys.stdout.write('x' * 4000)\nsys.stderr.write('x' * 4000)\ndef f(x):\n    return x + 1\n",
        ("AC",),
    ),
    Behaviour("21", "writes 'timelimit exceeded'", right_with("sys.stderr.write('timelimit exceeded\\n')"), ("AC",)),
    Behaviour(
        "22", "hangs after some output", "print('so far', flush=True)\nwhile True: pass\n", ("TLE",), DOUBLED, TIGHT
    ),
    Behaviour(
        "23",
        "allocates without bound",
        "def f(x):\n    a = []\n    while True: a.append(bytearray(1 << 20))\n",
        ("MLE",),
    ),
    Behaviour(
        "23",
        "a child allocates without bound",
        "import os\ndef f(x):\n    if os.fork() == 0:\n        a = []\n        while True: a.append(bytearray(1 << 20))\n"
        "    return x + 1 if os.wait()[1] == 0 else x\n",
        ("MLE",),
    ),
    Behaviour("24", "raises MemoryError itself", "def f(x):\n    raise MemoryError\n", ("RE MemoryError",), quick=True),
    Behaviour("24", "asks for 800 GB at once", "def f(x):\n    return [0] * 10**11\n", ("MLE",), quick=True),
    Behaviour("25", "recurses without bound", "def f(x):\n    return f(x)\n", ("RE RecursionError",), quick=True),
    Behaviour("28", "crashes with SIGSEGV", "import ctypes\ndef f(x):\n    ctypes.string_at(0)\n", ("RE SIGSEGV",)),
    Behaviour("28", "kills itself", "import os\ndef f(x):\n    os.kill(os.getpid(), 9)\n", ("RE SIGKILL",)),
    *(
        Behaviour("29", f"reads {way}", f"import sys\nprint(int({way}) * 2)\n", ("AC",), DOUBLED)
        for way in ("sys.stdin.buffer.read()", "input()", "open(0).read()")
    ),
    Behaviour(
        "30",
        "leaves state in every place there is",
        "import ctypes, math, os\nmath.left = 1\nos.environ['LEFT'] = '1'\nlibc = ctypes.CDLL(None)\n"
        "for place in ('/tmp/left', '/dev/shm/left', 'left'):\n    open(place, 'w').close()\n"
        "os.makedirs('/tmp/locked/in')\nos.chmod('/tmp/locked', 0)\nlibc.shmget(4242, 100, 0o1666)\n"
        "libc.mq_open(b'/left', os.O_CREAT, 0o666, None)\ndef f(x):\n    return x + 1\n",
        ("AC",),
    ),
    *(
        Behaviour(
            "31", f"leaves {what} as its output", f"import os\n{make}\n", ("RE missing_checks",), REPORTED, quick=True
        )
        for what, make in (
            ("a symlink", "os.symlink('/etc/passwd', 'report.xml')"),
            ("a FIFO", "os.mkfifo('report.xml')"),
            ("a sparse file", "os.truncate(os.open('report.xml', os.O_CREAT | os.O_RDWR), 30 << 20)"),
        )
    ),
    Behaviour("32", "prints NUL and invalid UTF-8", right_with("os.write(1, b'\\x00\\xff\\xed\\xa0\\x80')"), ("AC",)),
    Behaviour("33", "returns NaN, Infinity and -0.0", "def f(x):\n    return [x, -0.0]\n", ("AC",), NAN),
    Behaviour("34", "returns an int of 5,000 digits", "def f(x):\n    return x + 1\n", ("AC",), LARGE),
    Behaviour(
        "34",
        "returns a list nested 1,000 deep",
        "def f(x):\n    a = x + 1\n    for _ in range(1000): a = [a]\n    return a\n",
        ("WA wrong_value",),
    ),
    Behaviour(
        "35",
        "opens a socket",
        "import socket\ndef f(x):\n    socket.create_connection(('192.0.2.1', 80), timeout=1)\n",
        ("RE OSError",),
        quick=True,
    ),
    Behaviour(
        "35", "resolves a name", "import socket\ndef f(x):\n    socket.gethostbyname('example.org')\n", ("RE gaierror",)
    ),
    Behaviour(
        "36",
        "fills the disk",
        "def f(x):\n    with open('x-big', 'wb') as out:\n        while True: out.write(bytes(1 << 20))\n",
        ("RE OSError", "RE SIGXFSZ"),
    ),
    Behaviour(
        "36",
        "creates a million files",
        right_with("for n in range(10**6): open(f'x-{n}', 'w').close()"),
        ("RE OSError",),
    ),
    Behaviour("38", "a problem with no tests", right_with("pass"), (INFRASTRUCTURE,), NOTHING),
    Behaviour(
        "39",
        "changes its argument and keeps state",
        "seen = []\ndef f(x):\n    seen.append(x)\n    return x + len(seen)\n",
        ("WA wrong_value",),
    ),
    Behaviour("39", "returns a generator", "def f(x):\n    yield x + 1\n", ("WA unencodable_value",)),
    Behaviour(
        "40",
        "a thread answers after the main thread ended",
        "import threading, time\ndef f(x):\n    threading.Thread(target=lambda: time.sleep(0.05)).start()\n    raise SystemExit\n",
        ("RE",),
    ),
    # Beyond the table.
    Behaviour(
        "41", "closes every descriptor", "import os\ndef f(x):\n    os.closerange(0, 256)\n    return x + 1\n", ("RE",)
    ),
    Behaviour(
        "42",
        "patches what encodes its answers, found among all objects",
        "import gc, types\ndef f(x):\n    for o in gc.get_objects():\n        if isinstance(o, types.FunctionType) and o.__name__"
        " in ('encode', '_encode_one', 'pack'):\n            o.__code__ = (lambda *a, **k: 'T').__code__\n    return 0\n",
        ("WA", "RE"),
    ),
    Behaviour(
        "43",
        "spends its time in short-lived children",
        "import os\ndef f(x):\n    while True:\n        if os.fork() == 0:\n            sum(range(100_000))\n            os._exit(0)\n"
        "        os.wait()\n",
        ("TLE",),
        limits=TIGHT,
    ),
    Behaviour(
        "44",
        "returns a value that doubles with every level",
        "def f(x):\n    a = [x]\n    for _ in range(60): a = [a, a]\n    return a\n",
        ("WA unencodable_value", "TLE"),
    ),
    Behaviour(
        "45",
        "raises an exception whose text never ends",
        "class E(Exception):\n    def __str__(self):\n        while True: pass\ndef f(x):\n    raise E\n",
        ("TLE",),
        limits=TIGHT,
    ),
    Behaviour(
        "46",
        "starts threads without end",
        "import threading, time\ndef f(x):\n    while True: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n",
        ("RE", "MLE", "TLE"),
    ),
]


def main() -> None:
    """Print the table for bubblewrap and, where a directory of slots is given, for slot containers."""
    from app.adapters.sandbox import BubblewrapSandbox, SlotSandbox

    with ExitStack() as stack:
        homes: list[RunnerPool] = [stack.enter_context(BubblewrapSandbox(1))]
        homes += [stack.enter_context(SlotSandbox(find_slots(Path(folder)))) for folder in sys.argv[1:]]
        print(f"{'':4}{'behaviour':64}" + "".join(f"{home.name:36}" for home in homes))
        for one in BEHAVIOURS:
            cells = []
            for home in homes:
                began = time.monotonic()
                seen = outcome(home, one)
                took = time.monotonic() - began
                right = is_right(one, seen) and afterwards(home) == "AC accepted"
                cells.append(f"{seen}, {took:.2f} s{'' if right else ' WRONG'}")
            print(f"{one.number:4}{one.what:64}" + "".join(f"{cell:36}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
