"""The same runner without namespaces: rlimits only. For machines where nothing else works, by explicit setting.

It keeps time, memory and output limits, but a program can read what this user can read and reach the network.
"""

import socket
import subprocess

from app.adapters.sandbox.launch import ENVIRONMENT, RUNNER_FILES, runner_command
from app.adapters.sandbox.pool import RunnerPool


class BareSandbox(RunnerPool):
    """Runs programs as plain processes of this user. Its outcomes say sandbox "none"."""

    def __init__(self, slots: int = 1, *, recycle_after: int = 1000) -> None:
        super().__init__(_launch, name="none", slots=slots, cgroups=None, recycle_after=recycle_after)


def _launch(channel: socket.socket) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        runner_command(RUNNER_FILES / "__main__.py", channel.fileno(), "bare"),
        pass_fds=(channel.fileno(),),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd="/",
        env=ENVIRONMENT,
        start_new_session=True,
    )
