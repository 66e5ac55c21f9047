"""Runs a handful of child processes as one group: all start, all are watched, all end together. Linux only.

A signal ends the group in order: SIGTERM to every child, a grace period, SIGKILL to what is left. Each child leads a
process group of its own, so that Ctrl-C in a terminal reaches this process alone and what a child leaves behind can
be found. If this process is killed outright, the kernel kills the children.
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from app.domain.errors import InfrastructureError

POLL_SECONDS = 0.05
SETTLED_SECONDS = 60.0
"""A child that lived this long was in order: its next death is counted as the first."""
LOG_LIMIT_BYTES = 10_000_000
"""A longer log is set aside as `<name>.log.old` when its child starts."""
SHOWN_LINES = 20

# Runs before the child's program, in its process: asks the kernel for SIGKILL when the parent ends (which survives
# exec), and gives SIGPIPE its default back, which Python had ignored. A preexec_fn would do the same, but may
# deadlock where the parent has threads. 1 is PR_SET_PDEATHSIG.
_BIND_TO_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the parent ended before this process began")
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"cannot start {sys.argv[2]}: {error.strerror}")
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Child:
    """A program to keep running. `ready` is asked until it says True; without it, a started child is ready."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    ready: Callable[[], bool] = lambda: True


class Group:
    """The children while the `with` block runs, for the main thread only.

    It must be the main thread because signals are handled there, and because the kernel takes the end of the
    *thread* that started a child for the end of its parent.

    `logs`: folder of `<name>.log`, which gets what a child prints.
    `grace`: seconds between SIGTERM and SIGKILL; a second signal cuts them short.
    `delays`: seconds to wait before each restart in a row; one death more, and the group gives up.
    """

    def __init__(
        self,
        children: Sequence[Child],
        logs: Path,
        *,
        grace: float = 10.0,
        delays: Sequence[float] = (0.5, 1.0, 2.0, 4.0),
    ) -> None:
        self._logs = logs
        self._grace = grace
        self._running = [_Running(child, logs / f"{child.name}.log", delays) for child in children]
        self._signals = 0
        self._previous: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}

    @property
    def asked_to_stop(self) -> bool:
        """Whether SIGINT, SIGTERM or SIGHUP arrived."""
        return self._signals > 0

    def __enter__(self) -> Self:
        self._logs.mkdir(parents=True, exist_ok=True)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._previous[number] = signal.signal(number, self._note_signal)
        try:
            for running in self._running:
                running.start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def wait_ready(self, timeout: float) -> None:
        """Return when every child is ready, or at once when asked to stop.

        Nothing is restarted yet: a child that ends now was started wrongly. Raises InfrastructureError with the last
        lines that it printed; so does one that is not ready after `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        for running in self._running:
            while not self.asked_to_stop and not running.child.ready():
                for other in self._running:
                    other.must_be_alive()
                if time.monotonic() > deadline:
                    raise running.failure(f"was not ready after {timeout:g} s")
                time.sleep(POLL_SECONDS)
        for running in self._running:
            running.must_be_alive()

    def watch(self, until: Callable[[], bool] = lambda: False) -> None:
        """Restart children that die, until asked to stop or `until()`.

        Raises InfrastructureError when a child dies over and over; it holds the last lines that it printed.
        """
        while not self.asked_to_stop and not until():
            for running in self._running:
                running.keep_alive()
            time.sleep(POLL_SECONDS)

    def _note_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1

    def _end(self) -> None:
        for running in self._running:
            running.ask_to_end()
        deadline = time.monotonic() + self._grace
        while any(running.alive() for running in self._running) and time.monotonic() < deadline and self._signals < 2:
            time.sleep(POLL_SECONDS)
        for running in self._running:
            running.collect()
        for number, handler in self._previous.items():
            signal.signal(number, handler)


class _Running:
    """One child over all its lives."""

    def __init__(self, child: Child, log_path: Path, delays: Sequence[float]) -> None:
        self.child = child
        self._log_path = log_path
        self._delays = delays
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._log_start = 0
        self._deaths_in_a_row = 0
        self._restart_at: float | None = None

    def start(self) -> None:
        if self._log_path.exists() and self._log_path.stat().st_size > LOG_LIMIT_BYTES:
            self._log_path.replace(self._log_path.with_suffix(".log.old"))
        with self._log_path.open("ab") as output:
            self._log_start = output.tell()
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _BIND_TO_PARENT, str(os.getpid()), *self.child.argv],
                env=dict(self.child.env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        self._started = time.monotonic()
        self._restart_at = None

    def alive(self) -> bool:
        """Whether it runs. A dead child is not reaped here, so that its number cannot come to mean another process."""
        if self._process is None:
            return False
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def must_be_alive(self) -> None:
        if not self.alive():
            raise self.failure(f"ended at once ({self.collect()})")

    def keep_alive(self) -> None:
        """Notice a death, or carry out the restart when its delay is over."""
        if self._restart_at is not None:
            if time.monotonic() >= self._restart_at:
                self.start()
            return
        if self.alive():
            return
        lived = time.monotonic() - self._started
        how = self.collect()
        if lived >= SETTLED_SECONDS:
            self._deaths_in_a_row = 0
        if self._deaths_in_a_row == len(self._delays):
            raise self.failure(f"ended {self._deaths_in_a_row + 1} times in a row (the last time: {how})")
        delay = self._delays[self._deaths_in_a_row]
        self._deaths_in_a_row += 1
        self._restart_at = time.monotonic() + delay
        log.warning("child ended, will be restarted", extra={"child": self.child.name, "how": how, "delay": delay})

    def ask_to_end(self) -> None:
        """SIGTERM to the child alone: it is the one to tell its own children, in its own order."""
        if self._process is not None and self.alive():
            os.kill(self._process.pid, signal.SIGTERM)

    def collect(self) -> str:
        """Kill what is left of the child and of what it started, and say how it ended."""
        process, self._process = self._process, None
        if process is None:
            return "not running"
        # The group's number is still the child's, dead or alive, because nobody has waited for it yet.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name

    def failure(self, what: str) -> InfrastructureError:
        lines = "\n".join(f"  {line}" for line in self._last_lines())
        return InfrastructureError(f"{self.child.name} {what}; see {self._log_path}\n{lines}".rstrip())

    def _last_lines(self) -> Iterator[str]:
        """What it printed in this life, the end of it."""
        with self._log_path.open("rb") as printed:
            size = printed.seek(0, os.SEEK_END)
            printed.seek(max(self._log_start, size - 10_000))
            yield from printed.read().decode(errors="replace").splitlines()[-SHOWN_LINES:]
