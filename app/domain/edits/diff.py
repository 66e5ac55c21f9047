"""Edit scripts: the line entries that turn one program into another. Pure.

The public benchmark's files hold scripts made this way, entry by entry, so that the algorithm is fixed: lines are
compared without trailing white space as `difflib.ndiff` does up to Python 3.12, and what it deletes and adds is paired
where it meets.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import IS_CHARACTER_JUNK, SequenceMatcher
from enum import StrEnum
from itertools import count, groupby

from app.domain.programs import Program

MAX_PAIRS = 1_000_000
"""Pairs of lines of a file that are looked at for similar ones, at a few microseconds each. ndiff looks at every pair
of a rewritten stretch, and again of what is left on either side of the most similar one. Where that is always the
first, n lines take n³/3 pairs, so that any stretch of 144 lines gets ndiff's own script, and most longer ones do."""
_SIMILAR, _BELOW = 0.75, 0.74
"""The ratio from which ndiff takes two lines for similar, and the one from which it looks for a better one."""


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
    kept = list(_Kept(before, after))
    old, new = {i for i, _ in kept}, {j for _, j in kept}
    deletions = [(at + 1, line) for at, line in enumerate(before) if at not in old]
    additions = [(at + 1, line) for at, line in enumerate(after) if at not in new]
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


class _Kept:
    """Pairs of equal lines, as indices in order, that are no edits.

    Most are found by comparing the files whole. What that leaves holds equal lines only where they are frequent in a
    long file. They are kept around the most similar lines first, and among themselves where there are none.
    """

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        self._before, self._after = before, after
        self._pairs = 0
        self._cruncher = SequenceMatcher(IS_CHARACTER_JUNK)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for tag, *stretch in SequenceMatcher(None, self._before, self._after).get_opcodes():
            if tag == "equal":
                first, end, other, _ = stretch
                yield from zip(range(first, end), count(other))
            elif tag == "replace":
                yield from self._within(*stretch)

    def _within(self, first: int, end: int, other: int, other_end: int) -> Iterator[tuple[int, int]]:
        if set(self._before[first:end]).isdisjoint(self._after[other:other_end]):
            return
        self._pairs += (end - first) * (other_end - other)
        if self._pairs > MAX_PAIRS:
            return
        similar = self._most_similar(range(first, end), range(other, other_end))
        i, j = similar or self._first_equal(range(first, end), range(other, other_end))
        yield from self._within(first, i, other, j)
        if not similar:
            yield i, j
        yield from self._within(i + 1, end, j + 1, other_end)

    def _most_similar(self, old: range, new: range) -> tuple[int, int] | None:
        best, found = _BELOW, None
        for j in new:
            self._cruncher.set_seq2(self._after[j])
            for i in old:
                if self._before[i] == self._after[j]:
                    continue
                self._cruncher.set_seq1(self._before[i])
                # The first two are quick upper bounds.
                bounds = self._cruncher.real_quick_ratio, self._cruncher.quick_ratio, self._cruncher.ratio
                if all(ratio() > best for ratio in bounds):
                    best, found = self._cruncher.ratio(), (i, j)
        return found if best >= _SIMILAR else None

    def _first_equal(self, old: range, new: range) -> tuple[int, int]:
        return next((i, j) for j in new for i in old if self._before[i] == self._after[j])


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
