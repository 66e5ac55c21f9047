"""How much of a block is needed: the shortest contiguous slice of its entries that does what the block does. Pure."""

import ast
import warnings
from collections.abc import Callable, Iterable, Sequence

from app.domain.edits.blocks import Block
from app.domain.edits.matching import Match, Rules, revision
from app.domain.programs import Program

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
    a newer one.
    """
    withheld = match.bugs if rules is Rules.PAPER else ()
    entries = match.block.entries

    def revised(first: int, length: int) -> Program:
        part = entries[first : first + length]
        return revision(buggy, truth, part, withheld=withheld, preceding=entries[:first], rules=rules)

    readable = parses(revised(0, len(entries)))
    slices = [
        (length, program)
        for length in range(1, min(limit, len(entries)))
        for first in range(len(entries) - length + 1)
        if parses(program := revised(first, length)) or not readable
    ]
    for (length, _), passed in zip(slices, passes([program for _, program in slices]), strict=False):
        if passed:
            return length
    return None


def parses(program: Program) -> bool:
    """Whether its Python files (by name) are free of syntax errors."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape in somebody's program
            for path, source in program.files.items():
                if path.endswith(".py"):
                    ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
