"""Which block of a repair claims which bug, by hand, and the programs that verify it."""

import pytest

from app.domain.edits.blocks import Block, blocks
from app.domain.edits.diff import edit_script
from app.domain.edits.matching import Rule, Rules, match_blocks, revision
from app.domain.programs import Program

BUGGY = """def f(x):
    a = 1
    b = 2
    c = 3
    d = 4

    e = 5
    return x
"""


def program(changes: dict[int, list[str]], source: str = BUGGY) -> Program:
    """The source with whole lines replaced; `[]` deletes one."""
    lines = source.split("\n")
    return Program.single("\n".join(new for at, line in enumerate(lines, 1) for new in changes.get(at, [line])))


def blocks_of(changes: dict[int, list[str]]) -> tuple[Block, ...]:
    return blocks(edit_script(Program.single(BUGGY), program(changes)))


def matched(
    truth: dict[int, list[str]], predicted: dict[int, list[str]], rules: Rules = Rules.PAPER
) -> list[tuple[str, tuple[int, ...]]]:
    found = match_blocks(blocks_of(truth), blocks_of(predicted), Program.single(BUGGY), rules)
    return [(match.rule.value, match.bugs) for match in found]


def test_exact_blocks_are_the_bugs_own() -> None:
    one, two = {3: ["    b = 20"]}, {5: ["    d = 40"]}
    assert matched(one | two, one) == [("exact", (0,))]
    assert matched(one | two, one | two) == [("exact", (0,)), ("exact", (1,))]
    # Half of a bug of two lines is not it.
    assert matched({3: ["    b = 20"], 4: ["    c = 30"]}, one) == [("wrap", (0,))]


def test_a_block_wraps_every_bug_that_starts_within_it() -> None:
    truth = {3: ["    b = 20"], 5: ["    d = 40"]}
    rewritten = {number: [f"    line{number}()"] for number in (2, 3, 4, 5)}
    assert matched(truth, rewritten) == [("wrap", (0, 1))]
    assert matched(truth, {3: ["    b = 21"], 4: ["    c = 31"]}) == [("wrap", (0,))]
    # A bug of lines 3 and 4 starts outside a block of line 4 alone; the two have lines around them in common.
    assert matched({3: ["    b = 20"], 4: ["    c = 30"]}, {4: ["    c = 31"]}) == [("near", (0,))]


def test_near_blocks_share_unchanged_lines_on_both_sides() -> None:
    # Above line 5: lines 1-4, above line 3: 1-2. Below: 7, 8 (6 is blank) and 4, 5, 7, 8.
    assert matched({3: ["    b = 20"]}, {5: ["    d = 40"]}) == [("near", (0,))]
    # A context ends at the next block of the same script: above line 7 there is line 5 alone, and above the bug 1-2.
    assert matched({3: ["    b = 20"]}, {4: ["    c = 30"], 7: ["    e = 50"]}) == [("near", (0,)), ("spurious", ())]


def test_near_at_the_edges_of_the_file() -> None:
    # Nothing above line 1, and the file's first line above line 3: that is a match. Below: 2-8 and 4-8.
    assert matched({1: ["def f(y):"]}, {3: ["    b = 20"]}) == [("near", (0,))]
    # Likewise nothing below line 8, and the file's last line below line 3.
    assert matched({8: ["    return a"]}, {3: ["    b = 20"]}) == [("near", (0,))]
    # Line 4, all there is above the block of line 5, is not the first.
    assert matched({1: ["def f(y):"]}, {3: ["    b = 20"], 5: ["    d = 40"]}) == [("near", (0,)), ("spurious", ())]
    # Nothing below either: line 8 is the last, and the other is added after it.
    assert matched({8: ["    return a"]}, {8: ["    return x", "    return a"]}) == [("near", (0,))]


def test_an_addition_has_the_line_it_is_made_before_below_it() -> None:
    truth = {2: ["    a = 1", "    extra()"], 5: ["    d = 40"]}
    assert [(block.start, block.following) for block in blocks_of(truth)] == [(3, 3), (5, 6)]
    # Above the block of line 4 there is line 3, since its neighbour is added before that; above the bug of line 5 there
    # are lines 3 and 4 for the same reason.
    assert matched(truth, {2: ["    a = 1", "    other()"], 4: ["    c = 30"]}) == [("wrap", (0,)), ("near", (1,))]


def test_distant_blocks_have_the_same_texts_elsewhere() -> None:
    added = "    x += 1"
    truth = {1: ["def f(x):", added]}
    # Added before line 8 and not before line 2. The block of line 5 keeps their surroundings apart: 7 and 1.
    predicted = {5: ["    d = 40"], 7: ["    e = 5", added]}
    assert matched(truth, predicted) == [("spurious", ()), ("distant", (0,))]
    # Another text is no match: its only claim is made by the block above it, which is near.
    predicted = {5: ["    d = 40"], 7: ["    e = 5", added + "0"]}
    assert matched(truth, predicted) == [("near", (0,)), ("spurious", ())]
    # So is the same text twice: the number of entries differs.
    predicted = {5: ["    d = 40"], 7: ["    e = 5", added, added]}
    assert matched(truth, predicted) == [("near", (0,)), ("spurious", ())]


def test_the_lowest_bug_and_the_lowest_block_come_first() -> None:
    # Line 4 is near both bugs: above it 1-3 (the bugs: 1 and 3-5), below it 5, 7, 8 (the bugs: 3-5 and 8).
    assert matched({2: ["    a = 10"], 7: ["    e = 50"]}, {4: ["    c = 30"]}) == [("near", (1,))]
    # Both blocks are near the bug. The lower one claims it, and leaves nothing to the upper.
    assert matched({4: ["    c = 30"]}, {2: ["    a = 10"], 7: ["    e = 50"]}) == [("spurious", ()), ("near", (0,))]


def test_the_published_code_counts_lines_of_its_own() -> None:
    # The first line is not above a bug: above the bug of line 2 there is nothing, and above line 1 the last line.
    truth, predicted = {2: ["    a = 10"]}, {1: ["def f(y):"]}
    assert matched(truth, predicted) == [("near", (0,))]
    assert matched(truth, predicted, Rules.PUBLISHED_CODE) == [("spurious", ())]


def test_bugs_in_another_file_are_not_wrapped_or_near() -> None:
    buggy = Program({"a.py": BUGGY, "b.py": BUGGY})
    in_a, in_b = (
        blocks(edit_script(buggy, Program({**buggy.files, path: program({3: ["    b = 20"]}).source})))
        for path in buggy.files
    )
    (match,) = match_blocks(in_a, in_b, buggy)
    assert (match.rule, match.bugs) == (Rule.DISTANT, (0,))
    other = blocks(edit_script(buggy, Program({**buggy.files, "b.py": program({3: ["    b = 21"]}).source})))
    (match,) = match_blocks(in_a, other, buggy)
    assert match.rule is Rule.SPURIOUS
    # A file that the repair brings has no lines around its block.
    new = blocks(edit_script(buggy, Program({**buggy.files, "new.py": "x = 1\n"})))
    assert match_blocks(in_a, new, buggy)[0].rule is Rule.SPURIOUS


def test_a_revision_repairs_what_is_not_claimed() -> None:
    buggy = Program.single(BUGGY)
    truth = blocks_of({3: ["    b = 20"], 5: ["    d = 40"]})
    (block,) = blocks_of({2: ["    a = 10"], 3: ["    b = 21"]})
    revised = revision(buggy, truth, block.entries, withheld=(0,))
    assert revised == program({2: ["    a = 10"], 3: ["    b = 21"], 5: ["    d = 40"]})
    assert revision(buggy, truth, (), withheld=(1,)) == program({3: ["    b = 20"]})


@pytest.mark.parametrize("rules", Rules)
def test_on_shared_lines_the_repair_wins(rules: Rules) -> None:
    buggy = Program.single(BUGGY)
    truth = blocks_of({3: ["    b = 20"], 4: ["    c = 30"], 5: ["    d = 40"]})
    (block,) = blocks_of({4: ["    c = 31"]})
    expected = {3: ["    b = 20"], 4: ["    c = 31"], 5: ["    d = 40"]}
    assert revision(buggy, truth, block.entries, withheld=(), rules=rules) == program(expected)


def test_the_published_code_tells_entries_apart_by_line_and_number() -> None:
    # A blank line that becomes code is exact where one is added before it.
    truth, predicted = {5: ["    d = 4", "    e = 4"]}, {6: ["    e = 4"]}
    assert matched(truth, predicted) == [("wrap", (0,))]
    assert matched(truth, predicted, Rules.PUBLISHED_CODE) == [("exact", (0,))]
    # The first of two lines added before line 4 takes the place of what the bug does to line 4, the second does not. It
    # is added first then, and the bug's own edit meets the added line where line 4 was.
    buggy = Program.single(BUGGY)
    bug = blocks_of({4: ["    c = 30"]})
    (block,) = blocks_of({3: ["    b = 2", "    one = 1", "    two = 2"]})
    first, second = (
        revision(
            buggy,
            bug,
            block.entries[at : at + 1],
            withheld=(),
            preceding=block.entries[:at],
            rules=Rules.PUBLISHED_CODE,
        )
        for at in (0, 1)
    )
    assert first == program({4: ["    one = 1", "    c = 3"]})
    assert second == program({4: ["    c = 30", "    c = 3"]})


def test_the_published_code_lets_the_lower_block_win() -> None:
    buggy = Program.single(BUGGY)
    truth = blocks_of({4: ["    c = 30"], 5: ["    d = 40"]})
    (block,) = blocks_of({3: ["    b = 21"], 4: ["    c = 31"]})
    lower = program({3: ["    b = 21"], 4: ["    c = 30"], 5: ["    d = 40"]})
    assert revision(buggy, truth, block.entries, withheld=(), rules=Rules.PUBLISHED_CODE) == lower
    upper = program({3: ["    b = 21"], 4: ["    c = 31"], 5: ["    d = 40"]})
    assert revision(buggy, truth, block.entries, withheld=()) == upper
