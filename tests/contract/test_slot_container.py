"""What only slot containers have to show: one container serves many executions, and clears up between them itself."""

import grp
import os
import pwd
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.adapters.sandbox import SlotSandbox, open_sandbox
from app.adapters.sandbox.runner import frames
from app.adapters.sandbox.slot_container import find_slots
from app.config import SandboxChoice, Settings
from app.domain.codec import decode, encode
from app.domain.errors import SandboxError, SandboxUnavailable
from app.domain.ports import End, Execution, ExecutionOutcome
from app.domain.problems import AssertTests, Limits
from app.domain.programs import Program
from app.domain.verdicts import MemoryTier, Verdict
from app.judge import Judge
from tests.fixtures.docker import DockerEngine
from tests.fixtures.slots import Slots, running_slots

LIMITS = Limits(cpu_seconds=5.0, memory_mb=128)
RIGHT = "def f(x):\n    return x + 1\n"


@pytest.fixture(scope="module")
def slot(slots: Slots) -> Iterator[SlotSandbox]:
    with SlotSandbox(slots.sockets()) as opened:
        yield opened


def run(sandbox: SlotSandbox, source: str, *arguments: object, limits: Limits = LIMITS) -> ExecutionOutcome:
    return sandbox.run(Execution(Program.single(source), "f", limits, calls=(encode(arguments),)))


def value(outcome: ExecutionOutcome) -> object:
    (answer,) = outcome.answers
    return decode(answer.value) if answer.value is not None else answer


def started(slots: Slots) -> str:
    """When the container's present life began: another time means that it was recycled."""
    (container,) = slots.containers()
    return slots.engine.docker("inspect", "--format", "{{.State.StartedAt}}", container)


def works(sandbox: SlotSandbox) -> bool:
    return value(run(sandbox, RIGHT, 1)) == 2


# --- what a program cannot reach ------------------------------------------------------------------------------------


def test_a_program_cannot_reach_the_runners_socket(slot: SlotSandbox, slots: Slots) -> None:
    source = """
import os, socket
def f(name):
    refused = []
    for action in (
        lambda: os.listdir("/run/halflife"),
        lambda: os.stat(f"/run/halflife/{name}"),
        lambda: socket.socket(socket.AF_UNIX).connect(f"/run/halflife/{name}"),
        lambda: os.mkdir("/run/halflife/mine"),
    ):
        try:
            action()
            refused.append("done")
        except OSError as error:
            refused.append(type(error).__name__)
    return refused
"""
    (path,) = slots.sockets()
    assert value(run(slot, source, path.name)) == ["PermissionError"] * 4
    # The same name leads somewhere for who may: this test has just used it.
    assert path.is_socket()


def test_a_program_can_do_nothing_to_the_runners_processes(slot: SlotSandbox) -> None:
    source = """
import os
def f():
    others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    done = []
    for pid in others:
        for action in (
            lambda: os.kill(pid, 0),
            lambda: open(f"/proc/{pid}/environ").read(),
            lambda: open(f"/proc/{pid}/maps").read(),
            lambda: open(f"/proc/{pid}/mem", "rb").read(1),
            lambda: os.listdir(f"/proc/{pid}/fd"),
            lambda: os.listdir(f"/proc/{pid}/cwd"),
            lambda: open(f"/proc/{pid}/oom_score_adj", "w").write("1000"),
        ):
            try:
                action()
                done.append(pid)
            except PermissionError:
                pass
    return len(others), done
"""
    # The server, this execution's supervisor and, once it is made, the child that stands ready for the next.
    assert value(run(slot, source)) in ((2, []), (3, []))


def test_every_execution_and_its_tests_have_users_of_their_own(slot: SlotSandbox) -> None:
    who = "import os\ndef f():\n    return os.getuid(), os.getgid(), os.getgroups(), os.getresuid()\n"
    first, second = (value(run(slot, who)) for _ in range(2))
    assert isinstance(first, tuple)
    user = first[0]
    assert user >= 10_000
    assert first == (user, user, [], (user, user, user))
    assert second[0] > user
    source = """
import os
def f(user, place):
    try:
        os.listdir(place)
    except PermissionError:
        return user != os.getuid()
"""
    tests = """
import os
def check(candidate):
    open("secret", "w").close()
    assert os.listdir(".") == ["secret"]
    assert candidate(os.getuid(), os.getcwd())
"""
    judged = Judge(slot).judge(Program.single(source), tests=AssertTests(tests), entry_point="f", limits=LIMITS)
    assert (judged.verdict, judged.weak) == (Verdict.AC, False), judged


# --- clearing up ----------------------------------------------------------------------------------------------------

LEAVE = """
import ctypes, os, time
libc = ctypes.CDLL(None)
def f():
    # Deeper than any path the kernel takes, and locked on every level.
    home = os.open("/tmp", os.O_RDONLY)
    for _ in range(1000):
        os.mkdir("d" * 20)
        os.chdir("d" * 20)
        open("file", "w").close()
    os.fchdir(home)
    os.chmod("/tmp/" + "d" * 20, 0)
    open(b"/tmp/\\xff\\n", "w").close()
    os.mkfifo("/dev/shm/pipe", 0)
    os.symlink("/", "/dev/shm/link")
    shared = [libc.shmget(key, 100, 0o1666) for key in (1, 2)]
    libc.semget(1, 1, 0o1666)
    libc.msgget(1, 0o1666)
    # Given away to the user of the next execution, who could then read it.
    record = (ctypes.c_uint8 * 200)()
    libc.shmctl(shared[0], 2, record)
    ctypes.cast(record, ctypes.POINTER(ctypes.c_uint32))[1] = os.getuid() + 4
    given = libc.shmctl(shared[0], 1, record)
    queue = libc.mq_open(b"/left", 0o102, 0o666, None)
    if os.fork() == 0:
        os.setsid()
        while True:
            if os.fork() == 0:
                time.sleep(0.001)
    return min(shared) >= 0, given, queue
"""
LOOK = """
import os
def f():
    files = [name for place in ("/tmp", "/dev/shm", "/dev/mqueue") for name in os.listdir(place)]
    tables = [len(open(f"/proc/sysvipc/{kind}").readlines()) for kind in ("shm", "sem", "msg")]
    users = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            users += [line.split()[1:] for line in open(f"/proc/{name}/status") if line.startswith("Uid:")]
    return files, tables, [user for user in users if user != ["0"] * 4] == [[str(os.getuid())] * 4]
"""


def test_nothing_is_left_of_a_program_that_tries_to_stay(slot: SlotSandbox, slots: Slots) -> None:
    assert works(slot)
    before = started(slots)
    # The queue is refused: its like outlives every process.
    assert value(run(slot, LEAVE)) == (True, 0, -1)
    # A table's first line is its head; all processes but the one that looks are the runner's own.
    assert value(run(slot, LOOK)) == ([], [1, 1, 1], True)
    assert started(slots) == before, "clearing up is no reason to begin anew"


def test_a_cancelled_execution_is_cleared_up_without_a_new_container(slot: SlotSandbox, slots: Slots) -> None:
    assert works(slot)
    before = started(slots)
    asked = iter([False] * 3)
    sleeper = Execution(
        Program.single("import time\ndef f():\n    open('left', 'w').close()\n    time.sleep(60)\n"),
        "f",
        LIMITS,
        calls=(encode(()),),
    )
    with pytest.raises(SandboxError, match="cancelled"):
        slot.run(sleeper, cancelled=lambda: next(asked, True))
    assert value(run(slot, LOOK)) == ([], [1, 1, 1], True)
    assert started(slots) == before


# --- memory ---------------------------------------------------------------------------------------------------------

# Each child stays far below its own limit.
CHILDREN = """
import os, time
def f(count, megabytes):
    for _ in range(count):
        if os.fork() == 0:
            held = bytearray(megabytes << 20)
            time.sleep(60)
    for _ in range(count):
        os.wait()
"""


def test_what_children_hold_together_counts(slot: SlotSandbox) -> None:
    # 6 · 60 = 360 MB: over the limit of 128, within the container's 1,024.
    outcome = run(slot, CHILDREN, 6, 60)
    assert (outcome.end, outcome.oom_kills, outcome.memory_tier) == (End.MEMORY, 0, MemoryTier.RLIMIT)
    # Shared pages count once: 30 children of a small program are a small program.
    patient = (
        "import os, time\ndef f():\n    for _ in range(30):\n        os.fork() or time.sleep(60)\n    return 'done'\n"
    )
    assert value(run(slot, patient)) == "done"


def test_files_in_memory_count(slot: SlotSandbox) -> None:
    # 14 + 24 MB of files beside a program of some 10 MB.
    source = """
import time
def f():
    for path, megabytes in (("/dev/shm/a", 14), ("/tmp/a", 24)):
        with open(path, "wb") as out:
            for _ in range(megabytes):
                out.write(bytes(1 << 20))
    time.sleep(60)
"""
    assert run(slot, source, limits=Limits(cpu_seconds=5.0, memory_mb=32)).end is End.MEMORY


def test_the_runner_survives_a_container_that_is_out_of_memory(slot: SlotSandbox, slots: Slots) -> None:
    assert works(slot)
    before = started(slots)
    # One byte in every two megabytes: a page of memory, and one of the kernel's to find it by. What the kernel holds is
    # not looked at, so that the container is full before the program is over its limit.
    hog = """
import mmap, os, time
def f():
    for _ in range(200):
        if os.fork() == 0:
            space = mmap.mmap(-1, 1900 << 20)
            for place in range(0, 1900 << 20, 2 << 20):
                space[place] = 1
            time.sleep(60)
    os.wait()
"""
    # 1 GB less the 64 MB kept for the runner.
    outcome = run(slot, hog, limits=Limits(cpu_seconds=5.0, memory_mb=960))
    assert (outcome.end, outcome.oom_kills > 0) == (End.MEMORY, True)
    assert works(slot)
    assert started(slots) == before
    with pytest.raises(SandboxError, match="may use 961 MB, but a slot has only 960 MB"):
        run(slot, RIGHT, 1, limits=Limits(memory_mb=961))
    assert works(slot)


# --- coming and going -----------------------------------------------------------------------------------------------


def test_a_restarted_container_is_found_again(slot: SlotSandbox, slots: Slots) -> None:
    assert works(slot)
    slots.compose("restart", "--timeout", "0", "slot")
    assert works(slot)


def test_a_worker_that_asks_for_nothing_makes_room_for_another(slot: SlotSandbox, slots: Slots) -> None:
    assert works(slot)
    before = started(slots)
    with SlotSandbox(slots.sockets()) as other:
        assert [works(one) for one in (other, slot, other, slot)] == [True] * 4
    assert started(slots) == before


def test_a_slot_begins_anew_after_so_many_executions(slot_image: DockerEngine) -> None:
    with running_slots(slot_image, HALFLIFE_SLOT_EXECUTIONS="3") as slots, SlotSandbox(slots.sockets()) as sandbox:
        before = started(slots)
        assert all(works(sandbox) for _ in range(5)), "sooner, an engine would take it for a failure"
        assert started(slots) == before
        give_up = time.monotonic() + 30
        while started(slots) == before:
            assert time.monotonic() < give_up
            assert works(sandbox)
            time.sleep(0.2)
        assert works(sandbox)


def connects_as(path: Path, user: int, group: int) -> bool:
    """Whether a process of this user and group can connect to the socket."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(group)
            os.setuid(user)
            socket.socket(socket.AF_UNIX).connect(str(path))
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def test_slots_scale_and_a_worker_needs_their_group_alone(slot_image: DockerEngine, tmp_path: Path) -> None:
    group = max(grp.getgrall(), key=lambda one: one.gr_gid < 60_000 and one.gr_gid)
    with running_slots(slot_image, 2, HALFLIFE_SLOT_GID=str(group.gr_gid)) as slots:
        settings = Settings(home=tmp_path, sandbox=SandboxChoice.SLOT, slots_dir=slots.directory, execute_slots=2)
        with open_sandbox(settings) as sandbox:
            assert sandbox.slots == 2
            # Both at once: each waits for the other, as long as neither slot is taken twice.
            threads = [threading.Thread(target=works, args=(sandbox,)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
        nobody, (path, _) = pwd.getpwnam("nobody").pw_uid, slots.sockets()
        assert connects_as(path, nobody, group.gr_gid)
        assert not connects_as(path, nobody, nobody)
        # One is gone for good; the next that starts removes what it left, and nothing else.
        gone, stays = slots.containers()
        slots.engine.docker("rm", "--force", gone)
        assert len(slots.sockets()) == 2
        assert len(find_slots(slots.directory)) == 1
        with pytest.raises(SandboxUnavailable, match=r"wanted in .*: 2, answering: 1;"):
            find_slots(slots.directory, 2, wait_seconds=0.1)
        slots.engine.docker("restart", "--time", "0", stays)
        assert [path.stem for path in find_slots(slots.directory)] == [stays[:12]]
        assert len(slots.sockets()) == 1


def test_a_runner_of_another_version_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        path = tmp_path / "old.sock"
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            channel, _ = listener.accept()
            with channel:
                channel.sendall(frames.frame(b'{"python": [3, 11, 0], "fingerprint": 1}'))
                channel.recv(1)

        thread = threading.Thread(target=serve)
        thread.start()
        with SlotSandbox([path]) as sandbox, pytest.raises(SandboxError, match="another version of Halflife's runner"):
            works(sandbox)
        thread.join(10)
