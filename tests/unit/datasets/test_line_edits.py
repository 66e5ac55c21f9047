"""Edits between two programs."""

import pytest

from app.datasets.line_edits import Edit, apply_edits, repair_edits
from app.datasets.python_source import Unparsable


def test_applying_edits() -> None:
    before = "x = 1\n\nfor a in b:\n    c()\n    d()\n"
    edits = (Edit(1, 2, ("x = 0",)), Edit(2, 3, ()), Edit(5, 5, ("    e()", "    f()")))
    assert apply_edits(before, edits) == "x = 0\nfor a in b:\n    c()\n    e()\n    f()\n    d()\n"


BUGGY = """# Python 3
def count(limit):
    total = 0

    while total <= limit:  # up to it

        total += 1
    return total
"""


def test_a_repair_leaves_layout_and_comments_alone() -> None:
    correct = "def count(limit):\n    total = 0\n    while total < limit:\n        total += 1\n\n    return total\n"
    assert repair_edits(BUGGY, correct) == (Edit(5, 6, ("    while total < limit:",)),)
    # The line above differs in its comment alone; two lines of code make one edit.
    assert repair_edits("x = 1  # one\ny = 1\nz = 1\n", "x = 1\ny = 2\nz = 3\n") == (Edit(2, 4, ("y = 2", "z = 3")),)


def test_a_repair_may_insert_and_delete_lines() -> None:
    inserted = BUGGY.replace("        total += 1\n", "        total += 1\n        limit -= 1\n")
    # In front of line 8, the return.
    assert repair_edits(BUGGY, inserted) == (Edit(8, 8, ("        limit -= 1",)),)
    assert repair_edits(inserted, BUGGY) == (Edit(8, 9, ()),)
    appended = BUGGY + "count(3)\n"
    assert repair_edits(BUGGY, appended) == (Edit(9, 9, ("count(3)",)),)
    assert apply_edits(BUGGY, repair_edits(BUGGY, appended)) == appended


def test_a_program_in_another_layout_needs_no_repair() -> None:
    assert repair_edits(BUGGY, BUGGY.replace("\n\n", "\n").replace("  # up to it", "")) == ()


def test_no_repair_of_what_is_not_python() -> None:
    with pytest.raises(Unparsable):
        repair_edits(BUGGY, "def count(")
