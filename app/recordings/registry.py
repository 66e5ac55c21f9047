"""The formats recorded runs are read from, by name."""

from collections.abc import Callable
from dataclasses import dataclass

from app.datasets import archive
from app.domain.errors import InputError
from app.recordings import halflife, ldb, outcomes, tree
from app.recordings.recording import Files, ReadOptions, Recording


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its reader, what it is in words, and whether it is a folder of files, which an archive may hold."""

    read: Callable[[Files, ReadOptions], Recording]
    words: str
    folder: bool = False
    programs: bool = True
    """Whether it holds the programs, so that they can be re-executed."""


FORMATS = {
    "halflife": Format(halflife.read, "a run exported by Halflife (JSON Lines)"),
    "ldb": Format(ldb.read, "a run of LDB: programs, shown asserts, last verdict (JSON Lines)"),
    "outcomes": Format(outcomes.read, "task_id, fix_mode_attempt_count, status (CSV)", programs=False),
    "tree": Format(
        tree.read, "results of iterative feedback loops, two files a problem (folder, zip or tar)", folder=True
    ),
}


def recording_format(name: str) -> Format:
    """The format of a name. Raises InputError."""
    if name not in FORMATS:
        raise InputError(f"format: choose one of {', '.join(FORMATS)}")
    return FORMATS[name]


def opened(data: bytes, form: Format) -> Files:
    """The files of an uploaded recording. Raises FormatError."""
    return archive.files(data) if form.folder else {"": data}
