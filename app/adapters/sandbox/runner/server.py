"""The server of the sandbox: forks a director for each request and never looks at one itself."""

import gc
import importlib
import json
import os
import select
import signal
import site
import socket
import sys
import warnings
from typing import Any

from app.adapters.sandbox.runner import calls, frames, isolation, tester
from app.adapters.sandbox.runner.supervisor import Assignment, Supervisor

# What short programs import, loaded once for all of them.
_PRELOADED = (
    "abc array base64 bisect builtins calendar cmath collections collections.abc copy csv dataclasses datetime decimal "
    "enum fractions functools hashlib heapq inspect io itertools json math numbers operator os pprint queue random re "
    "sre_constants sre_parse statistics string struct sys textwrap threading time traceback types typing unicodedata "
    "urllib.parse uuid zlib"
).split()


def main(descriptor: int, *, isolated: bool) -> None:
    """Serve the socket `descriptor` until the host closes it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _preload()
    channel = socket.socket(fileno=descriptor)
    channel.sendall(frames.frame(json.dumps({"python": list(sys.version_info[:3])}).encode()))
    gc.collect()
    gc.freeze()
    poll = select.poll()
    poll.register(channel, select.POLLIN | select.POLLRDHUP)
    while True:
        ((_, events),) = poll.poll()
        if events & (select.POLLRDHUP | select.POLLHUP | select.POLLERR):
            return
        pid = os.fork()
        if pid == 0:
            _direct(channel, isolated=isolated)
        # A director that failed may have left half a request in the socket.
        if os.waitpid(pid, 0)[1] != 0:
            return


def _preload() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in _PRELOADED:
            importlib.import_module(name)
    # What site gives a program at start; started with -S it does not look for packages outside the standard library.
    site.setquit()
    site.setcopyright()
    site.sethelper()


def _direct(channel: socket.socket, *, isolated: bool) -> None:
    """Carry out the next request and send its outcome. Does not return."""
    code = 1
    try:
        outcome = _carry_out(channel, isolated=isolated)
        channel.sendall(frames.frame(outcome))
        code = 0
    except OSError as error:
        # Told, not only left by: the host shows why the sandbox does not work here.
        channel.sendall(frames.frame(json.dumps({"failure": str(error)}).encode()))
    finally:
        os._exit(code)


def _carry_out(channel: socket.socket, *, isolated: bool) -> bytes:
    request: dict[str, Any] = json.loads(frames.read_frame(channel.recv, frames.MAX_REQUEST))
    descriptors = frames.receive_descriptors(channel, request["descriptors"]) if request["descriptors"] else []
    cgroup, oom_events = descriptors[:-1], descriptors[-1] if descriptors else None

    def assignment(body: Any, **more: Any) -> Assignment:
        return Assignment(
            body=body,
            cpu_seconds=request["cpu_seconds"],
            wall_seconds=request["wall_seconds"],
            memory_bytes=request["memory_bytes"],
            output_bytes=request["output_bytes"],
            isolated=isolated,
            **more,
        )

    if request["style"] == "calls":
        task = assignment(
            lambda control: calls.serve(request, control, control),
            calls=request["calls"],
            cgroup=cgroup,
            oom_events=oom_events,
        )
        return b'{"candidate":' + _supervise(task) + b"}"
    if request["style"] == "weak":
        source = frames.read_frame(channel.recv, frames.MAX_REQUEST).decode("utf-8", "surrogatepass")
        task = assignment(
            lambda control: tester.run_beside(request, source, control), cgroup=cgroup, oom_events=oom_events
        )
        return b'{"candidate":' + _supervise(task) + b"}"

    candidates_end, testers_end = socket.socketpair()
    result_read, result_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        # Only this process reads the tests: the candidate descends from one that never held them.
        try:
            candidates_end.close()
            os.close(result_read)
            source = frames.read_frame(channel.recv, frames.MAX_REQUEST).decode("utf-8", "surrogatepass")
            entry_point = request["entry_point"]
            task = assignment(
                lambda control: tester.run_across(entry_point, source, control, testers_end), peer=testers_end
            )
            # The candidate's own deadline comes first, so that it is the one to be blamed.
            task.wall_seconds += 2
            frames.write_all(result_write, _supervise(task))
        finally:
            os._exit(0)
    testers_end.close()
    os.close(result_write)
    task = assignment(
        lambda control: calls.serve(request, control, candidates_end),
        peer=candidates_end,
        cgroup=cgroup,
        oom_events=oom_events,
    )
    candidate_facts = _supervise(task)
    tester_facts = _read_to_end(result_read)
    os.waitpid(pid, 0)
    if not tester_facts:
        raise OSError("the tester's supervisor ended without a report")
    return b'{"candidate":' + candidate_facts + b',"tester":' + tester_facts + b"}"


def _supervise(task: Assignment) -> bytes:
    """Run an assignment under a supervisor of its own; the facts as JSON, after every process of it is gone."""
    if task.isolated:
        isolation.enter_namespaces()
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read_end)
            try:
                facts = Supervisor(task).run()
            except OSError as error:
                facts = {"setup_error": f"supervisor: {error}"}
            frames.write_all(write_end, json.dumps(facts).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    if task.peer is not None:
        task.peer.close()
    facts_text = _read_to_end(read_end)
    os.waitpid(pid, 0)
    if not facts_text:
        raise OSError("the supervisor ended without a report")
    return facts_text


def _read_to_end(descriptor: int) -> bytes:
    parts = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    os.close(descriptor)
    return b"".join(parts)
