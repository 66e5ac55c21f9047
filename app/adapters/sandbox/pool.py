"""Slots with warm runners: what every way of starting a runner has in common."""

import contextlib
import json
import select
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from app.adapters.sandbox import requests
from app.adapters.sandbox.cgroups import Leaf, MemoryCgroups
from app.adapters.sandbox.outcomes import NeedsOneProcess, build_outcome
from app.adapters.sandbox.requests import Style, style_of
from app.adapters.sandbox.runner import frames
from app.adapters.sandbox.runner.supervisor import MAX_WAIT
from app.domain.errors import SandboxError
from app.domain.ports import Execution, ExecutionOutcome
from app.domain.verdicts import MemoryTier

_POLL_SECONDS = 0.05
"""How often a waiting host looks whether it was cancelled."""
_START_SECONDS = 30
_END_SECONDS = 5
_GRACE_FACTOR, _GRACE_SECONDS = 2 * (1 + MAX_WAIT), 15
"""How many wall limits, and seconds on top, an execution may take before the runner counts as broken."""


class Cancelled(SandboxError):
    """The caller gave the execution up."""


class Launch(Protocol):
    """Starts a runner that serves the given end of a socket pair. Raises SandboxUnavailable."""

    def __call__(self, channel: socket.socket) -> "subprocess.Popen[bytes]": ...


class _Broken(Exception):
    """The runner ended or does not keep to the protocol. Says what is known."""


class _Runner:
    """One runner process and the socket to it."""

    def __init__(self, process: "subprocess.Popen[bytes]", channel: socket.socket) -> None:
        self._process = process
        self._channel = channel
        self._greeted = False
        self.executions = 0

    def request(
        self,
        head: dict[str, Any],
        tests: bytes | None,
        leaf: Leaf | None,
        give_up: float,
        cancelled: Callable[[], bool],
    ) -> dict[str, Any]:
        """Send a request and wait for its outcome. Raises _Broken and Cancelled."""
        if not self._greeted:
            self._receive(time.monotonic() + _START_SECONDS, cancelled)
            self._greeted = True
        self.executions += 1
        descriptors = leaf.descriptors if leaf else []
        try:
            self._channel.sendall(frames.frame(json.dumps({**head, "descriptors": len(descriptors)}).encode()))
            if descriptors:
                socket.send_fds(self._channel, [b"F"], descriptors)
            if tests is not None:
                self._channel.sendall(frames.frame(tests))
        except OSError as error:
            raise _Broken(self._last_words() or str(error)) from error
        return self._receive(give_up, cancelled)

    def _receive(self, give_up: float, cancelled: Callable[[], bool]) -> dict[str, Any]:
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        incoming = frames.FrameBuffer(frames.MAX_OUTCOME)
        while True:
            if cancelled():
                raise Cancelled("the execution was cancelled")
            if time.monotonic() > give_up:
                raise _Broken("the runner does not answer")
            if not poll.poll(_POLL_SECONDS * 1000):
                continue
            try:
                chunk = self._channel.recv(1 << 20)
                payloads = incoming.feed(chunk)
                if payloads:
                    message = json.loads(payloads[0])
                    if not isinstance(message, dict):
                        raise _Broken("the runner sent something else than an outcome")
                    return message
            except (OSError, ValueError, RecursionError) as error:
                raise _Broken(str(error)) from error
            if not chunk:
                raise _Broken(self._last_words() or "the runner ended")

    def _last_words(self) -> str:
        """What the runner, or the program that starts it, printed before it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        if self._process.poll() is None or self._process.stderr is None:
            return ""
        return self._process.stderr.read(4096).decode("utf-8", "replace").strip()

    def end(self) -> None:
        """End the runner and with it everything in its sandbox."""
        # It ends by itself, also in the midst of an execution, when the host has nothing more to say; the socket
        # closes when the last of its processes is gone. A kill is the second choice: while bwrap starts up, it would
        # leave a child waiting for its parent for ever.
        self._channel.settimeout(_END_SECONDS)
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)
            while self._channel.recv(1 << 20):
                pass
        self._process.kill()
        self._process.wait()
        self._channel.close()
        if self._process.stderr is not None:
            self._process.stderr.close()


class _Slot:
    """Room for one execution at a time. `runner` is None where the last one was retired."""

    def __init__(self, runner: _Runner) -> None:
        self.runner: _Runner | None = runner


class _Turns:
    """Hands out slots in the order they were asked for, one or all of them.

    Only the first in line takes anything, and takes all it needs at once: whoever wants every slot is neither starved
    by those who want one nor deadlocked by another of its kind.
    """

    def __init__(self, slots: list[_Slot]) -> None:
        self._all = len(slots)
        self._free = slots.copy()
        self._line: deque[object] = deque()
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def hold(self, *, alone: bool, check: Callable[[], None]) -> Iterator[_Slot]:
        """Hold a slot, or `alone` every slot and use this one. `check` is polled, and what it raises ends the wait."""
        wanted = self._all if alone else 1
        taken = self._take(wanted, check)
        try:
            yield taken[-1]
        finally:
            with self._changed:
                self._free += taken
                self._changed.notify_all()

    def _take(self, wanted: int, check: Callable[[], None]) -> list[_Slot]:
        ticket = object()
        with self._changed:
            self._line.append(ticket)
        try:
            while True:
                check()
                with self._changed:
                    if self._changed.wait_for(
                        lambda: self._line[0] is ticket and len(self._free) >= wanted, _POLL_SECONDS
                    ):
                        # The one used last is the warmest.
                        taken = self._free[-wanted:]
                        del self._free[-wanted:]
                        return taken
        finally:
            with self._changed:
                self._line.remove(ticket)
                self._changed.notify_all()


class RunnerPool:
    """A Sandbox over `slots` runners; each runs one execution at a time.

    A runner is replaced after `recycle_after` executions and after anything odd. A runner that breaks is replaced and
    asked once more before the execution fails with SandboxError.
    """

    def __init__(
        self,
        launch: Launch,
        *,
        name: str,
        slots: int,
        cgroups: MemoryCgroups | None,
        recycle_after: int = 1000,
    ) -> None:
        if slots < 1:
            raise ValueError("a sandbox needs at least one slot")
        self._launch = launch
        self.name = name
        self._cgroups = cgroups
        self.memory_tier = MemoryTier.CGROUP if cgroups else MemoryTier.RLIMIT
        self._recycle_after = recycle_after
        self._closed = threading.Event()
        # A runner is tied to the life of the thread that started it (PR_SET_PDEATHSIG), hence a thread that stays.
        self._starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sandbox-start")
        self._lock = threading.Lock()
        self._runners: set[_Runner] = set()
        try:
            self._turns = _Turns([_Slot(self._start()) for _ in range(slots)])
        except BaseException:
            self.close()
            raise

    def _start(self) -> _Runner:
        ours, theirs = socket.socketpair()
        try:
            process = self._starter.submit(self._launch, theirs).result()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        runner = _Runner(process, ours)
        with self._lock:
            self._runners.add(runner)
        return runner

    def _retire(self, slot: _Slot) -> None:
        runner, slot.runner = slot.runner, None
        if runner is not None:
            self._end(runner)

    def _end(self, runner: _Runner) -> None:
        with self._lock:
            known = runner in self._runners
            self._runners.discard(runner)
        if known:
            runner.end()

    def run(
        self, execution: Execution, *, cancelled: Callable[[], bool] = lambda: False, alone: bool = False
    ) -> ExecutionOutcome:
        """See `app.domain.ports.Sandbox`."""
        if execution.language != "python":
            raise SandboxError(f"this sandbox runs Python only, not {execution.language}")
        try:
            return self._run_style(execution, style_of(execution), cancelled, alone)
        except NeedsOneProcess:
            return self._run_style(execution, "weak", cancelled, alone)

    def _run_style(
        self, execution: Execution, style: Style, cancelled: Callable[[], bool], alone: bool
    ) -> ExecutionOutcome:
        limits, tests = execution.limits, requests.tests(execution)
        head = requests.head(execution, style)
        with self._turns.hold(alone=alone, check=lambda: self._check(cancelled)) as slot:
            for last in (False, True):
                runner = slot.runner = slot.runner or self._start()
                leaf = self._leaf(limits.memory_mb * 1024 * 1024)
                try:
                    give_up = time.monotonic() + limits.wall_seconds * _GRACE_FACTOR + _GRACE_SECONDS
                    message = runner.request(head, tests, leaf, give_up, cancelled)
                    peak = leaf.peak_kb() if leaf else None
                except _Broken as error:
                    self._retire(slot)
                    if last or self._closed.is_set():
                        raise SandboxError(f"the sandbox failed: {error}") from error
                    continue
                except BaseException:
                    self._retire(slot)
                    raise
                finally:
                    if leaf:
                        leaf.remove()
                if runner.executions >= self._recycle_after or "failure" in message:
                    self._retire(slot)
                return build_outcome(
                    message, execution, style=style, sandbox=self.name, tier=self.memory_tier, cgroup_peak_kb=peak
                )
            raise AssertionError("unreachable")

    def _leaf(self, memory_bytes: int) -> Leaf | None:
        try:
            return self._cgroups.leaf(memory_bytes) if self._cgroups else None
        except OSError as error:
            raise SandboxError(f"cannot create a memory cgroup: {error}") from error

    def _check(self, cancelled: Callable[[], bool]) -> None:
        if self._closed.is_set():
            raise SandboxError("the sandbox is closed")
        if cancelled():
            raise Cancelled("the execution was cancelled")

    def close(self) -> None:
        """End every runner. Executions under way fail with SandboxError."""
        self._closed.set()
        with self._lock:
            runners = list(self._runners)
        for runner in runners:
            self._end(runner)
        self._starter.shutdown()

    def __enter__(self) -> "RunnerPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
