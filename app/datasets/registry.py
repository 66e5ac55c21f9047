"""The formats problem sets are read from, by name."""

from typing import Protocol

from app.datasets import humaneval, leetcode, mbpp, native, pdb, quixbugs
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


class ReaderOfTwo(Protocol):
    """Likewise from a file of problems and one of tests. Raises FormatError."""

    def __call__(self, data: bytes, name: str, tests: bytes) -> ProblemSet: ...


TESTED_APART: dict[str, ReaderOfTwo] = {"pdb": pdb.read}
"""Formats whose tests are a file of their own."""

KNOWN = tuple(sorted([*FORMATS, *TESTED_APART]))
"""The names of all formats."""


def read_problem_set(data: bytes, *, format: str, name: str, tests: bytes | None = None) -> ProblemSet:
    """Read `data` in the named format as the problem set `name`; `tests` is for formats whose tests lie apart.

    Raises InputError for a format that is not known and for tests that are missing or too many, FormatError where the
    data is not in the format.
    """
    if format in TESTED_APART:
        if tests is None:
            raise InputError(f"tests: {format} files hold no tests; give the file that has them")
        return TESTED_APART[format](data, name, tests)
    if tests is not None:
        raise InputError(f"tests: {format} files hold their tests themselves")
    reader = FORMATS.get(format)
    if reader is None:
        raise InputError(f"unknown format {format!r}; known are {', '.join(KNOWN)}")
    return reader(data, name)
