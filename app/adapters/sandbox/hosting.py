"""The host's side of one runner: greeting, requests, and its end. How it is reached is its link's matter."""

import contextlib
import json
import select
import socket
import time
from collections.abc import Callable
from typing import Any, Protocol

from app.adapters.sandbox.cgroups import Leaf
from app.adapters.sandbox.runner import frames
from app.adapters.sandbox.runner.fingerprint import FINGERPRINT
from app.adapters.sandbox.turns import POLL_SECONDS
from app.domain.errors import SandboxError

_GREET_SECONDS = 120
"""How long a runner may take to greet: a slot may be busy for somebody else."""
_END_SECONDS = 5


class Link(Protocol):
    """The way to a runner that has been started or found."""

    @property
    def channel(self) -> socket.socket:
        """The socket it is talked to on."""
        ...

    def last_words(self) -> str:
        """What a runner that ended said before, empty where that cannot be known."""
        ...

    def end(self) -> None:
        """Give the link up. The runner has been told, or does not listen."""
        ...


class Starter(Protocol):
    """Starts, or finds, the runners of one slot, one after the other."""

    def start(self, check: Callable[[], None]) -> Link:
        """A link to a fresh runner. `check` is polled while waiting for one. Raises SandboxUnavailable."""
        ...

    def close(self) -> None:
        """Start no more."""
        ...


class Broken(Exception):
    """The runner ended or does not keep to the protocol. Says what is known."""


class Runner:
    """One runner, which carries out one request at a time."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.executions = 0
        self._greeting: dict[str, Any] | None = None

    def alive(self) -> bool:
        """Whether it has not ended since it was last asked."""
        poll = select.poll()
        poll.register(self.link.channel, select.POLLRDHUP)
        return not poll.poll(0)

    def greeting(self, check: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """What it said of itself at the start.

        Raises Broken, and SandboxError where its code is not the host's own.
        """
        if self._greeting is None:
            greeting = self._receive(time.monotonic() + _GREET_SECONDS, check)
            if greeting.get("fingerprint") != FINGERPRINT:
                raise SandboxError(
                    "the sandbox runs another version of Halflife's runner than this process: build the slots' image "
                    "anew, or restart this process where its code has been changed"
                )
            self._greeting = greeting
        return self._greeting

    def request(
        self,
        head: dict[str, Any],
        tests: bytes | None,
        leaf: Leaf | None,
        longest_seconds: float,
        check: Callable[[], None],
    ) -> dict[str, Any]:
        """Send a request and wait for its outcome.

        `check` is polled, and what it raises ends the wait. Raises Broken, and SandboxError where the runner has less
        memory than the program may use.
        """
        self._fits(head["memory_bytes"], self.greeting(check).get("memory_bytes"))
        self.executions += 1
        descriptors = leaf.descriptors if leaf else []
        channel = self.link.channel
        try:
            channel.sendall(frames.frame(json.dumps({**head, "descriptors": len(descriptors)}).encode()))
            if descriptors:
                socket.send_fds(channel, [b"F"], descriptors)
            if tests is not None:
                channel.sendall(frames.frame(tests))
        except OSError as error:
            raise Broken(self.link.last_words() or str(error)) from error
        return self._receive(time.monotonic() + longest_seconds, check)

    def _fits(self, wanted: int, available: int | None) -> None:
        if available is not None and wanted > available:
            raise SandboxError(
                f"the program may use {wanted >> 20} MB, but a slot has only {available >> 20} MB for it: raise the "
                "memory of the slots' containers"
            )

    def _receive(self, give_up: float, check: Callable[[], None]) -> dict[str, Any]:
        channel = self.link.channel
        poll = select.poll()
        poll.register(channel, select.POLLIN)
        incoming = frames.FrameBuffer(frames.MAX_OUTCOME)
        while True:
            check()
            if time.monotonic() > give_up:
                raise Broken("the runner does not answer")
            if not poll.poll(POLL_SECONDS * 1000):
                continue
            try:
                chunk = channel.recv(1 << 20)
                for payload in incoming.feed(chunk):
                    message = json.loads(payload)
                    if not isinstance(message, dict):
                        raise Broken("the runner sent something else than an outcome")
                    return message
            except (OSError, ValueError, RecursionError) as error:
                raise Broken(str(error)) from error
            if not chunk:
                raise Broken(self.link.last_words() or "the runner ended")

    def end(self, *, odd: bool) -> None:
        """Part from the runner, which has everything of this host's in its sandbox ended. `odd`: it must not go on."""
        # It ends by itself, also in the midst of an execution, when the host has nothing more to say; the socket
        # closes when the last of its processes is gone. The link's own way to end it is the second choice.
        channel = self.link.channel
        channel.settimeout(_END_SECONDS)
        with contextlib.suppress(OSError):
            if odd:
                channel.sendall(frames.frame(b'{"style": "recycle"}'))
            channel.shutdown(socket.SHUT_WR)
            while channel.recv(1 << 20):
                pass
        self.link.end()
        channel.close()
