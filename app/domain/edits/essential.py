"""How much of a block is needed: the shortest contiguous slice of its entries that does what the block does. Pure."""

import ast
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from app.domain.edits.blocks import Block
from app.domain.edits.matching import Match, Rules, revision
from app.domain.programs import Program
from app.domain.syntax import parse

Oracle = Callable[[Sequence[Program]], Iterable[bool]]
"""Judges a batch: for each program, in order, whether it passes all tests. The programs of a batch may run side by
side; whoever stops reading needs no more of them, and what has not begun by then need not run."""


def essential_size(
    buggy: Program, truth: Sequence[Block], match: Match, passes: Oracle, *, limit: int, rules: Rules = Rules.PAPER
) -> int | None:
    """Length of the shortest slice, shorter than `limit` and than the block, that passes; None where there is none.

    A slice stands in for the whole block: the bugs that the block claims are not repaired otherwise, the others are.
    Under the published code's rules every bug is repaired, so that any harmless slice passes. Slices that do not
    parse are not run, unless this Python cannot read the block's own program either: that passes, so that it is for
    a newer one. Of those that differ in layout and comments alone the shortest is run.
    """
    withheld = match.bugs if rules is Rules.PAPER else ()
    entries = match.block.entries

    def revised(first: int, length: int) -> Program:
        part = entries[first : first + length]
        return revision(buggy, truth, part, withheld=withheld, preceding=entries[:first], rules=rules)

    readable = reading(revised(0, len(entries))) is not None
    slices: dict[str, tuple[int, Program]] = {}
    for length in range(1, min(limit, len(entries))):
        for first in range(len(entries) - length + 1):
            program = revised(first, length)
            read = reading(program) if readable else program.content_hash()
            if read is not None:
                slices.setdefault(read, (length, program))
    asked = list(slices.values())
    for (length, _), passed in zip(asked, passes([program for _, program in asked]), strict=False):
        if passed:
            return length
    return None


def reading(program: Program) -> str | None:
    """Hash of what Python reads: the same for programs that differ in layout and comments alone.

    None where a Python file (by name) has a syntax error. Other files count as they are.
    """
    read = {}
    for path, source in program.files.items():
        read[path] = source
        if not path.endswith(".py"):
            continue
        # Too deep a tree for this function, such as a long sum's, says nothing of the program: it counts by its text.
        try:
            with suppress(RecursionError, MemoryError):
                read[path] = ast.dump(parse(source))
        except (SyntaxError, ValueError):
            return None
    return Program(read).content_hash()
