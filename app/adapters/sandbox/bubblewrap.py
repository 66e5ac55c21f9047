"""The runner inside bubblewrap: no network, a read-only system, nothing of the host's data. Needs no root."""

import os
import shutil
from pathlib import Path

from app.adapters.sandbox.cgroups import find_memory_cgroups
from app.adapters.sandbox.launch import (
    CODEC_FILE,
    ENVIRONMENT,
    RUNNER_FILES,
    Launcher,
    interpreter_places,
    packages,
    runner_command,
    test_packages,
)
from app.adapters.sandbox.pool import RunnerPool
from app.adapters.sandbox.runner.program import PACKAGES, TEST_PACKAGES
from app.domain.errors import SandboxUnavailable

INSTALL_HINT = "install it with `apt-get install bubblewrap` or `dnf install bubblewrap`"

_INSIDE = Path("/halflife/app")
_SANDBOX_ID = "1000"


class BubblewrapSandbox(RunnerPool):
    """Runs programs in bubblewrap, `slots` at a time. Use as a context manager, or call `close`.

    Raises SandboxUnavailable where bwrap is not installed.
    """

    def __init__(self, slots: int = 1, *, recycle_after: int = 1000, use_cgroups: bool = True) -> None:
        super().__init__(
            [Launcher(command, {}) for _ in range(slots)],
            name="bubblewrap",
            cgroups=find_memory_cgroups() if use_cgroups else None,
            recycle_after=recycle_after,
        )


def command(channel: int) -> list[str]:
    """The command line that starts a runner on the socket `channel`. Raises SandboxUnavailable without bwrap."""
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxUnavailable(f"bubblewrap (bwrap) is not installed; {INSTALL_HINT}")
    arguments = [
        program,
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-net",
        "--uid",
        _SANDBOX_ID,
        "--gid",
        _SANDBOX_ID,
        "--hostname",
        "sandbox",
        "--die-with-parent",
        "--new-session",
        "--clearenv",
    ]
    for name, value in ENVIRONMENT.items():
        arguments += ["--setenv", name, value]
    arguments += ["--ro-bind", "/usr", "/usr"]
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if os.path.islink(name):
            arguments += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            arguments += ["--ro-bind", name, name]
    for name in ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime"):
        arguments += ["--ro-bind-try", name, name]
    for place in interpreter_places():
        arguments += ["--ro-bind", str(place), str(place)]
    inside_runner = _INSIDE / "adapters/sandbox/runner"
    arguments += ["--ro-bind", str(RUNNER_FILES), str(inside_runner)]
    arguments += ["--ro-bind", str(CODEC_FILE), str(_INSIDE / "domain/codec.py")]
    for inside, lent in ((TEST_PACKAGES, test_packages()), (PACKAGES, packages())):
        for package in lent:
            arguments += ["--ro-bind", str(package), f"{inside}/{package.name}"]
    arguments += ["--proc", "/proc", "--dev", "/dev", "--dir", "/tmp"]  # noqa: S108 - a mount point
    arguments += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--"]
    return arguments + runner_command(inside_runner / "__main__.py", channel, "isolated")
