"""Starting a runner as a process: where the interpreter and the runner's files are, and what all commands share."""

import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import app.adapters.sandbox.runner as runner_package
import app.domain.codec as codec_module

RUNNER_FILES = Path(runner_package.__file__).resolve().parent
CODEC_FILE = Path(str(codec_module.__file__)).resolve()

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 - the private mount of each execution
    "LANG": "C.UTF-8",
    "PYTHONUTF8": "1",
    # A program whose answer hangs on the order of a set gets the same verdict every time.
    "PYTHONHASHSEED": "0",
}


_TEST_PACKAGES = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
"""pytest and what it imports: all of it pure Python, so that any interpreter can use it."""


_PACKAGES = ("sortedcontainers",)
"""What programs may import beside the standard library: what the judge of LeetCode offers, and half a dozen of its
published solutions need."""


def test_packages() -> list[Path]:
    """The folders and files of what a pytest suite needs, to be lent to the sandbox."""
    return _places_of(_TEST_PACKAGES)


def packages() -> list[Path]:
    """The folders and files of what every program may import, to be lent to the sandbox."""
    return _places_of(_PACKAGES)


def lend_into(folder: Path) -> None:
    """Link both into the folder, as a sandbox has them."""
    for name, lent in (("packages", packages()), ("test-packages", test_packages())):
        (folder / name).mkdir()
        for place in lent:
            (folder / name / place.name).symlink_to(place)


def _places_of(names: tuple[str, ...]) -> list[Path]:
    found = [importlib.util.find_spec(name) for name in names]
    origins = [Path(spec.origin) for spec in found if spec is not None and spec.origin is not None]
    return [origin.parent if origin.name == "__init__.py" else origin for origin in origins]


def interpreter() -> Path:
    """The interpreter candidates run on: the one this process runs on, outside any virtual environment."""
    return Path(os.path.realpath(sys.executable))


def interpreter_places() -> list[Path]:
    """Directories the interpreter needs, besides the system's own."""
    stdlib = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix, "base": sys.base_prefix}))
    places = {Path(sys.base_prefix), interpreter().parent, stdlib}
    return sorted(
        place
        for place in places
        if not place.is_relative_to("/usr")
        and not any(place != other and place.is_relative_to(other) for other in places)
    )


def runner_command(entry: Path | str, channel: int, mode: str) -> list[str]:
    """The command that starts the runner. `mode` is `isolated` or `bare`.

    Not -I, which would also ignore the fixed hash seed: -P and -s keep foreign directories off the path, -S keeps
    installed packages out, and the environment holds nothing but ENVIRONMENT.
    """
    return [str(interpreter()), "-P", "-s", "-S", "-B", str(entry), str(channel), mode]


class RunnerProcess:
    """A runner that is a child of this process. See `hosting.Link`."""

    def __init__(self, process: "subprocess.Popen[bytes]", channel: socket.socket) -> None:
        self.process = process
        self.channel = channel

    def last_words(self) -> str:
        """What the runner, or the program that starts it, printed before it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(2)
        if self.process.poll() is None or self.process.stderr is None:
            return ""
        return self.process.stderr.read(4096).decode("utf-8", "replace").strip()

    def end(self) -> None:
        """Kill it, if it is still there."""
        # The second choice: while bwrap starts up, a kill would leave a child waiting for its parent for ever.
        self.process.kill()
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()


class Launcher:
    """Starts runners by a command. See `hosting.Starter`."""

    def __init__(self, command: Callable[[int], list[str]], environment: dict[str, str]) -> None:
        """`command`: the command line of a runner that serves a descriptor. It may raise SandboxUnavailable."""
        self._command = command
        self._environment = environment
        # A runner is tied to the life of the thread that started it (PR_SET_PDEATHSIG), hence a thread that stays.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sandbox-start")

    def start(self, check: Callable[[], None]) -> RunnerProcess:
        """See `hosting.Starter`."""
        ours, theirs = socket.socketpair()
        try:
            return RunnerProcess(self._thread.submit(self._launch, theirs).result(), ours)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()

    def _launch(self, channel: socket.socket) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            self._command(channel.fileno()),
            pass_fds=(channel.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            env=self._environment,
            start_new_session=True,
        )

    def close(self) -> None:
        """See `hosting.Starter`."""
        self._thread.shutdown()
