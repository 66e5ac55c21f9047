"""Precision, recall and F1 of repairs, derived by hand and judged by running them."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.domain.edits.blocks import Block, blocks
from app.domain.edits.diff import edit_script
from app.domain.edits.matching import Rule, Rules, revision
from app.domain.metrics.precision import PrecisionScore, score_repair
from app.domain.programs import Program

PUBLIC = Path(__file__).parents[4].parent / "shared" / "data" / "pdb" / "livecodebench_pdb_multi_part.json.gz"

RIGHT = """def mean(numbers):
    total = 0
    for number in numbers:
        total += number
    count = len(numbers)
    if count == 0:
        return None
    return total / count
"""
ONE_BUG = RIGHT.replace("total += number", "total = number")
TWO_BUGS = ONE_BUG.replace("count == 0", "count == 1")


def passes(programs: Sequence[Program]) -> list[bool]:
    return [_passes(program.source) for program in programs]


def _passes(source: str) -> bool:
    names: dict[str, Any] = {}
    try:
        exec(source, names)  # noqa: S102 - the programs are ours
        mean = names["mean"]
        return mean([2, 4]) == 3 and mean([]) is None and mean([1]) == 1
    except Exception:  # noqa: BLE001 - whatever it raises, it has failed
        return False


def truth_of(buggy: str) -> tuple[Block, ...]:
    return blocks(edit_script(Program.single(buggy), Program.single(RIGHT)))


def score(buggy: str, repaired: str, epsilon: int = 2, rules: Rules = Rules.PAPER) -> PrecisionScore:
    return score_repair(
        Program.single(buggy), truth_of(buggy), Program.single(repaired), passes, epsilon=epsilon, rules=rules
    )


def figures(found: PrecisionScore) -> tuple[float, float, float, bool]:
    return found.precision, found.recall, found.f1, found.unit_pass


@pytest.mark.parametrize("rules", Rules)
def test_the_ground_truth_is_precise_and_complete(rules: Rules) -> None:
    found = score(TWO_BUGS, RIGHT, rules=rules)
    assert figures(found) == (1.0, 1.0, 1.0, True)
    assert [(bug.rule, bug.block, bug.essential, bug.credit) for bug in found.bugs] == [
        (Rule.EXACT, 0, 1, 1),
        (Rule.EXACT, 1, 1, 1),
    ]


@pytest.mark.parametrize("repaired", [TWO_BUGS, TWO_BUGS + "\n\n", TWO_BUGS.replace("\n", "  \r\n")])
def test_no_change_scores_nothing(repaired: str) -> None:
    found = score(TWO_BUGS, repaired)
    assert figures(found) == (0.0, 0.0, 0.0, False)
    assert (found.edits, found.blocks) == (0, ())
    assert [(bug.rule, bug.fixed) for bug in found.bugs] == [(None, False)] * 2


def test_an_empty_program_fixes_nothing() -> None:
    # Eight deletions, one block, which wraps both bugs.
    found = score(TWO_BUGS, "")
    assert figures(found) == (0.0, 0.0, 0.0, False)
    assert [(bug.rule, bug.fixed) for bug in found.bugs] == [(Rule.WRAP, False)] * 2


def test_a_part_of_the_bugs() -> None:
    # One of two bugs by its own edit: precision 1/1, recall 1/2, F1 = 2 · 1 · ½ / 1½ = 2/3.
    found = score(TWO_BUGS, TWO_BUGS.replace("total = number", "total += number"))
    assert figures(found) == (1.0, 0.5, pytest.approx(2 / 3), False)
    assert [bug.fixed for bug in found.bugs] == [True, False]


# Both lines of the loop, with another name: neither works without the other.
RENAMED = ONE_BUG.replace("for number in", "for value in").replace("total = number", "total += value")


def test_what_a_fix_needs_counts_up_to_epsilon_beyond_the_ground_truth() -> None:
    # Σ|E| = 1. Essential: neither entry passes alone, so both. Credit: min(2, 1 + ε).
    for epsilon, credit in ((2, 2), (1, 2), (0, 1)):
        found = score(ONE_BUG, RENAMED, epsilon)
        assert figures(found)[:2] == (credit / 2, 1.0)
        (block,) = found.blocks
        assert (block.rule, block.size, block.essential, block.credit) == (Rule.WRAP, 2, 2, credit)


def test_three_lines_where_one_suffices() -> None:
    repaired = (
        ONE_BUG.replace("for number in numbers", "for number in list(numbers)")
        .replace("total = number", "total = total + number")
        .replace("len(numbers)", "len(list(numbers))")
    )
    found = score(ONE_BUG, repaired)
    # The middle entry alone passes: essential 1, credit min(1, 1 + 2) = 1 of three entries.
    assert (found.precision, found.recall, found.bugs[0].essential) == (pytest.approx(1 / 3), 1.0, 1)


def test_defensive_extras_are_not_essential() -> None:
    fixed = "        total = total + number\n        if total is None:\n            total = 0"
    found = score(ONE_BUG, ONE_BUG.replace("        total = number", fixed))
    assert (found.edits, found.bugs[0].essential, found.bugs[0].rule) == (3, 1, Rule.WRAP)
    assert (found.precision, found.recall) == (pytest.approx(1 / 3), 1.0)


def test_harmless_slices_pass_under_the_published_code_alone() -> None:
    repaired = ONE_BUG.replace("for number in numbers", "for index, number in enumerate(numbers)")
    repaired = repaired.replace("total = number", "total += numbers[index]")
    # Neither entry fixes the bug alone. Essential 2, credit min(2, 1 + 2) = 2 of 2.
    assert score(ONE_BUG, repaired).precision == 1.0
    # There the bug is repaired anyway, so that the new loop passes: nothing beyond |E| = 1 is credited, 1 of 2.
    found = score(ONE_BUG, repaired, rules=Rules.PUBLISHED_CODE)
    assert (found.precision, found.recall, found.bugs[0].credit) == (0.5, 1.0, 1)
    # And where no slice passes, |E| and what exceeds it, up to ε: 1 + min(2, 2 − 1) = 2 of 2.
    assert score(ONE_BUG, RENAMED, rules=Rules.PUBLISHED_CODE).precision == 1.0
    assert score(ONE_BUG, RENAMED, epsilon=0, rules=Rules.PUBLISHED_CODE).precision == 0.5


def test_several_bugs_claimed_by_one_block() -> None:
    repaired = (
        TWO_BUGS.replace("total = number", "total = total + number")
        .replace("len(numbers)", "len(list(numbers))")
        .replace("count == 1", "not count")
    )
    # Lines 4-6 are one block of three entries and claim both bugs, Σ|E| = 2. Both of its ends are needed, and with them
    # the middle: no slice of one or two passes. Credit min(3, 2 + 2ε).
    for epsilon, credit in ((1, 3), (0, 2)):
        found = score(TWO_BUGS, repaired, epsilon)
        assert (found.precision, found.recall) == (credit / 3, 1.0)
        assert [(bug.block, bug.rule, bug.credit) for bug in found.bugs] == [(0, Rule.WRAP, credit / 2)] * 2
    # They are fixed together or not at all.
    found = score(TWO_BUGS, repaired.replace("not count", "count < 0"))
    assert (found.precision, found.recall) == (0.0, 0.0)


def test_a_spurious_block_costs_precision() -> None:
    repaired = RIGHT.replace("total = 0", "total = 0.0")
    found = score(ONE_BUG, repaired)
    # The bug's own edit, and one more entry.
    assert (found.precision, found.recall) == (0.5, 1.0)
    assert [(block.rule, block.fixed, block.credit) for block in found.blocks] == [
        (Rule.SPURIOUS, False, 0),
        (Rule.EXACT, True, 1),
    ]


def test_near_and_distant_fixes_are_verified() -> None:
    # Another line, after the loop: near, and right.
    found = score(ONE_BUG, ONE_BUG.replace("    count =", "    total = sum(numbers)\n    count ="))
    assert (found.bugs[0].rule, figures(found)) == (Rule.NEAR, (1.0, 1.0, 1.0, True))
    # Near, and wrong.
    found = score(ONE_BUG, ONE_BUG.replace("    count =", "    total = max(numbers)\n    count ="))
    assert (found.bugs[0].rule, figures(found)) == (Rule.NEAR, (0.0, 0.0, 0.0, False))

    # A line is missing at the top; a repair has it at the bottom, with another change between.
    right = "def mean(numbers):\n    extra = 0\n    a = 1\n    b = 2\n    c = 3\n    return extra\n"
    buggy, repaired = right.replace("    extra = 0\n", ""), "def mean(numbers):\n    a = 1\n    b = 3\n    c = 3\n"
    found = score_repair(
        Program.single(buggy),
        blocks(edit_script(Program.single(buggy), Program.single(right))),
        Program.single(repaired + "    extra = 0\n    return extra\n"),
        lambda programs: ["    extra = 0\n" in program.source for program in programs],
        epsilon=2,
    )
    assert [block.rule for block in found.blocks] == [Rule.SPURIOUS, Rule.DISTANT]
    assert (found.precision, found.recall) == (0.5, 1.0)


def test_a_claim_uses_its_bugs_up() -> None:
    # The last line is near the bug and claims it first, fixing nothing. What fixes it, in line 2, is near it too, and
    # finds no bug left.
    first = "    if numbers:\n        return sum(numbers) / len(numbers)\n    total = 0"
    repaired = ONE_BUG.replace("    total = 0", first).replace("total / count", "float(total / count)")
    found = score(ONE_BUG, repaired)
    assert [block.rule for block in found.blocks] == [Rule.SPURIOUS, Rule.NEAR]
    assert figures(found) == (0.0, 0.0, 0.0, True)
    # Without the last line: two entries, both needed.
    found = score(ONE_BUG, ONE_BUG.replace("    total = 0", first))
    assert (found.precision, found.recall, found.bugs[0].essential) == (1.0, 1.0, 2)


@pytest.mark.parametrize("broken", ["def mean(numbers:\n", "x = '\0'\n", "    return\n"])
def test_a_repair_with_a_syntax_error_fixes_nothing_but_what_is_exact(broken: str) -> None:
    found = score(TWO_BUGS, broken)
    assert figures(found) == (0.0, 0.0, 0.0, False)
    # A line that does not parse, far from a bug repaired to the letter.
    found = score(TWO_BUGS, TWO_BUGS.replace("total = number", "total += number").replace("total / count", "total /"))
    assert (found.precision, found.recall, found.unit_pass) == (0.5, 0.5, False)


def test_a_rewrite_finds_every_bug_and_is_not_precise() -> None:
    lines = [f"    step_{number} = numbers" for number in range(30)]
    buggy = "\n".join(["def mean(numbers):", *lines, *ONE_BUG.split("\n")[1:]])
    right = "\n".join(["def mean(numbers):", *lines, *RIGHT.split("\n")[1:]])
    rewritten = "\n".join(
        [
            "def mean(numbers):",
            *(f"{line}  # kept" for line in lines),
            *(f"{line}  # kept" for line in RIGHT.split("\n")[1:]),
        ]
    )
    found = score_repair(
        Program.single(buggy),
        blocks(edit_script(Program.single(buggy), Program.single(right))),
        Program.single(rewritten),
        passes,
        epsilon=2,
    )
    # 30 + 7 lines and a comment at the end are changed; the line of the bug alone would have done.
    assert found.unit_pass
    assert (found.recall, found.bugs[0].essential) == (1.0, 1)
    assert found.precision == pytest.approx(1 / found.edits)
    assert found.edits >= 37


def test_bugs_in_several_files() -> None:
    right = Program({"a.py": "x = 1\ny = 1\n", "b.py": "x = 2\ny = 2\n"})
    buggy = Program({"a.py": "x = 0\ny = 1\n", "b.py": "x = 0\ny = 2\n"})

    def judge(programs: Sequence[Program]) -> list[bool]:
        return ["x = 1" in one.files["a.py"] and "x = 2" in one.files["b.py"] for one in programs]

    truth = blocks(edit_script(buggy, right))
    half = Program({**buggy.files, "b.py": "x = 2  # two\ny = 2\n"})
    found = score_repair(buggy, truth, half, judge, epsilon=2)
    assert [(bug.rule, bug.fixed) for bug in found.bugs] == [(None, False), (Rule.WRAP, True)]
    assert figures(found)[:2] == (1.0, 0.5)
    assert score_repair(buggy, truth, right, judge, epsilon=2).f1 == 1.0


LINES = st.lists(st.sampled_from(["a = 1", "a = 2", "b = 1", "b = 2", "", "c = 1", "d = 1"]), max_size=9)


@pytest.mark.parametrize("rules", Rules)
@given(buggy=LINES, right=LINES, repaired=LINES, share=st.integers(0, 16))
def test_whatever_is_scored(rules: Rules, buggy: list[str], right: list[str], repaired: list[str], share: int) -> None:
    """Figures stay within their ranges, credits add up, each bug is claimed once, and a larger ε costs nothing."""
    before, correct, after = (Program.single("".join(f"{line}\n" for line in one)) for one in (buggy, right, repaired))
    truth = blocks(edit_script(before, correct))
    assume(truth)

    def judge(programs: Sequence[Program]) -> list[bool]:
        return [int(program.content_hash()[0], 16) < share for program in programs]

    last = 0.0
    for epsilon in range(4):
        found = score_repair(before, truth, after, judge, epsilon=epsilon, rules=rules)
        assert 0 <= found.precision <= 1
        assert found.recall == sum(bug.fixed for bug in found.bugs) / len(truth)
        credit = sum(bug.credit for bug in found.bugs)
        assert found.precision == (pytest.approx(min(1, credit / found.edits)) if found.edits else 0)
        claimed = [bug for block in found.blocks for bug in block.bugs]
        assert sorted(claimed) == [index for index, bug in enumerate(found.bugs) if bug.block is not None]
        assert found.edits == sum(block.size for block in found.blocks) == len(edit_script(before, after))
        if rules is Rules.PAPER:
            assert found.precision >= last - 1e-12
            last = found.precision


def test_a_program_without_bugs_is_refused() -> None:
    with pytest.raises(ValueError, match="no precision or recall"):
        score_repair(Program.single(RIGHT), (), Program.single(RIGHT), passes, epsilon=2)


@pytest.mark.shared_data
@pytest.mark.skipif(not PUBLIC.exists(), reason="the public data folder is not beside the repository")
@pytest.mark.parametrize("rules", Rules)
def test_every_public_item(rules: Rules) -> None:
    items: list[dict[str, Any]] = json.loads(gzip.decompress(PUBLIC.read_bytes()))
    for item in items:
        buggy, right = Program.single(item["buggy_code"]), Program.single(item["gt_solution"])
        truth = blocks(edit_script(buggy, right))

        def judge(programs: Sequence[Program], right: Program = right) -> list[bool]:
            return [edit_script(program, right) == () for program in programs]

        repaired = score_repair(buggy, truth, right, judge, epsilon=1, rules=rules)
        assert figures(repaired) == (1.0, 1.0, 1.0, True)
        assert figures(score_repair(buggy, truth, buggy, judge, epsilon=1, rules=rules)) == (0.0, 0.0, 0.0, False)
        for bug, block in enumerate(truth):
            others = [one for one in range(len(truth)) if one != bug]
            part = revision(buggy, truth, block.entries, withheld=others)
            assert figures(score_repair(buggy, truth, part, judge, epsilon=1, rules=rules))[:2] == (1.0, 1 / len(truth))
