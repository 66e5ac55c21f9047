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

from app.adapters.sandbox.runner import calls, frames, isolation, program, tester
from app.adapters.sandbox.runner.supervisor import MAX_WAIT, Assignment, Supervisor

# What short programs import, loaded once for all of them. Every megabyte makes every fork slower, so that what is
# large and seldom used (hashlib, decimal, dataclasses) is left to the programs that want it.
_PRELOADED = [
    *("bisect", "cmath", "collections", "collections.abc", "copy", "datetime", "functools", "heapq", "itertools"),
    *("json", "math", "operator", "random", "re", "string", "time", "typing"),
]


def main(descriptor: int, *, isolated: bool) -> None:
    """Serve the socket `descriptor` until the host closes it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _preload()
    _hide_ourselves()
    channel = socket.socket(fileno=descriptor)
    channel.sendall(frames.frame(json.dumps({"python": list(sys.version_info[:3])}).encode()))
    gc.collect()
    gc.freeze()
    # A collection in a fork would copy pages for nothing; the candidate's process turns it on again.
    gc.disable()
    poll = select.poll()
    poll.register(channel, select.POLLIN | select.POLLRDHUP)
    while True:
        ((_, events),) = poll.poll()
        if events & (select.POLLRDHUP | select.POLLHUP | select.POLLERR):
            return
        try:
            pid = _fork(isolated=isolated)
        except OSError as error:
            channel.sendall(_failure(error))
            return
        if pid == 0:
            _serve_one(channel, isolated=isolated)
        # One that failed may have left half a request in the socket.
        if os.waitpid(pid, 0)[1] != 0:
            return


def _hide_ourselves() -> None:
    """Leave no module of ours where a program looks for its own. Our functions keep what they need alive."""
    for name in [name for name in sys.modules if name == "app" or name.startswith("app.")]:
        del sys.modules[name]
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.argv = [program.MODULE + ".py"]


def _fork(*, isolated: bool) -> int:
    return isolation.fork_into_namespaces() if isolated else os.fork()


def _failure(error: OSError) -> bytes:
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


def _serve_one(channel: socket.socket, *, isolated: bool) -> None:
    """Carry out the next request and send its outcome. Does not return."""
    code = 1
    try:
        outcome = _carry_out(channel, isolated=isolated)
        channel.sendall(frames.frame(outcome))
        code = 0
    except OSError as error:
        channel.sendall(_failure(error))
    finally:
        os._exit(code)


def _carry_out(channel: socket.socket, *, isolated: bool) -> bytes:
    request: dict[str, Any] = json.loads(frames.read_frame(channel.recv, frames.MAX_REQUEST))
    descriptors = frames.receive_descriptors(channel, request["descriptors"]) if request["descriptors"] else []
    task = Assignment(
        body=_BODIES.get(request["style"], _serve_calls)(request),
        cpu_seconds=request["cpu_seconds"],
        wall_seconds=request["wall_seconds"],
        memory_bytes=request["memory_bytes"],
        output_bytes=request["output_bytes"],
        isolated=isolated,
        calls=request["calls"],
        fresh_process=request["fresh_process"],
        inputs=request["inputs"],
        peer=None,
        cgroup=descriptors[:-1],
        oom_events=descriptors[-1] if descriptors else None,
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
                cgroup=[],
                oom_events=None,
            )
        )

    def run_candidate() -> bytes:
        return _facts(
            task._replace(body=lambda control: calls.serve(request, control, candidates_end), peer=candidates_end)
        )

    tester_pipe = _in_child(run_tester, isolated=task.isolated)
    testers_end.close()
    candidate_pipe = _in_child(run_candidate, isolated=task.isolated)
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


def _in_child(work: Callable[[], bytes], *, isolated: bool) -> int:
    """Do the work in a child (in namespaces of its own); the descriptor its result can be read from."""
    read_end, write_end = os.pipe()
    if _fork(isolated=isolated) == 0:
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
