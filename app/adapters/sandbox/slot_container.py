"""Runners in containers that somebody else started: reached over unix sockets in a directory both sides share.

A worker needs neither root nor access to the engine for it. Containers go and come by themselves; see
`runner.slot` for their side.
"""

import errno
import socket
import time
from collections.abc import Callable
from pathlib import Path

from app.adapters.sandbox.pool import RunnerPool
from app.adapters.sandbox.runner.slot import SUFFIX
from app.domain.errors import SandboxUnavailable

_RETURN_SECONDS = 60
"""How long a slot may stay away: an engine that restarts a container often waits up to a minute."""
_RETRY_SECONDS = 0.02


class SlotSandbox(RunnerPool):
    """Runs programs in the slots whose sockets are found in `directory`, each its own container.

    Containers limit memory for all processes together, but at the slot's limit, not at the execution's: that one is
    held by limits of each process and by looking, every few milliseconds, at what all hold together. A program that
    is quick enough can have children hold more for a moment, hence memory tier `rlimit`.

    `expected`: how many slots there must be; they are waited for. Raises SandboxUnavailable.
    """

    def __init__(self, directory: Path, expected: int = 1, *, wait_seconds: float = _RETURN_SECONDS) -> None:
        paths = _find(directory, expected, wait_seconds)
        super().__init__([_Connector(path) for path in paths], name="slot", cgroups=None, recycle_after=1 << 62)


def _find(directory: Path, expected: int, wait_seconds: float) -> list[Path]:
    give_up = time.monotonic() + wait_seconds
    while True:
        try:
            answering = [path for path in sorted(directory.glob("*" + SUFFIX)) if _answers(path)]
        except OSError as error:
            raise SandboxUnavailable(f"cannot look for slots in {directory}: {error.strerror}") from error
        if len(answering) >= expected:
            return answering
        if time.monotonic() > give_up:
            raise SandboxUnavailable(
                f"{expected} slots are wanted in {directory}, and {len(answering)} answer: start their containers "
                "(`docker compose up slot`), and see that the directory is the one they share"
            )
        time.sleep(_RETRY_SECONDS)


def _answers(path: Path) -> bool:
    try:
        _connect(path).close()
    except ConnectionRefusedError:
        # Left behind by a container that is gone, or on its way back.
        return False
    except FileNotFoundError:
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
            raise SandboxUnavailable(
                f"this user may not open {path}: run the worker with the group that the slots are started with"
            ) from error
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
