"""The line edits that repair a program without touching its layout. Pure."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from app.datasets.python_source import Unparsable, parse


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines `start`..`end` (1-based, half-open) of a source replaced by `replacement`, which carries no line ends."""

    start: int
    end: int
    replacement: tuple[str, ...]


def repair_edits(buggy: str, correct: str) -> tuple[Edit, ...]:
    """The edits of `buggy` that make it the same Python program as `correct`, in order and without overlap.

    Differences of layout and comments are no edits: what comes out need not have the text of `correct`, but it has its
    syntax tree. Raises Unparsable where either is not Python.
    """
    target = _tree(correct)
    edits = _edits_of_code(buggy.split("\n"), [line for line in correct.split("\n") if line.strip()])
    for edit in tuple(edits):
        others = [one for one in edits if one is not edit]
        try:
            if _tree(apply_edits(buggy, others)) == target:
                edits = others
        except Unparsable:
            continue
    return tuple(_joined(edits))


def apply_edits(source: str, edits: Iterable[Edit]) -> str:
    """The source with edits made that do not overlap."""
    lines = source.split("\n")
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        lines[edit.start - 1 : edit.end - 1] = edit.replacement
    return "\n".join(lines)


def _changes(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [tuple(places) for tag, *places in matcher.get_opcodes() if tag != "equal"]  # type: ignore[misc]


def _edits_of_code(before: list[str], new: list[str]) -> list[Edit]:
    """Edits of lines that are not blank, as small as they can be."""
    old = [(number, line) for number, line in enumerate(before, start=1) if line.strip()]
    edits = []
    for first, last, new_first, new_last in _changes([line for _, line in old], new):
        if last - first == new_last - new_first:
            pairs = zip(old[first:last], new[new_first:new_last], strict=True)
            edits += [Edit(number, number + 1, (line,)) for (number, _), line in pairs]
        else:
            start = old[first][0] if first < len(old) else old[-1][0] + 1
            end = old[last - 1][0] + 1 if last > first else start
            edits.append(Edit(start, end, tuple(new[new_first:new_last])))
    return edits


def _joined(edits: Iterable[Edit]) -> Iterator[Edit]:
    """The edits with those of adjacent lines made one."""
    waiting: Edit | None = None
    for edit in edits:
        if waiting is not None and waiting.end == edit.start:
            waiting = Edit(waiting.start, edit.end, waiting.replacement + edit.replacement)
            continue
        if waiting is not None:
            yield waiting
        waiting = edit
    if waiting is not None:
        yield waiting


def _tree(source: str) -> str:
    return ast.dump(parse(source))
