"""What the known bugs of a program must be like for repairs to be scored by them. Pure."""

from collections.abc import Sequence
from itertools import pairwise

from app.domain.edits.blocks import Block, blocks
from app.domain.edits.diff import edit_script
from app.domain.programs import Program
from app.domain.text import count

MAX_ENTRIES = 10
"""Most entries of one bug's block, as in the benchmark."""
STRIDE, LONG_STRIDE = 3, 5
"""Fewest lines between the blocks of two bugs: where both are one line, and where one is longer."""


def fault(buggy: Program, reference: Program, truth: Sequence[Block]) -> str | None:
    """Why `truth` does not do as one block of edits a bug; None where it does.

    Together the blocks must be the script from the program to its reference, each of them a block of its own, not too
    long, and far enough from the others to be repaired alone.
    """
    found = blocks(edit_script(buggy, reference))
    if len(found) != len(truth):
        return (
            f"its differences from the reference form {count(len(found), 'block')}, and it has"
            f" {count(len(truth), 'bug')}"
        )
    if found != tuple(truth):
        return "the edits of its bugs are not its differences from the reference"
    for number, block in enumerate(truth, start=1):
        if len(block) > MAX_ENTRIES:
            return f"bug {number} takes {len(block)} line edits, more than {MAX_ENTRIES}"
    for number, (above, below) in enumerate(pairwise(truth), start=1):
        stride = STRIDE if len(above) == len(below) == 1 else LONG_STRIDE
        if above.path == below.path and below.start - above.end < stride:
            return f"bugs {number} and {number + 1} are {below.start - above.end} lines apart, fewer than {stride}"
    return None
