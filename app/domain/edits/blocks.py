"""Blocks: runs of neighbouring entries of an edit script. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.edits.diff import EditType, LineEdit


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring entries of one file, in a script's order; never empty."""

    entries: tuple[LineEdit, ...]

    @property
    def path(self) -> str:
        """The file it is in."""
        return self.entries[0].path

    @property
    def start(self) -> int:
        """Line of the first entry."""
        return self.entries[0].line

    @property
    def end(self) -> int:
        """Line of the last entry."""
        return self.entries[-1].line

    @property
    def following(self) -> int:
        """The first line below it that it leaves unchanged: lines are added before the one that an Add names."""
        return self.end if self.entries[-1].type is EditType.ADD else self.end + 1

    def __len__(self) -> int:
        return len(self.entries)


def blocks(script: Sequence[LineEdit]) -> tuple[Block, ...]:
    """The blocks of an ordered script, top to bottom.

    From the bottom up, a Delete or Modify joins the entry below it where its line is exactly one less, an Add where
    its line is the same.
    """
    found: list[list[LineEdit]] = []
    below: LineEdit | None = None
    for entry in reversed(script):
        if below is not None and _joined(entry, below):
            found[-1].append(entry)
        else:
            found.append([entry])
        below = entry
    return tuple(Block(tuple(reversed(entries))) for entries in reversed(found))


def _joined(entry: LineEdit, below: LineEdit) -> bool:
    distance = below.line - entry.line
    return entry.path == below.path and distance == (0 if entry.type is EditType.ADD else 1)
