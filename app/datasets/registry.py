"""The formats problem sets are read from, by name."""

from typing import Protocol

from app.datasets import humaneval, leetcode, mbpp, native, quixbugs
from app.domain.errors import InputError
from app.domain.problems import ProblemSet


class Reader(Protocol):
    """A pure function from a file's bytes to the problem set called `name`. Raises FormatError."""

    def __call__(self, data: bytes, name: str) -> ProblemSet: ...


FORMATS: dict[str, Reader] = {
    "humaneval": humaneval.read,
    "leetcode": leetcode.read,
    "mbpp": mbpp.read,
    "native": native.read,
    "quixbugs": quixbugs.read,
}


def read_problem_set(data: bytes, *, format: str, name: str) -> ProblemSet:
    """Read `data` in the named format as the problem set `name`.

    Raises InputError for a format that is not in `FORMATS`, and FormatError where the data is not in it.
    """
    reader = FORMATS.get(format)
    if reader is None:
        raise InputError(f"unknown format {format!r}; known are {', '.join(sorted(FORMATS))}")
    return reader(data, name)
