"""The server of the sandbox: forks for each request and never looks at one itself."""

import gc
import importlib
import json
import os
import select
import signal
import site
import socket
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

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


_YIELD_SECONDS = 0.1
"""How long a host that asks for nothing keeps others waiting."""
DONE, BROKEN, HUNG_UP = 0, 1, 2
"""How the service of one request ended; anything else is as good as broken."""


def main(descriptor: int, home: Home) -> None:
    """Serve the socket `descriptor` until the host closes it."""
    prepare()
    channel = socket.socket(fileno=descriptor)
    greet(channel)
    # One that failed may have left half a request in the socket.
    while serve_next(channel, home) == DONE:
        pass


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


def serve_next(
    channel: socket.socket, home: Home, seconds: float | None = None, others: socket.socket | None = None
) -> int:
    """Carry out the next request, in a child that is there before it comes.

    It is waited for `seconds`, and no longer than a moment when `others` want to connect to this listening socket.
    """

    def await_request() -> bool:
        return _await_request(channel, seconds, others)

    try:
        pid = home.fork()
    except OSError as error:
        if await_request():
            channel.sendall(_failure(error))
        return BROKEN
    if pid == 0:
        _serve_one(channel, home, await_request)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _await_request(channel: socket.socket, seconds: float | None, others: socket.socket | None) -> bool:
    """Wait for a request. False when none comes."""
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


def _serve_one(channel: socket.socket, home: Home, await_request: Callable[[], bool]) -> None:
    """Carry out the next request and send its outcome. Does not return."""
    code = BROKEN
    try:
        if await_request():
            channel.sendall(frames.frame(_carry_out(channel, home)))
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


def _carry_out(channel: socket.socket, home: Home) -> bytes:
    request: dict[str, Any] = json.loads(frames.read_frame(channel.recv, frames.MAX_REQUEST))
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
