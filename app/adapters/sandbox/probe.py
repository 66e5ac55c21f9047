"""Whether a sandbox keeps each of its promises, tried out and not merely looked up."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.adapters.sandbox.pool import RunnerPool
from app.adapters.sandbox.runner.homes import SERVER_CAPABILITIES
from app.domain.codec import CodecError, decode, encode
from app.domain.errors import SandboxError
from app.domain.ports import End, Execution, ExecutionOutcome
from app.domain.problems import Limits
from app.domain.programs import Program
from app.domain.verdicts import MemoryTier

_LIMITS = Limits(cpu_seconds=5.0, memory_mb=64, output_bytes=4096)
_ROOMY = Limits(cpu_seconds=5.0, memory_mb=256)
_SHORT = Limits(cpu_seconds=0.1, memory_mb=64)

_PRIVILEGES = """
import ctypes, os
def answer():
    libc, held = ctypes.CDLL(None), []
    words = (ctypes.c_uint32 * 6)()
    libc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), words)
    if any(words):
        held.append("capabilities")
    if os.getuid() == 0:
        held.append("the user root")
    if libc.prctl(39, 0, 0, 0, 0) != 1:
        held.append("gaining privileges by running a program")
    if libc.prctl(21, 0, 0, 0, 0) != 2:
        held.append("unfiltered system calls")
    if libc.unshare(0x10000000) == 0:
        held.append("namespaces")
    return held
"""
_NETWORK = """
import errno, socket
def answer():
    # An address reserved for documentation: where there is a route at all, the attempt times out.
    try:
        socket.create_connection(("192.0.2.1", 80), timeout=0.2).close()
    except OSError as error:
        return [] if error.errno == errno.ENETUNREACH else [str(error)]
    return ["a connection"]
"""
_READ_ONLY = """
import os
def answer():
    written = []
    system = ("/", "/usr", "/etc", "/dev", "/run", "/var/tmp", "/home", "/root", "/halflife")
    for place in (*system, os.path.dirname(os.__file__)):
        try:
            with open(os.path.join(place, "halflife-probe"), "w"):
                written.append(place)
        except OSError:
            pass
    return written
"""
_TMP = """
import ctypes, os
def answer():
    libc = ctypes.CDLL(None)
    found = os.listdir("/tmp") + os.listdir("/dev/shm")
    if libc.shmget(4242, 1, 0) >= 0:
        found.append("shared memory")
    for place in ("/tmp/left-behind", "/dev/shm/left-behind"):
        with open(place, "w"):
            pass
    os.mkdir("/tmp/locked", 0)
    libc.shmget(4242, 1, 0o1666)
    return found
"""
_HOST = """
import os
def answer():
    found = sorted(os.environ) + (os.listdir("/home") if os.path.exists("/home") else [])
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if pid != str(os.getpid()):
            try:
                with open(f"/proc/{pid}/environ") as file:
                    found.append(file.read())
            except OSError:
                pass
    return found
"""
_SOCKETS = """
import os
def answer():
    try:
        return os.listdir({directory!r})
    except PermissionError:
        return []
"""
_DISK = """
def answer():
    try:
        for name in ("one", "two", "three"):
            with open("/tmp/" + name, "wb") as file:
                for _ in range(30):
                    file.write(bytes(1 << 20))
        return ["90 MB of room"]
    except OSError:
        pass
    try:
        for number in range(5000):
            open(f"/tmp/{number}", "w").close()
        return ["room for 5000 files"]
    except OSError:
        return []
"""
_FORKS = """
import ctypes
def answer():
    libc = ctypes.PyDLL(None)  # not os.fork: what a child of it touches takes time and memory
    for _ in range(1000):
        pid = libc.fork()
        if pid == 0:
            libc.pause()
        if pid < 0:
            raise BlockingIOError
    return ["a thousand processes"]
"""
_SPIN = "def answer():\n    while True:\n        pass\n"
_HOG = "def answer():\n    held = []\n    while True:\n        held.append(bytearray(1 << 20))\n"
_FLOOD = "def answer():\n    while True:\n        print('x' * 1000)\n"
_RIGHT = "def answer():\n    return 42\n"


@dataclass(frozen=True, slots=True)
class Check:
    """One promise and whether it held. `detail` says what was seen or, for a person, what to do."""

    name: str
    ok: bool
    detail: str


def probe(sandbox: RunnerPool) -> list[Check]:
    """Try every promise of a sandbox with one kind of slot. Takes about a second; raises nothing."""
    try:
        outcome = _run(sandbox, _RIGHT, _LIMITS)
        if _value(outcome) != 42:
            return [Check("programs run", False, f"a trivial program did not run: {outcome}")]
        checks = [Check("programs run", True, "a trivial program gave its answer")]
        if sandbox.name != "none":
            checks += [_try(sandbox, promise) for promise in _ISOLATION]
        checks += [_try(sandbox, promise) for promise in _LIMITED]
        if sandbox.name == "slot":
            checks += _of_container(sandbox)
    except SandboxError as error:
        return [Check("programs run", False, explain_refusal(str(error)))]
    return checks


def explain_refusal(error: str) -> str:
    """The error with what to do about it, where that is known."""
    if _reads("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"):
        return (
            f"{error}. Ubuntu's AppArmor keeps programs from creating user namespaces "
            "(kernel.apparmor_restrict_unprivileged_userns=1). Lift it with "
            "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or install an AppArmor profile that allows "
            "`userns` for bwrap and for the Python interpreter"
        )
    if _reads("/proc/sys/kernel/unprivileged_userns_clone", "0"):
        return (
            f"{error}. This kernel keeps normal users from creating user namespaces; "
            "lift it with `sudo sysctl kernel.unprivileged_userns_clone=1`"
        )
    if _reads("/proc/sys/user/max_user_namespaces", "0"):
        return f"{error}. No user namespaces are allowed; lift it with `sudo sysctl user.max_user_namespaces=10000`"
    if Path("/.dockerenv").exists():
        return (
            f"{error}. Within a container, use slot containers beside it (HALFLIFE_SANDBOX=slot), or allow namespaces "
            "with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`"
        )
    return error


def _reads(path: str, value: str) -> bool:
    try:
        return Path(path).read_text().strip() == value
    except OSError:
        return False


def _run(sandbox: RunnerPool, source: str, limits: Limits) -> ExecutionOutcome:
    return sandbox.run(Execution(Program.single(source), "answer", limits, calls=(encode(()),)))


def _value(outcome: ExecutionOutcome) -> object:
    """The one answer's value; the answer itself where it is none."""
    if len(outcome.answers) != 1:
        return outcome
    (answer,) = outcome.answers
    if answer.value is None:
        return answer
    try:
        return decode(answer.value)
    except CodecError:
        return answer


def _nothing_found(outcome: ExecutionOutcome) -> str | None:
    value = _value(outcome)
    return None if value == [] else f"found {value}"


def _ended_by(*ends: End) -> Callable[[ExecutionOutcome], str | None]:
    return lambda outcome: None if outcome.end in ends else f"it ended by {outcome.end} ({outcome.compile_error})"


def _clean_environment(outcome: ExecutionOutcome) -> str | None:
    value = _value(outcome)
    allowed = {"HOME", "LANG", "LC_CTYPE", "PATH", "PWD", "PYTHONHASHSEED", "PYTHONUTF8"}
    return None if isinstance(value, list) and set(value) <= allowed else f"found {value}"


def _process_limit(outcome: ExecutionOutcome) -> str | None:
    # The kernel refuses a further process, or the supervisor ends them all.
    errors = [answer.error for answer in outcome.answers]
    return None if errors in (["BlockingIOError"], ["process_limit"]) else f"it ended by {outcome.end}, {errors}"


@dataclass(frozen=True, slots=True)
class _Promise:
    """A program that tries to break it; `fault` tells from the outcome what is wrong, `kept` what to say otherwise."""

    name: str
    source: str
    fault: Callable[[ExecutionOutcome], str | None]
    kept: str
    limits: Limits = _LIMITS


_ISOLATION = [
    _Promise("no privileges", _PRIVILEGES, _nothing_found, "no root, no capabilities, system calls are filtered"),
    _Promise("no network", _NETWORK, _nothing_found, "no route leads out"),
    _Promise("read-only root", _READ_ONLY, _nothing_found, "nothing outside /tmp can be written"),
    _Promise("nothing of the host", _HOST, _clean_environment, "no home, no other's process, a clean environment"),
    _Promise("private /tmp", _TMP, _nothing_found, "a program starts with an empty /tmp and /dev/shm"),
    _Promise("nothing left behind", _TMP, _nothing_found, "what one program left the next does not see"),
    _Promise("small disk", _DISK, _nothing_found, "what it can write is limited in size and in number of files"),
    _Promise("process limit", _FORKS, _process_limit, "a program cannot have any number of processes", _ROOMY),
]
_LIMITED = [
    # By the clock where a crowded machine gives it less than a third of a processor.
    _Promise("time limit", _SPIN, _ended_by(End.CPU_TIME, End.WALL_TIME), "an endless loop was ended", _SHORT),
    _Promise("memory limit", _HOG, _ended_by(End.MEMORY), "an endless allocation was ended"),
    _Promise("output limit", _FLOOD, _ended_by(End.OUTPUT_LIMIT), "endless output was ended"),
]


def _of_container(sandbox: RunnerPool) -> list[Check]:
    (greeting,) = sandbox.greetings()
    reach = _Promise(
        "runner out of reach",
        _SOCKETS.format(directory=greeting["directory"]),
        _nothing_found,
        "a program cannot open the runner's socket",
    )
    excess = int(greeting["capabilities"]) & ~SERVER_CAPABILITIES
    powers = f"drop all but SETUID and SETGID (excess: {excess:#x})" if excess else "it can become other users, no more"
    return [_try(sandbox, reach), Check("runner's privileges", not excess, powers)]


def _try(sandbox: RunnerPool, promise: _Promise) -> Check:
    try:
        found = promise.fault(_run(sandbox, promise.source, promise.limits))
    except SandboxError as error:
        found = str(error)
    return Check(promise.name, found is None, found or promise.kept)


def describe_tier(sandbox: RunnerPool) -> Check:
    """How exactly memory limits are enforced, and how that could be improved."""
    if sandbox.memory_tier is MemoryTier.CGROUP:
        detail = "cgroup: exact, a program's children included"
    elif sandbox.name == "slot":
        detail = "rlimit: exact per process; what a program's children hold together is looked at 50 times a second"
    else:
        detail = "rlimit: per process, a program's children each have the limit again"
        if sandbox.name == "bubblewrap":
            detail += "; run as root or with a delegated cgroup for the exact tier"
    return Check("memory tier", True, detail)
