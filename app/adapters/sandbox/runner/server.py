"""The server of the sandbox: forks for each request and never looks at one itself."""

import contextlib
import gc
import importlib
import itertools
import json
import os
import select
import signal
import site
import socket
import sys
import types
import warnings
from collections.abc import Callable, Generator, Iterator
from typing import Any, Generic, TypeVar

from app.adapters.sandbox.runner import calls, frames, program, tester
from app.adapters.sandbox.runner.fingerprint import FINGERPRINT
from app.adapters.sandbox.runner.homes import Home
from app.adapters.sandbox.runner.supervisor import MAX_WAIT, Assignment, Supervisor

# What short programs import, loaded once for all of them. Every megabyte makes every fork slower, so that what is
# large and seldom used (hashlib, decimal, dataclasses) is left to the programs that want it.
_PRELOADED = [
    *("bisect", "cmath", "collections", "collections.abc", "copy", "datetime", "functools", "heapq", "itertools"),
    *("json", "math", "operator", "random", "re", "string", "time", "typing"),
]


SomeHome = TypeVar("SomeHome", bound=Home)

_YIELD_SECONDS = 0.1
"""How long a host that asks for nothing keeps others waiting."""
DONE, BROKEN, HUNG_UP = 0, 1, 2
"""How the service of one request ended; anything else is as good as broken."""


def main(descriptor: int, home: Home) -> None:
    """Serve the socket `descriptor` until the host closes it."""
    prepare()
    channel = socket.socket(fileno=descriptor)
    greet(channel)
    for _home, ended in serve(channel, itertools.repeat(home), lambda: await_request(channel)):
        # One that failed may have left half a request in the socket.
        if ended != DONE:
            break


def prepare() -> None:
    """Make this process one to fork from. Called once, before anything is served."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _preload()
    _hide_ourselves()
    gc.collect()
    gc.freeze()
    # A collection in a fork would copy pages for nothing; the candidate's process turns it on again.
    gc.disable()


def greet(channel: socket.socket, **more: object) -> None:
    """Tell the host which interpreter and which runner it is talking to, and what else the home has to say."""
    greeting = {"python": list(sys.version_info[:3]), "fingerprint": FINGERPRINT, **more}
    channel.sendall(frames.frame(json.dumps(greeting).encode()))


def serve(
    channel: socket.socket, homes: Iterator[SomeHome], wait: Callable[[], bool]
) -> Generator[tuple[SomeHome, int], None, None]:
    """Carry out request after request, each in a child in the next of `homes`; yields that home and how it ended.

    The child for the next request is made while a request is carried out: with a processor to spare, nobody waits for
    it. `wait` is called in a child to await its request; see `await_request`.
    """
    turn = _Turn.in_next(channel, homes, wait)
    try:
        while turn is not None:
            current, turn = turn, None
            current.begin()
            if current.has_request():
                turn = _Turn.in_next(channel, homes, wait)
            yield current.home, current.end()
            turn = turn or _Turn.in_next(channel, homes, wait)
    finally:
        if turn is not None:
            turn.give_up()


class _Turn(Generic[SomeHome]):
    """The service of one request, in a child that stands ready until its turn comes."""

    def __init__(self, channel: socket.socket, home: SomeHome, wait: Callable[[], bool]) -> None:
        self.home = home
        self._channel, self._wait = channel, wait
        self._failure: OSError | None = None
        go, self._go = os.pipe()
        self._seen, seen = os.pipe()
        try:
            self._pid = home.fork()
        except OSError as error:
            self._pid, self._failure = 0, error
        else:
            if self._pid == 0:
                os.close(self._go)
                os.close(self._seen)
                _serve_one(channel, home, lambda: bool(os.read(go, 1)) and wait(), lambda: os.write(seen, b"s"))
        os.close(go)
        os.close(seen)

    @staticmethod
    def in_next(
        channel: socket.socket, homes: Iterator[SomeHome], wait: Callable[[], bool]
    ) -> "_Turn[SomeHome] | None":
        """A turn in the next home; None where there is none."""
        home = next(homes, None)
        return None if home is None else _Turn(channel, home, wait)

    def begin(self) -> None:
        """Have the child await its request."""
        # A child that has died is told apart by how it ended.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._go, b"g")

    def has_request(self) -> bool:
        """Wait until the child has read its request, or has ended without one. False where it could not be made."""
        return bool(os.read(self._seen, 1))

    def end(self) -> int:
        """How the service ended."""
        self._close()
        if self._failure is None:
            return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        if self._wait():
            self._channel.sendall(_failure(self._failure))
        return BROKEN

    def give_up(self) -> None:
        """End a child whose turn does not come."""
        self._close()
        if self._failure is None:
            os.waitpid(self._pid, 0)

    def _close(self) -> None:
        os.close(self._go)
        os.close(self._seen)


def await_request(channel: socket.socket, seconds: float | None = None, others: socket.socket | None = None) -> bool:
    """Wait for a request. False when none comes.

    It is waited for `seconds`, and no longer than a moment when `others` want to connect to this listening socket.
    """
    poll = select.poll()
    poll.register(channel, select.POLLIN | select.POLLRDHUP)
    if others is not None:
        poll.register(others, select.POLLIN)
    events = dict(poll.poll(None if seconds is None else seconds * 1000))
    if others is not None and events.keys() == {others.fileno()}:
        poll.unregister(others)
        events = dict(poll.poll(_YIELD_SECONDS * 1000))
    seen = events.get(channel.fileno(), 0)
    return bool(seen) and not seen & (select.POLLRDHUP | select.POLLHUP | select.POLLERR)


def _hung_up(channel: socket.socket) -> bool:
    poll = select.poll()
    poll.register(channel, select.POLLRDHUP)
    return bool(poll.poll(0))


def _hide_ourselves() -> None:
    """Leave no module of ours where a program looks for its own. Our functions keep what they need alive."""
    for name in [name for name in sys.modules if name == "app" or name.startswith("app.")]:
        del sys.modules[name]
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.argv = [program.MODULE + ".py"]


def _failure(error: Exception) -> bytes:
    """Tell the host why the sandbox does not work here."""
    return frames.frame(json.dumps({"failure": str(error)}).encode())


def _preload() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in _PRELOADED:
            importlib.import_module(name)
    # What site gives a program at start; started with -S it does not look for packages outside the standard library.
    site.setquit()
    site.setcopyright()
    site.sethelper()
    if os.path.isdir(program.PACKAGES):
        sys.path.append(program.PACKAGES)


def _serve_one(channel: socket.socket, home: Home, wait: Callable[[], bool], seen: Callable[[], object]) -> None:
    """Carry out the next request and send its outcome; calls `seen` once it is read. Does not return."""
    code = BROKEN
    try:
        if wait():
            channel.sendall(frames.frame(_carry_out(channel, home, seen)))
            code = DONE
        else:
            code = HUNG_UP
    except (OSError, frames.ChannelClosed) as error:
        if _hung_up(channel):
            code = HUNG_UP
        else:
            channel.sendall(_failure(error))
    finally:
        os._exit(code)


def _carry_out(channel: socket.socket, home: Home, seen: Callable[[], object]) -> bytes:
    request: dict[str, Any] = json.loads(frames.read_frame(channel.recv, frames.MAX_REQUEST))
    seen()
    if request["style"] == "recycle":
        raise OSError("a fresh runner is to take over")
    descriptors = frames.receive_descriptors(channel, request["descriptors"]) if request["descriptors"] else []
    task = Assignment(
        body=_BODIES.get(request["style"], _serve_calls)(request),
        cpu_seconds=request["cpu_seconds"],
        wall_seconds=request["wall_seconds"],
        memory_bytes=request["memory_bytes"],
        output_bytes=request["output_bytes"],
        home=home,
        calls=request["calls"],
        fresh_process=request["fresh_process"],
        inputs=request["inputs"],
        peer=None,
        cgroup=descriptors[:-1],
        oom_events=descriptors[-1] if descriptors else home.oom_events,
        host=channel.fileno(),
    )
    if request["style"] == "across":
        return _carry_out_across(channel, request, task)
    if request["style"] == "weak":
        tests = _read_tests(channel)
        task = task._replace(body=lambda control: tester.run_beside(request, tests, control))
    return b'{"candidate":' + _facts(task) + b"}"


def _carry_out_across(channel: socket.socket, request: dict[str, Any], task: Assignment) -> bytes:
    """Candidate and tests under a supervisor each, calls crossing between them."""
    candidates_end, testers_end = socket.socketpair()
    testers_home = task.home.neighbour()

    def run_tester() -> bytes:
        # Only this process reads the tests: the candidate descends from one that never held them.
        candidates_end.close()
        tests = _read_tests(channel)
        return _facts(
            task._replace(
                body=lambda control: tester.run_across(tests, control, testers_end),
                peer=testers_end,
                # The candidate's own deadline comes first, so that it is the one to be blamed.
                wall_seconds=task.wall_seconds * (1 + MAX_WAIT) + 2,
                home=testers_home,
                cgroup=[],
                oom_events=None,
            )
        )

    def run_candidate() -> bytes:
        return _facts(
            task._replace(body=lambda control: calls.serve(request, control, candidates_end), peer=candidates_end)
        )

    tester_pipe = _in_child(run_tester, testers_home)
    testers_end.close()
    candidate_pipe = _in_child(run_candidate, task.home)
    candidates_end.close()
    candidate_facts, tester_facts = _read_to_end(candidate_pipe), _read_to_end(tester_pipe)
    # Their ends are the ends of everything below them.
    os.wait()
    os.wait()
    if not (candidate_facts and tester_facts):
        raise OSError("a supervisor ended without a report")
    return b'{"candidate":' + candidate_facts + b',"tester":' + tester_facts + b"}"


def _serve_calls(request: dict[str, Any]) -> Callable[[socket.socket], None]:
    return lambda control: calls.serve(request, control, control)


_BODIES: dict[str, Callable[[dict[str, Any]], Callable[[socket.socket], None]]] = {
    "calls": _serve_calls,
    "script": lambda request: lambda control: calls.run_script(request, control),
    "command": lambda request: lambda control: calls.run_command(request, control),
}
"""What the candidate's process does, by the style of the execution, where no tests run beside it."""


def _read_tests(channel: socket.socket) -> dict[str, Any]:
    tests: dict[str, Any] = json.loads(frames.read_frame(channel.recv, frames.MAX_REQUEST))
    return tests


def _facts(task: Assignment) -> bytes:
    return json.dumps(Supervisor(task).run()).encode()


def _in_child(work: Callable[[], bytes], home: Home) -> int:
    """Do the work in a child; the descriptor its result can be read from."""
    read_end, write_end = os.pipe()
    if home.fork() == 0:
        try:
            os.close(read_end)
            frames.write_all(write_end, work())
        finally:
            os._exit(0)
    os.close(write_end)
    return read_end


def _read_to_end(descriptor: int) -> bytes:
    parts = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    os.close(descriptor)
    return b"".join(parts)
