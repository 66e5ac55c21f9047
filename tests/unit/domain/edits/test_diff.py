"""Edit scripts: their entries, what they leave out, and that applying them gives the other program."""

import difflib
import gzip
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.edits.blocks import blocks
from app.domain.edits.diff import EditType, LineEdit, apply_script, edit_script
from app.domain.programs import Program

PUBLIC = Path(__file__).parents[4].parent / "shared" / "data" / "pdb" / "livecodebench_pdb_multi_part.json.gz"


def script(before: str, after: str) -> list[tuple[int, str, str, str]]:
    return [
        (entry.line, entry.type.value, entry.original, entry.modified)
        for entry in edit_script(Program.single(before), Program.single(after))
    ]


def applied(before: str, after: str) -> str:
    one, other = Program.single(before), Program.single(after)
    return apply_script(one, edit_script(one, other)).source


def test_entries_of_each_type() -> None:
    assert script("a\nb\nc\n", "a\nB\nc\n") == [(2, "Modify", "b", "B")]
    assert script("a\nb\nc\n", "a\nc\n") == [(2, "Delete", "b", "")]
    # Before old line 2, one after the other.
    assert script("a\nc\n", "a\nx\ny\nc\n") == [(2, "Add", "", "x"), (2, "Add", "", "y")]
    # Past the end: before a line 2 that does not exist.
    assert script("a\n", "a\nb\n") == [(2, "Add", "", "b")]
    assert script("a\nb\n", "a\nb\n") == []


def test_deletions_and_additions_meet_at_a_line_or_not_at_all() -> None:
    # Old line 1 gone (shift −1); new line 2, "d", then belongs before old line 3 − which is one past the end.
    assert script("a\nb\n", "b\nd\n") == [(1, "Delete", "a", ""), (3, "Add", "", "d")]
    # Two lines for three: old 2, 3 and new 2, 3 meet; old 4 is left over.
    assert script("a\nbb\ncc\ndd\ne\n", "a\nxx\nyy\ne\n") == [
        (2, "Modify", "bb", "xx"),
        (3, "Modify", "cc", "yy"),
        (4, "Delete", "dd", ""),
    ]
    # One addition (shift 1), so that old line 3 meets new line 4.
    assert script("a\nb\ncc = 1\nd\n", "a\nx\nb\ncc = 2\nd\n") == [
        (2, "Add", "", "x"),
        (3, "Modify", "cc = 1", "cc = 2"),
    ]


def test_white_space_at_line_ends_and_blank_lines_are_no_edits() -> None:
    assert script("a  \nb\t\n\nc\n", "a\nb\n\n   \nc   \n") == []
    assert script("a\n\nb\n", "a\nb\n") == []
    # A blank line that becomes code is an edit, and so is code that becomes blank.
    assert script("a\n\nb\n", "a\nx\nb\n") == [(2, "Modify", "", "x")]
    assert script("a\nx\nb\n", "a\n\nb\n") == [(2, "Modify", "x", "")]
    # Indentation counts, and a tab is no blank.
    assert script("if a:\n    b\n", "if a:\n\tb\n") == [(2, "Modify", "    b", "\tb")]


def test_only_newlines_end_lines() -> None:
    for mark in ("\u2028", "\x0c", "\x85", "\r", "\x1c"):
        assert script(f"s = 'a{mark}b'\nx\n", f"s = 'a{mark}c'\nx\n") == [
            (1, "Modify", f"s = 'a{mark}b'", f"s = 'a{mark}c'")
        ]
    assert script("a\r\nb\r\n", "a\nb\n") == []
    assert script("a\r\nb\r\n", "a\nc") == [(2, "Modify", "b", "c")]
    assert script("größe = 1\n名 = 2\n", "größe = 1\n名 = 3\n") == [(2, "Modify", "名 = 2", "名 = 3")]


def test_a_program_keeps_its_line_ends() -> None:
    assert applied("a\r\nb\r\nc", "a\nB\nx\nc\n") == "a\r\nB\r\nx\r\nc"
    assert applied("a\nb", "a\r\nb\r\nc\r\n") == "a\nb\nc"
    assert applied("a\nb\n", "a\nc") == "a\nc\n"
    assert applied("", "a\nb") == "a\nb\n"
    assert applied("a\nb\n", "") == ""
    # Unchanged lines stay as they are to the letter.
    assert applied("a  \n\nb\n", "a\n\nc\n") == "a  \n\nc\n"


def test_files_by_path() -> None:
    before = Program({"b.py": "x = 1\n", "a.py": "y = 1\n", "gone.py": "z = 1\n"})
    after = Program({"a.py": "y = 2\n", "b.py": "x = 2\n", "new.py": "w = 1\n"})
    found = edit_script(before, after)
    assert found == (
        LineEdit("a.py", 1, EditType.MODIFY, "y = 1", "y = 2"),
        LineEdit("b.py", 1, EditType.MODIFY, "x = 1", "x = 2"),
        LineEdit("gone.py", 1, EditType.DELETE, "z = 1", ""),
        LineEdit("new.py", 1, EditType.ADD, "", "w = 1"),
    )
    assert apply_script(before, found) == Program({**after.files, "gone.py": ""})
    assert [block.path for block in blocks(found)] == ["a.py", "b.py", "gone.py", "new.py"]


@pytest.mark.parametrize(
    ("before", "after", "made"),
    [
        # A lone "\r" behind the last newline is a line, blank but there.
        ("a\n\r", "a\nx\n", "a\nx"),
        ("a\r\nb\r\n\r", "a\r\nb\r\nx\r\n", "a\r\nb\r\nx"),
        ("\r", "x", "x"),
    ],
)
def test_a_file_has_as_many_lines_to_change_as_its_script_counts(before: str, after: str, made: str) -> None:
    entries = edit_script(Program.single(before), Program.single(after))
    assert [(entry.type, entry.modified) for entry in entries] == [(EditType.MODIFY, "x")]
    assert apply_script(Program.single(before), entries) == Program.single(made)


LINES = st.lists(st.sampled_from(["a", "b", "  b", "", "c = 1", "c = 2", "def f():"]), max_size=12)


@given(LINES, LINES, st.booleans())
def test_applying_a_script_gives_the_other_program_but_for_blanks(
    before: list[str], after: list[str], closed: bool
) -> None:
    one = Program.single("\n".join(before) + "\n" * closed)
    other = Program.single("\n".join(after) + "\n")
    entries = edit_script(one, other)
    assert edit_script(apply_script(one, entries), other) == ()
    code = [line for line in apply_script(one, entries).source.split("\n") if line]
    assert code == [line for line in after if line]
    found = blocks(entries)
    assert tuple(entry for block in found for entry in block.entries) == entries


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="ndiff pairs similar lines otherwise there")
def test_a_script_changes_the_lines_that_ndiff_changes() -> None:
    draw = random.Random(7)  # noqa: S311
    beyond = 0
    for _ in range(4):
        # From 200 lines on ndiff compares files without their frequent lines first, so that equal ones are left.
        words = [f"{draw.choice('abc') * draw.randrange(1, 6)} = {draw.randrange(30)}" for _ in range(12)]
        before = [draw.choice(words) for _ in range(210)]
        after = list(before)
        for at in draw.sample(range(210), 25):
            after[at : at + draw.randrange(3)] = [draw.choice(words)]
        rows = list(difflib.ndiff(before, after))
        entries = edit_script(Program.single("\n".join(before)), Program.single("\n".join(after)))
        for sign, changed in (("-", [e.original for e in entries]), ("+", [e.modified for e in entries])):
            assert sorted(filter(None, changed)) == sorted(row[2:] for row in rows if row[0] == sign)
        codes = difflib.SequenceMatcher(None, before, after).get_opcodes()
        beyond += sum(row[0] == " " for row in rows) - sum(end - at for tag, at, end, *_ in codes if tag == "equal")
    assert beyond > 0


def test_a_long_rewrite_takes_seconds() -> None:
    started = time.process_time()
    before = "".join(f"value_{number} = compute({number})\n" for number in range(20_000))
    after = "".join(f"value_{number} = compute({number}, 1)\n" for number in range(20_000))
    entries = script(before, after)
    assert len(entries) == 20_000
    assert entries[-1] == (20_000, "Modify", "value_19999 = compute(19999)", "value_19999 = compute(19999, 1)")
    # So does one where every line is frequent and the most similar pair is always the first of what is left.
    before, after = "same line 1\nsame\n" * 400, "same line 2\nsame\n" * 400
    assert applied(before, after) == after
    # About three; without an end to the search for similar lines, far more.
    assert time.process_time() - started < 30


def of_types(*entries: tuple[int, EditType]) -> tuple[LineEdit, ...]:
    return tuple(LineEdit("p.py", line, kind, "x", "y") for line, kind in entries)


def test_blocks_join_neighbouring_entries() -> None:
    add, delete, modify = EditType.ADD, EditType.DELETE, EditType.MODIFY
    for entries, sizes in [
        ([(3, modify), (4, modify)], [2]),
        ([(3, modify), (5, modify)], [1, 1]),
        ([(3, delete), (4, modify), (5, delete)], [3]),
        # Before line 4, which is changed too; line 3 is right above.
        ([(3, modify), (4, add), (4, add), (4, modify)], [4]),
        # Added before line 3, with line 3 itself between it and line 4.
        ([(3, add), (4, modify)], [1, 1]),
        ([(3, delete), (4, add)], [2]),
        ([(3, add), (4, add)], [1, 1]),
        ([], []),
    ]:
        assert [len(block) for block in blocks(of_types(*entries))] == sizes
    (block,) = blocks(of_types((3, modify), (4, add)))
    assert (block.start, block.end, block.following) == (3, 4, 4)
    (block,) = blocks(of_types((3, add), (3, modify)))
    assert (block.start, block.end, block.following) == (3, 3, 4)


@pytest.mark.shared_data
@pytest.mark.skipif(not PUBLIC.exists(), reason="the public data folder is not beside the repository")
def test_the_public_items_scripts_are_found_entry_by_entry() -> None:
    items: list[dict[str, Any]] = json.loads(gzip.decompress(PUBLIC.read_bytes()))
    assert len(items) == 80
    for item in items:
        published = [
            (int(line), entry["type"], entry["original"], entry["modified"]) for line, entry in item["gt_diff"].items()
        ]
        assert script(item["buggy_code"], item["gt_solution"]) == published, item["task_id"]
        buggy, right = Program.single(item["buggy_code"]), Program.single(item["gt_solution"])
        found = edit_script(buggy, right)
        assert edit_script(apply_script(buggy, found), right) == ()
        assert len(blocks(found)) == item["bug_count"], item["task_id"]
