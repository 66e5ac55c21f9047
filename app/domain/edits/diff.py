"""Edit scripts: the line entries that turn one program into another. Pure.

The public benchmark's files hold scripts made this way, entry by entry, so that the algorithm is fixed: lines are
compared without trailing white space by `difflib.ndiff`, and its deletions and additions are paired where they meet.
"""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from app.domain.programs import Program

MAX_PAIRS = 1_000_000
"""Pairs of lines of a file that are looked at for similar ones, at a few microseconds each. ndiff looks at every pair
of a rewritten stretch, and again of what is left on either side of the most similar one. Where that is always the
first, n lines take n³/3 pairs, so that any stretch of 144 lines gets ndiff's own script, and most longer ones do."""


class EditType(StrEnum):
    """What an entry does; the order of the values is the order of entries at one line."""

    ADD = "Add"
    DELETE = "Delete"
    MODIFY = "Modify"


@dataclass(frozen=True, slots=True)
class LineEdit:
    """One entry of a script. `line` counts from 1 in the program the script starts from.

    Add puts `modified` before that line (one past the end appends) and leaves `original` empty; Delete leaves
    `modified` empty. Texts carry no trailing white space and no line end.
    """

    path: str
    line: int
    type: EditType
    original: str
    modified: str


@dataclass(slots=True)
class FileLines:
    """A file taken apart into lines that can be changed: they end as the first does, the last one as it did before."""

    lines: list[str]
    end: str
    closed: bool

    @classmethod
    def of(cls, source: str) -> "FileLines":
        """Take a file apart; an empty one will end with a newline."""
        lines = source.split("\n")
        # As `lines_of` counts: what stands behind the last newline is a line, also where it is a lone "\r".
        closed = not lines[-1]
        end = "\r\n" if lines[0].endswith("\r") else "\n"
        return cls([line.removesuffix("\r") for line in (lines[:-1] if closed else lines)], end, closed)

    @property
    def source(self) -> str:
        """The file put together again."""
        return self.end.join(self.lines) + (self.end if self.closed and self.lines else "")


def edit_script(before: Program, after: Program) -> tuple[LineEdit, ...]:
    """The script from one program to another, ordered by path, line and type.

    Changes of blank lines and of trailing white space are no edits. A file that only one of the programs has counts as
    empty in the other.
    """
    script: list[LineEdit] = []
    for path in sorted({*before.files, *after.files}):
        script += _of_file(path, before.files.get(path, ""), after.files.get(path, ""))
    return tuple(script)


def apply_script(program: Program, script: Iterable[LineEdit]) -> Program:
    """The program with the entries of an ordered script made.

    Lines end as the first line of their file does; the end of a file stays as it is, with or without a newline.
    """
    files = dict(program.files)
    for path, entries in groupby(script, key=lambda entry: entry.path):
        files[path] = _applied(files.get(path, ""), list(entries))
    return Program(files)


def order(entries: Iterable[LineEdit]) -> tuple[LineEdit, ...]:
    """Entries in a script's order; those at one line and of one type keep theirs."""
    return tuple(sorted(entries, key=lambda entry: (entry.path, entry.line, entry.type)))


def lines_of(source: str) -> list[str]:
    """The lines of a file without trailing white space. Lines end at newlines alone (before which "\\r" is blank)."""
    lines = source.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.rstrip() for line in lines]


def _of_file(path: str, before: str, after: str) -> tuple[LineEdit, ...]:
    entries = _merged(path, lines_of(before), lines_of(after))
    return order(entry for entry in entries if entry.original.strip() or entry.modified.strip())


def _merged(path: str, before: Sequence[str], after: Sequence[str]) -> Iterator[LineEdit]:
    deletions: list[tuple[int, str]] = []
    additions: list[tuple[int, str]] = []
    old = new = 0
    for row in _Differ().compare(before, after):
        match row[0]:
            case " ":
                old, new = old + 1, new + 1
            case "-":
                old += 1
                deletions.append((old, row[2:]))
            case "+":
                new += 1
                additions.append((new, row[2:]))
    deleted = added = 0
    while deleted < len(deletions) or added < len(additions):
        shift = added - deleted
        gone, come = deletions[deleted : deleted + 1], additions[added : added + 1]
        if gone and come and gone[0][0] + shift == come[0][0]:
            yield LineEdit(path, gone[0][0], EditType.MODIFY, gone[0][1], come[0][1])
            deleted, added = deleted + 1, added + 1
        elif gone and (not come or gone[0][0] + shift < come[0][0]):
            yield LineEdit(path, gone[0][0], EditType.DELETE, gone[0][1], "")
            deleted += 1
        else:
            yield LineEdit(path, come[0][0] - shift, EditType.ADD, "", come[0][1])
            added += 1


class _Differ(difflib.Differ):
    """What ndiff uses, with an end to its search for similar lines: from there on lines are replaced as they stand."""

    def __init__(self) -> None:
        super().__init__(charjunk=difflib.IS_CHARACTER_JUNK)
        self._pairs = 0

    def _fancy_replace(
        self, a: Sequence[str], alo: int, ahi: int, b: Sequence[str], blo: int, bhi: int
    ) -> Iterator[str]:
        self._pairs += (ahi - alo) * (bhi - blo)
        replace = super()._fancy_replace if self._pairs <= MAX_PAIRS else super()._plain_replace  # type: ignore[misc]
        yield from replace(a, alo, ahi, b, blo, bhi)


def _applied(source: str, entries: Sequence[LineEdit]) -> str:
    file = FileLines.of(source)
    for entry in reversed(entries):
        at = entry.line - 1
        match entry.type:
            case EditType.ADD:
                file.lines.insert(at, entry.modified)
            case EditType.DELETE:
                del file.lines[at]
            case EditType.MODIFY:
                file.lines[at] = entry.modified
    return file.source
