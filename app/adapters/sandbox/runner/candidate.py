"""Turning a freshly forked process into one that may run a program nobody trusts."""

import gc
import os
import signal
import sys
import types

from app.adapters.sandbox.runner import isolation
from app.adapters.sandbox.runner.homes import Home


def prepare(
    *,
    standard_input: int | None,
    outputs: list[int],
    kept: list[int],
    cgroup: list[int],
    workplace: str,
    cpu_seconds: float,
    memory_bytes: int | None,
    home: Home,
) -> None:
    """Set up descriptors, cgroup, limits and the interpreter. The caller must not return into the supervisor.

    `kept` are the only descriptors besides the three standard ones that stay open. `standard_input` is None where there
    is nothing to read.
    """
    os.setsid()
    for descriptor in cgroup:
        os.write(descriptor, b"0")
    os.dup2(os.open(os.devnull, os.O_RDONLY) if standard_input is None else standard_input, 0)
    os.dup2(outputs[0], 1)
    os.dup2(outputs[1], 2)
    lowest = 3
    for descriptor in sorted(kept):
        os.closerange(lowest, descriptor)
        lowest = descriptor + 1
    os.closerange(lowest, 4096)
    isolation.limit_resources(cpu_seconds=cpu_seconds, memory_bytes=memory_bytes, own_user=home.own_user)
    home.confine()
    os.chdir(workplace)
    os.umask(0o022)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _reset_interpreter()


def _reset_interpreter() -> None:
    """Make the interpreter behave as if it had just started on the program."""
    depth = 0
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        depth += 1
        frame = frame.f_back
    sys.setrecursionlimit(sys.getrecursionlimit() + depth)
    gc.enable()
