"""The places a runner lives in, and what each leaves for the runner itself to do around an execution."""

import contextlib
import ctypes
import math
import os
import signal
from collections.abc import Iterator

from app.adapters.sandbox.runner import isolation
from app.adapters.sandbox.runner.processes import ProcessTree

SERVER_CAPABILITIES = 1 << 6 | 1 << 7
"""SETGID and SETUID: all that a server in a container needs."""

_TMP = "/tmp"  # noqa: S108 - private where there is isolation, else a folder of our own in it is
_SHARED_PLACES = (_TMP, "/dev/shm", "/dev/mqueue")  # noqa: S108 - all that can be written in a container
_FIRST_USER, _LAST_USER = 10_000, 65_000
_USERS_EACH = 4
_RUNNER_BYTES = 64 * 1024 * 1024
"""What of a container's memory is kept for the runner itself."""
_NO_LIMIT = 1 << 60
_IPC_RMID = 0

_libc = ctypes.CDLL(None, use_errno=True)


class Home:
    """Plain processes of this user: limits alone, no isolation. The other homes say what they do instead.

    The server forks; the child, a supervisor, calls `enter`, and a candidate's process `confine`. When the candidate
    has ended, the supervisor ends what is left of it by `kill`, and calls `leave`.
    """

    own_user = False
    """Whether a limit on one user's processes counts those of the execution alone."""
    oom_events: int | None = None
    """The file that counts the kills for want of memory, where the home as a whole has such an account."""

    def fork(self) -> int:
        """As os.fork(). Raises OSError."""
        return os.fork()

    def neighbour(self) -> "Home":
        """The home of a second supervisor of the same execution, to which this one's candidate has no access."""
        return self

    def enter(self, longest_seconds: float) -> str:
        """Make the supervisor safe from its candidate; the candidate's working directory."""
        isolation.adopt_orphans()
        # Not by tempfile, whose import takes longer than everything else.
        self._workplace = os.path.join(_TMP, f"halflife-{os.urandom(8).hex()}")
        os.mkdir(self._workplace, 0o700)
        isolation.drop_capabilities()
        isolation.filter_calls()
        isolation.hide_memory()
        return self._workplace

    def confine(self) -> None:
        """Take from the candidate's process what the supervisor keeps for itself."""

    def memory_held(self) -> int:
        """Bytes that all processes and files of the execution hold; 0 where there is no such account."""
        return 0

    def kill(self, tree: ProcessTree) -> None:
        """Kill all processes of the candidate."""
        tree.kill()

    def leave(self) -> None:
        """Remove what a candidate has left, once its processes are gone."""
        _remove(os.path.dirname(self._workplace), [self._workplace])


class Namespaces(Home):
    """Fresh user, pid, mount and ipc namespaces for each execution; the kernel clears them away."""

    own_user = True

    def fork(self) -> int:
        """See Home. The child is the first process of its namespaces."""
        return isolation.fork_into_namespaces()

    def enter(self, longest_seconds: float) -> str:
        """See Home."""
        isolation.mount_private_places()
        isolation.drop_capabilities()
        isolation.filter_calls()
        isolation.hide_memory()
        return _TMP

    def kill(self, tree: ProcessTree) -> None:
        """See Home."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)

    def leave(self) -> None:
        """See Home."""


class Unfit(Exception):
    """The container is not set up as a slot. Says what to change."""


class Container(Home):
    """A container that is one slot; each execution has users of its own, never used twice while the container lives.

    The server and the supervisors are the container's root, without the power to override permissions. They do a
    candidate's clearing up as its user, but with other real and saved users, so that it cannot signal them meanwhile.
    """

    def __init__(self, user: int, memory: "ContainerMemory | None", workplace: str = _TMP) -> None:
        self._user = user
        self._memory = memory
        self._workplace = workplace
        self._held_before = 0
        self.oom_events = memory.oom_events if memory else None

    @property
    def memory_available(self) -> int | None:
        """Bytes an execution may ask for; None where the runtime shows no limit."""
        return self._memory.available if self._memory else None

    @staticmethod
    def first() -> "Container":
        """The home of the first execution. Filters the system calls of this process for good. Raises Unfit."""
        home = Container(_FIRST_USER, ContainerMemory.find())
        try:
            with home._acting():
                pass
        except PermissionError:
            raise Unfit("the runner must be root in its container, with the capabilities SETUID and SETGID") from None
        left = "processes" if _processes() - {1, os.getpid()} else home.left_behind()
        if left:
            raise Unfit(f"there are {left} of other users in this container, which must hold nothing but the runner")
        isolation.filter_calls()
        return home

    def and_further(self) -> "Iterator[Container]":
        """This home and those of the executions to follow, until there are no more users."""
        for user in range(self._user, _LAST_USER - _USERS_EACH + 1, _USERS_EACH):
            yield Container(user, self._memory)

    def fork(self) -> int:
        """See Home."""
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        return pid

    def neighbour(self) -> "Container":
        """See Home. Called before there is a candidate, who could make the directory first."""
        user = self._user + _USERS_EACH // 2
        other = Container(user, None, os.path.join(_TMP, str(user)))
        with other._acting():
            os.mkdir(other._workplace, 0o700)
        return other

    def enter(self, longest_seconds: float) -> str:
        """See Home."""
        isolation.adopt_orphans()
        isolation.hide_memory()
        # Nobody outside can end a supervisor that hangs.
        signal.alarm(math.ceil(longest_seconds))
        self._held_before = self._memory.held() if self._memory else 0
        return self._workplace

    def confine(self) -> None:
        """See Home."""
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")
        os.setgroups([])
        os.setresgid(self._user, self._user, self._user)
        os.setresuid(self._user, self._user, self._user)
        isolation.drop_capabilities()

    def memory_held(self) -> int:
        """See Home. One execution at a time: what came on top since it began is its own, but for the megabyte or two
        of the child that is made for the next.
        """
        return self._memory.held() - self._held_before if self._memory else 0

    def kill(self, tree: ProcessTree) -> None:
        """See Home. One blow for all: a process in the midst of a fork does not escape it."""
        with contextlib.suppress(ProcessLookupError), self._acting():
            os.kill(-1, signal.SIGKILL)

    def leave(self) -> None:
        """See Home."""
        with self._acting():
            for place in _SHARED_PLACES:
                _remove(place, _entries_of(place, self._user))
            _remove_ipc(self._user)

    def left_behind(self) -> str:
        """What there is that does not belong to the server and its children; an empty text for nothing."""
        for place in _SHARED_PLACES:
            with contextlib.suppress(FileNotFoundError):
                if os.listdir(place):
                    return f"files in {place}"
        if any(True for _ in _ipc()):
            return "ipc objects"
        return "processes" if _candidates_live() else ""

    @contextlib.contextmanager
    def _acting(self) -> Iterator[None]:
        os.setresuid(self._user + 1, self._user, 0)
        try:
            yield
        finally:
            os.setresuid(0, 0, 0)


class ContainerMemory:
    """The account of a container's own memory, as its read-only cgroup mount shows it."""

    def __init__(self, limit: int, stat: str, kinds: tuple[bytes, ...], events: str) -> None:
        self.available = limit - _RUNNER_BYTES
        self._kinds = kinds
        self._stat = os.open(stat, os.O_RDONLY | os.O_CLOEXEC)
        self.oom_events = os.open(events, os.O_RDONLY | os.O_CLOEXEC)

    @staticmethod
    def find() -> "ContainerMemory | None":
        """None where the runtime shows no cgroup. Raises Unfit where memory is not limited."""
        for folder, limit_file, kinds, events in (
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", (b"rss", b"shmem"), "memory.oom_control"),
            ("/sys/fs/cgroup", "memory.max", (b"anon", b"shmem"), "memory.events"),
        ):
            try:
                with open(f"{folder}/{limit_file}") as file:
                    text = file.read().strip()
            except OSError:
                continue
            limit = _NO_LIMIT if text == "max" else int(text)
            if limit >= _NO_LIMIT:
                raise Unfit("the container must have a memory limit, without swap")
            if limit <= 2 * _RUNNER_BYTES:
                raise Unfit(f"the container's memory limit must be more than {2 * _RUNNER_BYTES >> 20} MB")
            return ContainerMemory(limit, f"{folder}/memory.stat", kinds, f"{folder}/{events}")
        return None

    def held(self) -> int:
        """Bytes that processes and memory file systems hold. Files read from disk do not count."""
        lines = (line.split() for line in os.pread(self._stat, 16384, 0).splitlines())
        return sum(int(value) for name, value in lines if name in self._kinds)


def _processes() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def _candidates_live() -> bool:
    """Whether any process of this container runs under a candidate's user."""
    for pid in _processes():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/status", "rb") as status:
            users = next(line for line in status if line.startswith(b"Uid:")).split()[1:]
            if any(int(user) >= _FIRST_USER for user in users):
                return True
    return False


def _entries_of(place: str, user: int) -> list[str]:
    try:
        with os.scandir(place) as entries:
            return [one.path for one in entries if one.stat(follow_symlinks=False).st_uid == user]
    except FileNotFoundError:
        return []


def _remove(place: str, paths: list[str]) -> None:
    """Remove these entries of a directory, however deep, and where the program took its permissions away."""
    waiting = paths.copy()
    while waiting:
        path = waiting.pop()
        try:
            os.unlink(path)
            continue
        except IsADirectoryError:
            os.chmod(path, 0o700)
        with os.scandir(path) as scan:
            inside = list(scan)
        for entry in inside:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, 0o700)
            # Lifted up to the top: no path becomes longer than the kernel takes.
            lifted = os.path.join(place, f".{os.urandom(8).hex()}")
            os.rename(entry.path, lifted)
            waiting.append(lifted)
        os.rmdir(path)


def _ipc() -> Iterator[tuple[str, int, int]]:
    """(kind, id, creator) of every System V object."""
    for kind in ("shm", "sem", "msg"):
        with contextlib.suppress(FileNotFoundError), open(f"/proc/sysvipc/{kind}") as table:
            names = table.readline().split()
            creator = names.index("cuid")
            for line in table:
                fields = line.split()
                yield kind, int(fields[1]), int(fields[creator])


def _remove_ipc(user: int) -> None:
    for kind, number, creator in _ipc():
        if creator != user:
            continue
        if kind == "shm":
            _libc.shmctl(number, _IPC_RMID, None)
        elif kind == "sem":
            _libc.semctl(number, 0, _IPC_RMID)
        else:
            _libc.msgctl(number, _IPC_RMID, None)


HOMES = {"isolated": Namespaces, "bare": Home}
"""The homes of a runner that is started for one host, by the mode it is started in."""
