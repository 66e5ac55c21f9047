"""A buggy program, its known repair and a model's, line beside line, with the blocks of edits named."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.domain.edits.blocks import Block
from app.domain.edits.diff import EditType, LineEdit, apply_script, lines_of
from app.domain.programs import Program
from app.web.highlight import highlighted_lines

CONTEXT = 3
"""Unchanged lines shown around an edit."""

_NOTHING = Markup("")
_SIGNS = {EditType.ADD: "+", EditType.MODIFY: "~", EditType.DELETE: "−"}
Places = dict[tuple[int, EditType], list[tuple[LineEdit, int]]]
"""Entries with the index of their block, by line and kind."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One line of one of the three programs.

    `sign` is "~", "+", "−", " " for a line that stays, and "" where this program has none. `number` is the line's in
    this program, `block` the index of the block of edits that it belongs to, of which it is the `first` line or not.
    """

    sign: str = ""
    number: int | None = None
    text: Markup = _NOTHING
    block: int | None = None
    first: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A line of each, in one place."""

    buggy: Cell
    truth: Cell
    predicted: Cell

    @property
    def changed(self) -> bool:
        """Whether either repair touches it."""
        return self.truth.block is not None or self.predicted.block is not None


@dataclass(frozen=True, slots=True)
class Gap:
    """So many unchanged lines that are left out."""

    lines: int


def block_name(index: int) -> str:
    """A, B, …, Z, AA, …: predicted blocks have letters, since bugs have numbers."""
    name = ""
    index += 1
    while index:
        index, letter = divmod(index - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def three_way(buggy: Program, path: str, truth: Sequence[Block], predicted: Sequence[Block]) -> list[Row]:
    """A file of the program line by line, with what both repairs make of each line. Blank edits are no edits."""
    shown = _padded(buggy, path)
    columns = (_Column(buggy, path, truth), _Column(buggy, path, predicted))
    rows: list[Row] = []
    for line in range(1, len(shown) + 2):
        added = [column.added(line) for column in columns]
        for at in range(max(map(len, added))):
            rows.append(Row(Cell(), *(cells[at] if at < len(cells) else Cell() for cells in added)))
        if line <= len(shown):
            rows.append(Row(Cell(" ", line, shown[line - 1]), *(column.at(line) for column in columns)))
    return rows


def folded(rows: Sequence[Row], *, context: int = CONTEXT) -> Iterator[Row | Gap]:
    """The rows that changed with those around them; the others counted."""
    near = {place for at, row in enumerate(rows) if row.changed for place in range(at - context, at + context + 1)}
    left_out = 0
    for at, row in enumerate(rows):
        if at not in near:
            left_out += 1
            continue
        if left_out:
            yield Gap(left_out)
            left_out = 0
        yield row
    if left_out:
        yield Gap(left_out)


class _Column:
    """What one script makes of a file, read from its first line to its last."""

    def __init__(self, buggy: Program, path: str, script: Sequence[Block]) -> None:
        entries = [entry for block in script for entry in block.entries]
        self._lines: Iterator[tuple[int | None, Markup]] = iter(
            enumerate(_padded(apply_script(buggy, entries), path), start=1)
        )
        self._places: Places = {}
        for index, block in enumerate(script):
            for entry in block.entries:
                if entry.path == path:
                    self._places.setdefault((entry.line, entry.type), []).append((entry, index))
        self._named: set[int] = set()

    def added(self, line: int) -> list[Cell]:
        """What is put before a line."""
        return [self._next(EditType.ADD, index) for _, index in self._places.get((line, EditType.ADD), [])]

    def at(self, line: int) -> Cell:
        """What becomes of a line."""
        for kind in (EditType.MODIFY, EditType.DELETE):
            for _, index in self._places.get((line, kind), []):
                return self._next(kind, index)
        return Cell(" ", *self._line())

    def _next(self, kind: EditType, index: int) -> Cell:
        first = index not in self._named
        self._named.add(index)
        if kind is EditType.DELETE:
            return Cell(_SIGNS[kind], None, _NOTHING, index, first)
        return Cell(_SIGNS[kind], *self._line(), index, first)

    def _line(self) -> tuple[int | None, Markup]:
        # A file without a newline at its end loses a blank last line once what follows it is deleted.
        return next(self._lines, (None, _NOTHING))


def _padded(program: Program, path: str) -> list[Markup]:
    """The coloured lines of a file, as many as scripts count: colouring leaves out blank lines at the end."""
    source = program.files.get(path, "")
    shown = highlighted_lines(source)
    count = len(lines_of(source))
    return [*shown, *[_NOTHING] * (count - len(shown))][:count]
