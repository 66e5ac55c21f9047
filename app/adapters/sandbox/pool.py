"""Slots with warm runners: what every way of starting or reaching a runner has in common."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from app.adapters.sandbox import requests
from app.adapters.sandbox.cgroups import Leaf, MemoryCgroups
from app.adapters.sandbox.hosting import Broken, Runner, Starter
from app.adapters.sandbox.outcomes import NeedsOneProcess, build_outcome
from app.adapters.sandbox.requests import Style, style_of
from app.adapters.sandbox.runner.supervisor import longest_seconds
from app.adapters.sandbox.turns import Turns
from app.domain.errors import SandboxError
from app.domain.ports import Execution, ExecutionOutcome
from app.domain.verdicts import MemoryTier


class Cancelled(SandboxError):
    """The caller gave the execution up."""


class _Slot:
    """Room for one execution at a time. `runner` is None where the last one was retired."""

    def __init__(self, starter: Starter) -> None:
        self.starter = starter
        self.runner: Runner | None = None


class RunnerPool:
    """A Sandbox with a slot for each of `starters`.

    A runner is replaced after `recycle_after` executions and after anything odd. A runner that breaks is replaced and
    asked once more before the execution fails with SandboxError.
    """

    def __init__(
        self, starters: Sequence[Starter], *, name: str, cgroups: MemoryCgroups | None, recycle_after: int
    ) -> None:
        if not starters:
            raise ValueError("a sandbox needs at least one slot")
        self.name = name
        self.slots = len(starters)
        self._cgroups = cgroups
        self.memory_tier = MemoryTier.CGROUP if cgroups else MemoryTier.RLIMIT
        self._recycle_after = recycle_after
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._runners: set[Runner] = set()
        slots = [_Slot(starter) for starter in starters]
        self._starters = starters
        self._turns = Turns(slots, lambda slot: slot.runner is not None)
        try:
            for slot in slots:
                self._start(slot, lambda: None)
        except BaseException:
            self.close()
            raise

    def _start(self, slot: _Slot, check: Callable[[], None]) -> Runner:
        runner = slot.runner = Runner(slot.starter.start(check))
        with self._lock:
            self._runners.add(runner)
        return runner

    def _retire(self, slot: _Slot, *, odd: bool) -> None:
        runner, slot.runner = slot.runner, None
        if runner is not None:
            self._end(runner, odd=odd)

    def _end(self, runner: Runner, *, odd: bool) -> None:
        with self._lock:
            known = runner in self._runners
            self._runners.discard(runner)
        if known:
            runner.end(odd=odd)

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

        def check() -> None:
            if self._closed.is_set():
                raise SandboxError("the sandbox is closed")
            if cancelled():
                raise Cancelled("the execution was cancelled")

        with self._turns.hold(alone=alone, check=check) as slot:
            for last in (False, True):
                if slot.runner is not None and not slot.runner.alive():
                    self._retire(slot, odd=False)
                runner = slot.runner or self._start(slot, check)
                leaf = self._leaf(limits.memory_mb * 1024 * 1024)
                try:
                    message = runner.request(head, tests, leaf, longest_seconds(head["wall_seconds"]), check)
                    peak = leaf.peak_kb() if leaf else None
                except Broken as error:
                    self._retire(slot, odd=True)
                    if last or self._closed.is_set():
                        raise SandboxError(f"the sandbox failed: {error}") from error
                    continue
                except BaseException:
                    self._retire(slot, odd=False)
                    raise
                finally:
                    if leaf:
                        leaf.remove()
                if runner.executions >= self._recycle_after:
                    self._retire(slot, odd=False)
                try:
                    return build_outcome(
                        message, execution, style=style, sandbox=self.name, tier=self.memory_tier, cgroup_peak_kb=peak
                    )
                except SandboxError:
                    self._retire(slot, odd=True)
                    raise
            raise AssertionError("unreachable")

    def _leaf(self, memory_bytes: int) -> Leaf | None:
        try:
            return self._cgroups.leaf(memory_bytes) if self._cgroups else None
        except OSError as error:
            raise SandboxError(f"cannot create a memory cgroup: {error}") from error

    def greetings(self) -> list[dict[str, Any]]:
        """What each runner says of itself, for people. Raises SandboxError."""
        with self._lock:
            runners = list(self._runners)
        try:
            return [runner.greeting() for runner in runners]
        except Broken as error:
            raise SandboxError(f"the sandbox failed: {error}") from error

    def close(self) -> None:
        """End every runner. Executions under way fail with SandboxError."""
        self._closed.set()
        with self._lock:
            runners = list(self._runners)
        for runner in runners:
            self._end(runner, odd=False)
        for starter in self._starters:
            starter.close()

    def __enter__(self) -> "RunnerPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
