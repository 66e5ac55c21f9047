"""The process that stands between a candidate and the outside: clock, limits, captured output, and a clean end.

Its home (see `homes`) keeps a candidate from ending or stopping it. Orphans fall to it, and it reports only when none
of its descendants is left.
"""

import base64
import contextlib
import os
import resource
import select
import signal
import socket
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from app.adapters.sandbox.runner import candidate, frames, isolation
from app.adapters.sandbox.runner.homes import Home
from app.adapters.sandbox.runner.processes import ProcessTree

_LOOK_SECONDS = 0.02
"""How often a running program's processes are counted and its CPU time is read."""
MAX_WAIT = 3.0
"""How many times its wall limit a program may have waited for a processor on a crowded machine."""
_CHUNK = 65536


def longest_seconds(wall_seconds: float) -> float:
    """After how many seconds an execution that is allowed `wall_seconds` counts as broken, since nothing ended it."""
    return 2 * (1 + MAX_WAIT) * wall_seconds + 15


class Assignment(NamedTuple):
    """What one supervisor has to carry out.

    `body` runs in the candidate's process with the control socket. `calls` are argument tuples this supervisor sends
    itself, all to one process or, with `fresh_process`, to one each; `inputs` are what the body's standard input holds,
    one process each; `peer` is a socket handed to the body instead, over which another process sends calls.
    `cgroup`: descriptors of the files a process joins its memory cgroup by; `oom_events` of the file counting kills;
    `host` of the socket to the host, whose end is the end of the execution.
    """

    body: Callable[[socket.socket], None]
    cpu_seconds: float
    wall_seconds: float
    memory_bytes: int
    output_bytes: int
    home: Home
    calls: list[str]
    fresh_process: bool
    inputs: list[str]
    peer: socket.socket | None
    cgroup: list[int]
    oom_events: int | None
    host: int


class _Output:
    """The two output streams together, capped. Head and tail of what was read are kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._read = 0
        self._kept = (bytearray(), bytearray())
        self.pipes = (os.pipe(), os.pipe())
        for read_end, _write_end in self.pipes:
            os.set_blocking(read_end, False)

    @property
    def exceeded(self) -> bool:
        return self._read > self._limit

    def drain(self) -> None:
        """Read what is there, up to one chunk beyond the limit."""
        for (read_end, _write_end), kept in zip(self.pipes, self._kept, strict=True):
            while not self.exceeded:
                try:
                    chunk = os.read(read_end, _CHUNK)
                except BlockingIOError:
                    break
                if not chunk:
                    break
                self._read += len(chunk)
                kept += chunk

    def close(self) -> None:
        """Close the pipes."""
        for pipe in self.pipes:
            for descriptor in pipe:
                os.close(descriptor)

    @property
    def written(self) -> bytes:
        """What standard output got."""
        return bytes(self._kept[0])

    def texts(self) -> list[str]:
        """Both streams as text without NUL; bytes that are no UTF-8 are escaped."""
        return [self._text(bytes(kept)) for kept in self._kept]

    def _text(self, raw: bytes) -> str:
        if len(raw) > self._limit:
            half = self._limit // 2
            raw = raw[:half] + b"\n[...]\n" + raw[len(raw) - half :]
        return raw.decode("utf-8", "backslashreplace").replace("\0", "\\x00")


class Supervisor:
    """Carries out one assignment. Use `run` once."""

    def __init__(self, assignment: Assignment) -> None:
        self._task = assignment
        self._answers: list[list[str]] = []
        self._printed: list[list[str | None]] = []
        self._answer_bytes = 0
        self._compiled = False
        self._ready = False
        self._finished = False
        self._limit: str | None = None
        self._compile_error: str | None = None
        self._load_error: list[str] | None = None
        self._setup_error: str | None = None
        self._report: str | None = None
        self._death: list[str] | None = None
        self._exit_code: int | None = None
        self._signal: int | None = None
        self._too_many = False
        self._broken_channel = False
        self._oom_before = 0
        self._abandoned = False

    def run(self) -> dict[str, Any]:
        """Run the candidate, and after a deadly call the rest of the calls in new processes. Returns the facts."""
        task = self._task
        self._tree = ProcessTree()
        self._workplace = task.home.enter(longest_seconds(task.wall_seconds))
        self._output = _Output(task.output_bytes)
        self._standard_input: int | None = None
        self._oom_before = self._oom_kills()
        started = time.monotonic()
        self._started = started
        self._deadline = started + task.wall_seconds
        try:
            while self._one_process():
                if task.inputs:
                    self._output.close()
                    self._output = _Output(task.output_bytes)
        finally:
            task.home.leave()
        wall = time.monotonic() - started
        cpu = self._tree.reaped_cpu()
        if self._limit is None and cpu > task.cpu_seconds:
            self._limit = "cpu_time"
        stdout, stderr = self._output.texts()
        return {
            "answers": self._answers,
            "printed": self._printed,
            "compile_error": self._compile_error,
            "load_error": self._load_error,
            "setup_error": self._setup_error,
            "report": self._report,
            "limit": self._limit,
            "finished": self._finished,
            "death": self._death,
            "exit_code": self._exit_code,
            "signal": self._signal,
            "cpu_ms": cpu * 1000,
            "wall_ms": wall * 1000,
            "peak_memory_kb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,
            "oom_kills": self._oom_kills() - self._oom_before,
            "stdout": stdout,
            "stderr": stderr,
        }

    def _one_process(self) -> bool:
        """Start a process and see it to its end. True if calls are left that deserve another one."""
        ours, theirs = socket.socketpair()
        if self._task.inputs:
            self._standard_input = _file_of(self._task.inputs[len(self._printed)])
        pid = os.fork()
        if pid == 0:
            _run_body(self._task, self._output, theirs, self._workplace, self._standard_input)
        theirs.close()
        if self._standard_input is not None:
            os.close(self._standard_input)
        if self._task.peer is not None:
            # A copy kept here would hide the candidate's end from the other side.
            self._task.peer.close()
        self._compiled = self._ready = self._finished = False
        self._too_many = self._broken_channel = False
        self._assigned = len(self._answers) + 1 if self._task.fresh_process else len(self._task.calls)
        ours.setblocking(False)
        incoming = frames.FrameBuffer(frames.MAX_MESSAGE)
        handle = os.pidfd_open(pid)
        try:
            self._watch(ours, incoming, handle)
            status = self._tree.end(pid, lambda: self._task.home.kill(self._tree))
            if self._abandoned:
                raise OSError("the host is gone")
            # Everybody is dead: what is in the pipes now is all there will ever be.
            self._receive(ours, incoming)
            self._output.drain()
        finally:
            os.close(handle)
            ours.close()
        return self._judge_end(status)

    def _watch(self, ours: socket.socket, incoming: frames.FrameBuffer, handle: int) -> None:
        """Serve the process until it ends, is done, or goes over a limit."""
        outgoing = memoryview(
            b"".join(
                frames.pack("?", str(number), "", self._task.calls[number], "")
                for number in range(len(self._answers), self._assigned)
            )
        )
        poll = select.poll()
        channel = ours.fileno()
        out, err = (read_end for read_end, _ in self._output.pipes)
        for descriptor in (channel, out, err, handle):
            poll.register(descriptor, select.POLLIN)
        poll.register(self._task.host, select.POLLRDHUP)
        if outgoing:
            poll.modify(channel, select.POLLIN | select.POLLOUT)
        next_look = time.monotonic() + _LOOK_SECONDS
        while True:
            now = time.monotonic()
            if now >= self._deadline and now >= self._moved_deadline():
                self._limit = "wall_time"
                return
            if now >= next_look:
                if self._over_limit():
                    return
                next_look = time.monotonic() + _LOOK_SECONDS
            events = dict(poll.poll(1000 * max(0.0, min(self._deadline, next_look) - now) + 1))
            if self._task.host in events:
                self._abandoned = True
                return
            if out in events or err in events:
                self._output.drain()
                if self._output.exceeded:
                    self._limit = "output_limit"
                    return
            ready = events.get(channel, 0)
            if ready & select.POLLOUT and outgoing:
                with contextlib.suppress(BlockingIOError, ConnectionError):
                    outgoing = outgoing[ours.send(outgoing[:_CHUNK]) :]
                if not outgoing:
                    poll.modify(channel, select.POLLIN)
            if ready & (select.POLLIN | select.POLLHUP) and not self._receive(ours, incoming):
                poll.unregister(channel)
            if self._done() or handle in events:
                return

    def _moved_deadline(self) -> float:
        """The deadline, put off by the time the program was ready to run and got no processor."""
        allowed = self._task.wall_seconds
        self._deadline = self._started + allowed + min(self._tree.waited(), MAX_WAIT * allowed)
        return self._deadline

    def _remaining(self) -> range:
        return range(len(self._answers), len(self._task.calls))

    def _done(self) -> bool:
        return bool(
            self._compile_error is not None
            or (self._load_error is not None and not self._task.inputs)
            or self._setup_error is not None
            or self._broken_channel
            or self._limit is not None
            or self._report is not None
            or (self._task.calls and len(self._answers) >= self._assigned)
        )

    def _over_limit(self) -> bool:
        """Look at what the clock alone does not show. True if the process must end."""
        count, cpu = self._tree.look()
        if self._oom_kills() > self._oom_before or self._task.home.memory_held() > self._task.memory_bytes:
            self._limit = "memory"
        elif cpu > self._task.cpu_seconds:
            self._limit = "cpu_time"
        elif count > isolation.MAX_PROCESSES:
            self._too_many = True
        return self._limit is not None or self._too_many

    def _oom_kills(self) -> int:
        if self._task.oom_events is None:
            return 0
        for line in os.pread(self._task.oom_events, 4096, 0).splitlines():
            name, _, count = line.partition(b" ")
            if name == b"oom_kill":
                return int(count)
        return 0

    def _receive(self, ours: socket.socket, incoming: frames.FrameBuffer) -> bool:
        """Read the messages that are there. False when no more can come."""
        while not self._broken_channel:
            try:
                chunk = ours.recv(1 << 20)
            except BlockingIOError:
                return True
            except ConnectionError:
                return False
            if not chunk:
                return False
            self._answer_bytes += len(chunk)
            if self._answer_bytes > frames.MAX_ANSWERS:
                self._limit = "output_limit"
                return False
            try:
                for payload in incoming.feed(chunk):
                    self._take(*frames.unpack(payload))
            except ValueError:
                # FrameError and wrong numbers of fields alike: whoever wrote this was not our side.
                self._broken_channel = True
                return False
        return False

    def _take(self, kind: str, fields: list[str]) -> None:
        """Take one message from the candidate's process. Raises ValueError where it breaks the protocol."""
        if kind == "S":
            (self._setup_error,) = fields
        elif kind == "X" and not self._compiled:
            (self._compile_error,) = fields
        elif kind == "C":
            self._compiled = True
        elif kind == "I" and not self._ready:
            name, _base, detail, allocation = fields
            self._load_error = [name, detail]
            if allocation == "1":
                self._limit = "memory"
        elif kind == "R":
            self._ready = True
        elif kind == "T":
            (self._report,) = fields
        elif kind == "D":
            self._finished = True
        elif kind in ("V", "E", "U") and int(fields[0]) == len(self._answers) < self._assigned:
            self._take_answer(kind, fields[1:])
        elif self._remaining() or kind not in ("V", "E", "U"):
            raise ValueError("a message out of turn")

    def _take_answer(self, kind: str, fields: list[str]) -> None:
        if kind == "V":
            value, _changed = fields
            self._answers.append(["V", value])
        elif kind == "U":
            detail, _own = fields
            self._answers.append(["U", detail])
        else:
            name, _base, detail, allocation = fields
            if allocation == "1":
                self._limit = "memory"
            else:
                self._answers.append(["E", name, detail])

    def _judge_end(self, status: int | None) -> bool:
        """Record how the process ended. True if another process should take the remaining calls."""
        if self._output.exceeded:
            self._limit = "output_limit"
        elif self._oom_kills() > self._oom_before:
            self._limit = "memory"
        if self._setup_error is not None or self._compile_error is not None:
            return False
        if not self._compiled:
            self._compile_error = f"the compiler did not survive this program ({self._limit or _fate(status)[0]})"
            self._limit = None
            return False
        if self._limit is not None:
            return False
        if self._task.inputs:
            return self._take_output(status)
        if self._load_error is not None:
            self._finished = False
            self._answers += [["E", *self._load_error]] * len(self._remaining())
            return False
        if self._report is not None or self._finished or (self._task.calls and len(self._answers) >= self._assigned):
            self._finished = self._death is None
            return bool(self._remaining())
        # It ended of itself, or had to be ended for what it did, with something still to do.
        if self._tree.reaped_cpu() > self._task.cpu_seconds:
            self._limit = "cpu_time"
            return False
        name, detail = _fate(status)
        if self._too_many:
            name, detail = self._many()
        elif self._broken_channel:
            name, detail = "broken_channel", "it wrote to the channel its answers travel on"
        if self._death is None:
            self._death = [name, detail]
            self._note_status(status)
        again = self._ready and not self._too_many and bool(self._remaining())
        # What kills the process while it loads would kill the next one too.
        lost = 1 if again else len(self._remaining())
        self._answers += [["E", name, detail]] * lost
        return again and bool(self._remaining())

    def _take_output(self, status: int | None) -> bool:
        """Record what a script printed and how it ended. True if inputs are left."""
        if self._tree.reaped_cpu() > self._task.cpu_seconds:
            self._limit = "cpu_time"
            return False
        error: str | None = None
        detail = ""
        if self._load_error is not None:
            error, detail = self._load_error
        elif self._too_many:
            error, detail = self._many()
        elif self._broken_channel or status != 0:
            error, detail = _fate(status)
        if error is not None and self._exit_code is None and self._signal is None:
            self._note_status(status)
        output = self._output.written
        self._answer_bytes += len(output)
        if self._answer_bytes > frames.MAX_ANSWERS:
            self._limit = "output_limit"
            return False
        self._printed.append([base64.b64encode(output).decode("ascii"), error, detail])
        self._load_error = None
        self._finished = len(self._printed) == len(self._task.inputs)
        return not self._finished

    def _note_status(self, status: int | None) -> None:
        if os.WIFSIGNALED(status or 0):
            self._signal = os.WTERMSIG(status or 0)
        else:
            self._exit_code = os.waitstatus_to_exitcode(status or 0)

    def _many(self) -> tuple[str, str]:
        return "process_limit", f"it started more than {isolation.MAX_PROCESSES} processes"


def _fate(status: int | None) -> tuple[str, str]:
    """A word and a sentence for a wait status."""
    code = os.waitstatus_to_exitcode(status or 0)
    if code >= 0:
        return "exit", f"the process exited with code {code} before it had answered"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return name, f"the process was ended by {name}"


def _file_of(text: str) -> int:
    """A descriptor from which the text can be read: no pipe that somebody would have to fill."""
    descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC)
    frames.write_all(descriptor, text.encode("utf-8", "surrogatepass"))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _run_body(
    task: Assignment, output: _Output, control: socket.socket, workplace: str, standard_input: int | None
) -> None:
    """Become the candidate's process. Does not return."""
    kept = [control.fileno()] + ([task.peer.fileno()] if task.peer is not None else [])
    try:
        candidate.prepare(
            standard_input=standard_input,
            outputs=[write_end for _, write_end in output.pipes],
            kept=kept,
            cgroup=task.cgroup,
            workplace=workplace,
            cpu_seconds=task.cpu_seconds,
            memory_bytes=None if task.cgroup else task.memory_bytes,
            home=task.home,
        )
    except BaseException as error:  # noqa: BLE001 - reported to the host, whose infrastructure failed
        control.sendall(frames.pack("S", f"{type(error).__name__}: {error}"))
        os._exit(1)
    try:
        task.body(control)
        control.sendall(frames.pack("D"))
    finally:
        os._exit(0)
