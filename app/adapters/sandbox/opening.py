"""Choosing the sandbox, and seeing that it keeps its promises before anything untrusted runs in it."""

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from app.adapters.sandbox.bare import BareSandbox
from app.adapters.sandbox.bubblewrap import INSTALL_HINT, BubblewrapSandbox
from app.adapters.sandbox.pool import RunnerPool
from app.adapters.sandbox.probe import Check, describe_tier, explain_refusal, probe
from app.adapters.sandbox.slot_container import SlotSandbox, find_slots
from app.config import SandboxChoice, Settings
from app.domain.errors import SandboxError, SandboxUnavailable

_LOOK_SECONDS = 5.0
"""How long somebody who only looks waits for a slot that is on its way back."""


def open_sandbox(settings: Settings, slots: int | None = None) -> RunnerPool:
    """The settings' sandbox, each of whose promises has just been tried; with `slots` no more than so many.

    Raises SandboxUnavailable with what does not hold and what to do about it.
    """
    choice = settings.sandbox
    if choice is SandboxChoice.SLOT:
        expected = settings.execute_slots if "execute_slots" in settings.model_fields_set else 1
        sockets = find_slots(_directory(settings), min(expected, slots or expected))[:slots]
        for path, checks in zip(sockets, _probe_slots(sockets), strict=True):
            _refuse(checks, f"the slot {path.stem}")
        return SlotSandbox(sockets)
    count = slots or settings.execute_slots
    sandbox = BareSandbox(count) if choice is SandboxChoice.UNSANDBOXED else BubblewrapSandbox(count)
    try:
        _refuse(probe(sandbox), "bubblewrap" if choice is SandboxChoice.BUBBLEWRAP else "running without a sandbox")
    except BaseException:
        sandbox.close()
        raise
    return sandbox


def inspect_sandbox(settings: Settings) -> list[Check]:
    """Every promise of the settings' sandbox, for people. Raises nothing."""
    choice = settings.sandbox
    if choice is SandboxChoice.SLOT:
        try:
            sockets = find_slots(_directory(settings), wait_seconds=_LOOK_SECONDS)
        except SandboxUnavailable as error:
            return [Check("slots", False, str(error))]
        each = _probe_slots(sockets)
        return [check for checks in each for check in checks]
    if choice is SandboxChoice.UNSANDBOXED:
        return _inspect(lambda: BareSandbox(1))
    path = shutil.which("bwrap")
    if path is None:
        return [Check("bubblewrap", False, f"bwrap is not on the PATH; {INSTALL_HINT}")]
    return [Check("bubblewrap", True, path), *_inspect(lambda: BubblewrapSandbox(1))]


def _inspect(make: Callable[[], RunnerPool]) -> list[Check]:
    try:
        with make() as sandbox:
            return [*probe(sandbox), describe_tier(sandbox)]
    except SandboxError as error:
        return [Check("programs run", False, explain_refusal(str(error)))]


def _probe_slots(sockets: list[Path]) -> list[list[Check]]:
    """The checks of each slot: any of them may have been started in another way than the others."""
    with ThreadPoolExecutor(len(sockets)) as threads:
        return list(threads.map(_probe_slot, sockets))


def _probe_slot(path: Path) -> list[Check]:
    try:
        with SlotSandbox([path]) as sandbox:
            (said,) = sandbox.greetings()
            memory = said["memory_bytes"]
            room = "no memory limit to be seen" if memory is None else f"{int(memory) >> 20} MB for a program"
            python = ".".join(map(str, said["python"]))
            found = Check(f"slot {path.stem}", True, f"Python {python}, {room}, on {said['runtime']}")
            return [found, *probe(sandbox), describe_tier(sandbox)]
    except SandboxError as error:
        return [Check(f"slot {path.stem}", False, str(error))]


def _directory(settings: Settings) -> Path:
    if settings.slots_dir is None:
        raise SandboxUnavailable("HALFLIFE_SANDBOX=slot needs HALFLIFE_SLOTS_DIR, the directory of the slots' sockets")
    return settings.slots_dir


def _refuse(checks: list[Check], what: str) -> None:
    broken = [f"{check.name}: {check.detail}" for check in checks if not check.ok]
    if broken:
        raise SandboxUnavailable(f"{what} does not work here: {'; '.join(broken)}")
