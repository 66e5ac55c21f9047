"""The processes below this one: counting them, their CPU time, and ending them all."""

import contextlib
import os
import resource
import signal
import time
from collections.abc import Callable

_TICKS = os.sysconf("SC_CLK_TCK")
_RETRY_SECONDS = 0.001


class ProcessTree:
    """All descendants of this process, which must be the one that orphans fall to.

    Opens /proc at construction, so that it can be covered by a mount afterwards.
    """

    def __init__(self) -> None:
        self._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        # In a pid namespace of its own this process is 1, but here it goes by the number the mounted /proc knows.
        self._self = int(os.readlink("self", dir_fd=self._proc))

    def look(self) -> tuple[int, float]:
        """(how many descendants live, CPU seconds used by them and by all that were reaped)."""
        alive = self._descendants()
        return len(alive), self.reaped_cpu() + sum(alive.values())

    def reaped_cpu(self) -> float:
        """CPU seconds used by all descendants that were reaped: all there were, once `end` has returned."""
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def waited(self) -> float:
        """Seconds that the living descendants were ready to run while the machine was busy with others."""
        total = 0
        for pid in self._descendants():
            try:
                descriptor = os.open(f"{pid}/schedstat", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
            except OSError:
                continue  # it has just ended, or the kernel keeps no such account
            try:
                # Nanoseconds on a processor, then waiting for one.
                total += int(os.read(descriptor, 256).split()[1])
            except (OSError, ValueError, IndexError):
                continue
            finally:
                os.close(descriptor)
        return total / 1e9

    def _descendants(self) -> dict[int, float]:
        children: dict[int, list[int]] = {}
        cpu: dict[int, float] = {}
        for name in os.listdir(self._proc):
            if not name.isdigit():
                continue
            try:
                descriptor = os.open(f"{name}/stat", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
            except OSError:
                continue  # it has just ended
            try:
                # The command name may hold blanks and parentheses; what follows the last one does not.
                fields = os.read(descriptor, 4096).rpartition(b")")[2].split()
                cpu[int(name)] = sum(map(int, fields[11:15])) / _TICKS
                children.setdefault(int(fields[1]), []).append(int(name))
            except (OSError, ValueError, IndexError):
                continue
            finally:
                os.close(descriptor)
        found: dict[int, float] = {}
        waiting = list(children.get(self._self, ()))
        while waiting:
            pid = waiting.pop()
            found[pid] = cpu[pid]
            waiting += children.get(pid, ())
        return found

    def end(self, watched: int, kill: Callable[[], None]) -> int | None:
        """Have every descendant killed, and reap it.

        The wait status of the child `watched`, if it had not been reaped yet.
        """
        status = None
        while True:
            kill()
            try:
                pid, code, _usage = os.wait4(-1, os.WNOHANG)
                while pid:
                    if pid == watched:
                        status = code
                    pid, code, _usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return status
            time.sleep(_RETRY_SECONDS / 10)

    def kill(self) -> None:
        """Kill every descendant, one by one: a process in the midst of a fork may escape."""
        for pid in self._descendants():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
