"""Three programs in one place, worked out by hand."""

from app.domain.edits.blocks import blocks
from app.domain.edits.diff import edit_script
from app.domain.programs import Program
from app.web.three_way import Cell, Gap, Row, block_name, folded, three_way

BUGGY = Program.single("a = 0\nb = 1\nc = 2\nd = 3\ne = 4\n")
RIGHT = Program.single("a = 1\nb = 1\nc = 2\nd = 3\nf = 5\ne = 4\n")
"""The first line modified; one line added before the fifth."""
REPAIRED = Program.single("a = 1\nb = 1\nd = 3\ne = 4\ng = 6\n")
"""The first line modified likewise, the third deleted, one line added at the end."""


def shown(cell: Cell) -> tuple[str, int | None, int | None]:
    return cell.sign, cell.number, cell.block


def rows_of(after: Program, other: Program) -> list[Row]:
    truth, predicted = (blocks(edit_script(BUGGY, program)) for program in (after, other))
    return three_way(BUGGY, "solution.py", truth, predicted)


def test_every_line_stands_in_its_place_with_its_block_and_its_own_number() -> None:
    rows = rows_of(RIGHT, REPAIRED)
    assert [(shown(row.buggy), shown(row.truth), shown(row.predicted)) for row in rows] == [
        ((" ", 1, None), ("~", 1, 0), ("~", 1, 0)),
        ((" ", 2, None), (" ", 2, None), (" ", 2, None)),
        ((" ", 3, None), (" ", 3, None), ("−", None, 1)),
        ((" ", 4, None), (" ", 4, None), (" ", 3, None)),
        (("", None, None), ("+", 5, 1), ("", None, None)),
        ((" ", 5, None), (" ", 6, None), (" ", 4, None)),
        (("", None, None), ("", None, None), ("+", 5, 2)),
    ]
    assert all(cell.first for row in rows for cell in (row.truth, row.predicted) if cell.block is not None)
    assert [row.truth.text.striptags() for row in rows] == ["a = 1", "b = 1", "c = 2", "d = 3", "f = 5", "e = 4", ""]


def test_only_the_first_line_of_a_block_names_it() -> None:
    rows = rows_of(RIGHT, Program.single("x = 0\ny = 1\nc = 2\nd = 3\ne = 4\n"))
    assert [(row.predicted.block, row.predicted.first) for row in rows[:3]] == [(0, True), (0, False), (None, False)]


def test_what_stays_is_folded_and_counted() -> None:
    rows = rows_of(RIGHT, BUGGY)
    # Row 0 and row 4 change; with none around them, rows 1–3 and row 5 are left out.
    assert [part.lines if isinstance(part, Gap) else part.changed for part in folded(rows, context=0)] == [
        True,
        3,
        True,
        1,
    ]
    assert list(folded(rows)) == rows


def test_a_line_that_vanishes_with_the_end_of_a_file_is_no_fault() -> None:
    buggy, after = Program.single("a = 0\n\nb = 1"), Program.single("a = 0\n")
    script = blocks(edit_script(buggy, after))
    assert [shown(row.predicted) for row in three_way(buggy, "solution.py", (), script)] == [
        (" ", 1, None),
        (" ", None, None),
        ("−", None, 0),
    ]


def test_blocks_are_named_as_columns_of_a_sheet_are() -> None:
    assert [block_name(index) for index in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]
