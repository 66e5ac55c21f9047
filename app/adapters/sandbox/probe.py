"""Whether the sandbox of this machine keeps each of its promises, tried out and not merely looked up."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.adapters.sandbox.bubblewrap import INSTALL_HINT, BubblewrapSandbox
from app.domain.codec import CodecError, decode, encode
from app.domain.errors import SandboxError
from app.domain.ports import End, Execution, ExecutionOutcome, Sandbox
from app.domain.problems import Limits
from app.domain.programs import Program
from app.domain.verdicts import MemoryTier

_LIMITS = Limits(cpu_seconds=1.0, memory_mb=128, output_bytes=4096)

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
    for place in ("/", "/usr", "/etc", "/dev", "/home", "/root", os.path.dirname(os.__file__)):
        try:
            with open(os.path.join(place, "halflife-probe"), "w"):
                written.append(place)
        except OSError:
            pass
    return written
"""
_TMP = """
import os
def answer():
    found = os.listdir("/tmp") + os.listdir("/dev/shm")
    for place in ("/tmp/left-behind", "/dev/shm/left-behind"):
        with open(place, "w"):
            pass
    return found
"""
_HOME = """
import os
def answer():
    return sorted(os.environ) + (os.listdir("/home") if os.path.exists("/home") else []) + os.listdir("/proc")
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


def probe() -> list[Check]:
    """Try every promise of the bubblewrap sandbox. Takes a few seconds; raises nothing."""
    path = shutil.which("bwrap")
    if path is None:
        return [Check("bubblewrap", False, f"bwrap is not on the PATH; {INSTALL_HINT}")]
    checks = [Check("bubblewrap", True, path)]
    try:
        with BubblewrapSandbox(1) as sandbox:
            first = _run(sandbox, _RIGHT)
            right = _value(first) == 42
            checks.append(
                Check("namespaces", right, "a program runs in namespaces of its own" if right else str(first))
            )
            checks += [_try(sandbox, *promise) for promise in _PROMISES]
            checks.append(_memory_tier(sandbox.memory_tier))
    except SandboxError as error:
        checks.append(Check("namespaces", False, explain_refusal(str(error))))
    return checks


def self_check(sandbox: Sandbox) -> None:
    """Run one trivial program. Raises SandboxError where that does not give the right answer."""
    outcome = _run(sandbox, _RIGHT)
    if _value(outcome) != 42:
        raise SandboxError(f"a trivial program did not run: {outcome}")


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
            f"{error}. Within a container, namespaces need `--security-opt seccomp=unconfined "
            "--security-opt apparmor=unconfined` or a sandbox outside of it"
        )
    return error


def _reads(path: str, value: str) -> bool:
    try:
        return Path(path).read_text().strip() == value
    except OSError:
        return False


def _run(sandbox: Sandbox, source: str) -> ExecutionOutcome:
    return sandbox.run(Execution(Program.single(source), "answer", _LIMITS, calls=(encode(()),)))


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


# name, program, what is wrong with its outcome, what to say when nothing is
_PROMISES: list[tuple[str, str, Callable[[ExecutionOutcome], str | None], str]] = [
    ("no network", _NETWORK, _nothing_found, "no route leads out"),
    ("read-only root", _READ_ONLY, _nothing_found, "nothing outside /tmp can be written"),
    ("nothing of the host", _HOME, _clean_environment, "no home, no processes, a clean environment"),
    ("private /tmp", _TMP, _nothing_found, "a program starts with an empty /tmp and /dev/shm"),
    ("nothing left behind", _TMP, _nothing_found, "what one program wrote the next does not see"),
    # By the clock where a crowded machine gives it less than a third of a processor.
    ("time limit", _SPIN, _ended_by(End.CPU_TIME, End.WALL_TIME), "an endless loop was ended"),
    ("memory limit", _HOG, _ended_by(End.MEMORY), "an endless allocation was ended"),
    ("output limit", _FLOOD, _ended_by(End.OUTPUT_LIMIT), "endless output was ended"),
]


def _try(
    sandbox: Sandbox, name: str, source: str, fault: Callable[[ExecutionOutcome], str | None], promise: str
) -> Check:
    try:
        found = fault(_run(sandbox, source))
    except SandboxError as error:
        found = str(error)
    return Check(name, found is None, found or promise)


def _memory_tier(tier: MemoryTier) -> Check:
    detail = {
        MemoryTier.CGROUP: "cgroup: exact, a program's children included",
        MemoryTier.RLIMIT: "rlimit: per process, a program's children each have the limit again; "
        "run as root or with a delegated cgroup for the exact tier",
    }
    return Check("memory tier", True, detail[tier])
