"""Edits between two programs."""

from app.datasets.line_edits import line_edits
from app.domain.problems import Edit


def test_replaced_inserted_and_deleted_lines() -> None:
    assert line_edits("a\nb\nc\n", "a\nB\nc\n") == (Edit(2, 3, ("B",)),)
    assert line_edits("a\nc\n", "a\nb1\nb2\nc\n") == (Edit(2, 2, ("b1", "b2")),)
    assert line_edits("a\nb\nc\n", "a\nc\n") == (Edit(2, 3, ()),)
    assert line_edits("a\n", "a\n") == ()


def test_applying_the_edits_gives_the_other_program() -> None:
    before = "x = 1\n\nfor a in b:\n    c()\n    d()\nreturn x\n"
    after = "x = 0\nfor a in b:\n    d()\n    c()\n\n\nreturn y"
    lines = before.split("\n")
    for edit in reversed(line_edits(before, after)):
        lines[edit.start - 1 : edit.end - 1] = edit.replacement
    assert "\n".join(lines) == after


def test_only_newlines_end_lines() -> None:
    assert line_edits("a\x0cb\n", "a\x0cc\n") == (Edit(1, 2, ("a\x0cc",)),)
