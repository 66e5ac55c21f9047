"""Runners in containers that somebody else started: reached over unix sockets in a directory both sides share.

A worker needs neither root nor access to the engine for it. Containers go and come by themselves; see
`runner.slot` for their side.
"""

import errno
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from app.adapters.sandbox.pool import RunnerPool
from app.adapters.sandbox.runner.slot import SUFFIX
from app.domain.errors import SandboxUnavailable

_RETURN_SECONDS = 60
"""How long a slot may stay away: an engine that restarts a container often waits up to a minute."""
_RETRY_SECONDS = 0.02
_HINT = "the worker needs the group that the slots are started for (HALFLIFE_SLOT_GID)"


class SlotSandbox(RunnerPool):
    """Runs programs in the slots whose sockets are found in `directory`, each its own container.

    Containers limit memory for all processes together, but at the slot's limit, not at the execution's: that one is
    held by limits of each process and by looking, every few milliseconds, at what all hold together. A program that
    is quick enough can have children hold more for a moment, hence memory tier `rlimit`.

    Raises SandboxUnavailable where a slot is gone.
    """

    def __init__(self, sockets: Sequence[Path]) -> None:
        """`sockets`: one a slot, see `find_slots`."""
        super().__init__([_Connector(path) for path in sockets], name="slot", cgroups=None, recycle_after=sys.maxsize)


def find_slots(directory: Path, expected: int = 1, wait_seconds: float = _RETURN_SECONDS) -> list[Path]:
    """The sockets of the slots that answer in `directory`, once there are as many as `expected` or more.

    Raises SandboxUnavailable where there are not within `wait_seconds`.
    """
    give_up = time.monotonic() + wait_seconds
    while True:
        try:
            names = sorted(name for name in os.listdir(directory) if name.endswith(SUFFIX))
        except OSError as error:
            raise SandboxUnavailable(f"cannot look for slots in {directory}: {error.strerror}; {_HINT}") from error
        # Others were left behind by a container that is gone, or are on their way back.
        answering = [path for path in (directory / name for name in names) if _answers(path)]
        if len(answering) >= expected:
            return answering
        if time.monotonic() > give_up:
            raise SandboxUnavailable(
                f"slots wanted in {directory}: {expected}, answering: {len(answering)}; start their containers, and "
                "see that this is the directory they share"
            )
        time.sleep(_RETRY_SECONDS)


def _answers(path: Path) -> bool:
    try:
        _connect(path).close()
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    return True


def _connect(path: Path) -> socket.socket:
    channel = socket.socket(socket.AF_UNIX)
    try:
        channel.settimeout(1)
        channel.connect(str(path))
        channel.settimeout(None)
    except OSError as error:
        channel.close()
        if error.errno in (errno.EACCES, errno.EPERM):
            raise SandboxUnavailable(f"cannot open {path}: {error.strerror}; {_HINT}") from error
        raise
    return channel


class _Connection:
    """A connection to a slot. See `hosting.Link`."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel

    def last_words(self) -> str:
        """Its container's log has them."""
        return ""

    def end(self) -> None:
        """The container stays: it is the slot of whoever connects next."""


class _Connector:
    """Connects to one slot, again and again. See `hosting.Starter`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def start(self, check: Callable[[], None]) -> _Connection:
        """See `hosting.Starter`."""
        give_up = time.monotonic() + _RETURN_SECONDS
        while True:
            try:
                return _Connection(_connect(self._path))
            except OSError as error:
                if time.monotonic() > give_up:
                    raise SandboxUnavailable(f"the slot {self._path.stem} does not come back: {error}") from error
            check()
            time.sleep(_RETRY_SECONDS)

    def close(self) -> None:
        """See `hosting.Starter`."""
