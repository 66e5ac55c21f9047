"""The server as the main program of a container: it listens on a unix socket in a directory shared with the worker.

One connection at a time makes the container one slot; whoever asks for nothing makes room for others. It ends, for the
container's restart policy to bring a fresh one: after `executions`, after anything odd, at an age, and when the host
says so. Its processes end with it.
"""

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
import time
from typing import NoReturn

from app.adapters.sandbox.runner import homes, server

SUFFIX = ".sock"
"""What the sockets of slots end in; before it stands the container's host name."""

_LEAST_SECONDS = 11
"""Ending sooner would count as failing, and make an engine wait longer and longer before it restarts the container."""
_MOST_SECONDS = 6 * 3600.0
_READ_KERNEL_LOG = 3

_libc = ctypes.CDLL(None)


def main(directory: str, group: int, executions: int) -> None:
    """Serve connections to a socket in `directory`, which root and `group` may open."""
    started = time.monotonic()
    signal.signal(signal.SIGTERM, _end)
    server.prepare()
    try:
        first = homes.Container.first()
        listener, path = _listen(directory, group)
    except (homes.Unfit, OSError) as error:
        sys.exit(f"This container cannot be a slot: {error}")
    fresh = first.and_further()
    served = 0

    def used_up() -> bool:
        return served >= executions and time.monotonic() > started + _LEAST_SECONDS

    def left() -> float:
        return max(0.0, started + _MOST_SECONDS - time.monotonic())

    try:
        while not used_up():
            if not _wait(listener, left()):
                return
            channel, _ = listener.accept()
            with contextlib.suppress(ConnectionError), channel:
                server.greet(channel, **_facts(directory, first))

                def wait(channel: socket.socket = channel) -> bool:
                    return server.await_request(channel, left(), listener)

                with contextlib.closing(server.serve(channel, fresh, wait)) as turns:
                    for home, ended in turns:
                        if ended not in (server.DONE, server.HUNG_UP) or home.left_behind():
                            return
                        served += 1
                        if ended == server.HUNG_UP or used_up():
                            break
                    else:
                        return  # every user has been used
    finally:
        os.unlink(path)


def _end(*_: object) -> NoReturn:
    sys.exit(0)


def _listen(directory: str, group: int) -> tuple[socket.socket, str]:
    """A listening socket that only root and `group` can reach, and its path. Removes those whose slot is gone."""
    # New files get this group: to give one away afterwards would take another capability.
    os.setegid(group)
    os.chown(directory, -1, group)
    os.chmod(directory, 0o750)  # noqa: S103 - the group has to find the sockets
    for name in os.listdir(directory):
        if name.endswith(SUFFIX) and _refuses(os.path.join(directory, name)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, name))
    path = os.path.join(directory, socket.gethostname() + SUFFIX)
    new = os.path.join(directory, "." + socket.gethostname())
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    listener.bind(new)
    os.chmod(new, 0o660)
    listener.listen(8)
    # Under its name only once it listens: one that refuses is nobody's.
    os.rename(new, path)
    os.setegid(0)
    return listener, path


def _refuses(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as peer:
        try:
            peer.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            return True
        except OSError:
            return False
    return False


def _wait(listener: socket.socket, seconds: float) -> bool:
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))


def _facts(directory: str, home: homes.Container) -> dict[str, object]:
    """What the host wants to know of the container."""
    with open("/proc/self/status") as status:
        powers = next((line.split()[1] for line in status if line.startswith("CapEff")), "")
    return {
        "directory": directory,
        "memory_bytes": home.memory_available,
        "capabilities": int(powers, 16),
        "runtime": "gVisor" if b"gVisor" in _kernel_log() else "the host's kernel",
    }


def _kernel_log() -> bytes:
    """What the kernel says at its start, which a container's runtime may be told by; empty where it is not shown."""
    log = ctypes.create_string_buffer(4096)
    length = _libc.klogctl(_READ_KERNEL_LOG, log, len(log))
    return log.raw[: max(0, length)]
