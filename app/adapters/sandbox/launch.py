"""Where the interpreter and the runner's files are, and the command line both ways of starting share."""

import os
import sys
import sysconfig
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
