"""The search for the shortest slice that does a block's work."""

import ast
from collections.abc import Iterator, Sequence

from app.domain.edits.blocks import blocks
from app.domain.edits.diff import edit_script
from app.domain.edits.essential import essential_size, reading
from app.domain.edits.matching import Rules, match_blocks
from app.domain.programs import Program

BUGGY = Program.single("def f(x):\n    a = x\n    return a\n")
RIGHT = Program.single("def f(x):\n    a = x + 1\n    return a\n")
# Lines 2 and 3 become five: Modify 2, Modify 3, and three added at the end.
REPAIR = Program.single("def f(x):\n    b = x\n    if b:\n        b = b + 1\n    return b\n")


class Judge:
    """Passes the programs whose source satisfies a condition, and remembers what it was asked and how far it got."""

    def __init__(self, *passing: int) -> None:
        self.asked: list[Program] = []
        self.read = 0
        self._passing = passing

    def __call__(self, programs: Sequence[Program]) -> Iterator[bool]:
        self.asked = list(programs)
        for index in range(len(programs)):
            self.read += 1
            yield index in self._passing


def size(judge: Judge, limit: int, repair: Program = REPAIR, rules: Rules = Rules.PAPER) -> int | None:
    truth = blocks(edit_script(BUGGY, RIGHT))
    (match,) = match_blocks(truth, blocks(edit_script(BUGGY, repair)), BUGGY)
    return essential_size(BUGGY, truth, match, judge, limit=limit, rules=rules)


def test_slices_grow_and_the_first_that_passes_ends_the_search() -> None:
    repair = Program.single("def f(x):\n    a = x\n    a += 1\n    a += 0\n    a += 0\n    return a\n")
    # Three entries, all added before line 3: slices of one, then of two.
    added = ["    a += 1\n", "    a += 0\n"]
    one, two, first_two, last_two = added[0], added[1], added[0] + added[1], added[1] * 2
    expected = [f"def f(x):\n    a = x\n{new}    return a\n" for new in (one, two, first_two, last_two)]  # two once
    judge = Judge(2, 3)
    assert size(judge, limit=3, repair=repair) == 2
    assert [program.source for program in judge.asked] == expected
    # The third answer decided, and nobody waited for the fourth.
    assert judge.read == 3
    # The limit is a length that needs no test.
    judge = Judge()
    assert size(judge, limit=2, repair=repair) is None
    assert [program.source for program in judge.asked] == expected[:2]
    # Nor does the whole block.
    judge = Judge()
    assert size(judge, limit=99, repair=repair) is None
    assert len(judge.asked) == 4


def test_what_does_not_parse_is_not_run() -> None:
    judge = Judge()
    assert size(judge, limit=99) is None
    for program in judge.asked:
        ast.parse(program.source)
    # "if b:" without its body is among the slices.
    entries = edit_script(BUGGY, REPAIR)
    assert 0 < len(judge.asked) < sum(len(entries) - length + 1 for length in range(1, len(entries)))


def test_a_block_in_the_grammar_of_another_python_is_searched_whole() -> None:
    # No Python reads it, as this one cannot read what a newer one runs.
    repair = Program.single(REPAIR.source.replace("if b:", "if b then:").replace("        b = b + 1\n", ""))
    assert len(edit_script(BUGGY, repair)) == 3
    judge = Judge()
    assert size(judge, limit=99, repair=repair) is None
    assert len(judge.asked) == 3 + 2  # slices of one entry, and of two


def test_ground_truth_of_claimed_bugs_is_withheld() -> None:
    repair = Program.single("def f(x):\n    a = x\n    pass\n    a += 1\n    return a\n")
    judge = Judge()
    size(judge, limit=2, repair=repair)
    assert [program.source.split("\n")[1] for program in judge.asked] == ["    a = x"] * 2
    # The published code repairs it, so that a slice needs to do no good.
    judge = Judge()
    size(judge, limit=2, repair=repair, rules=Rules.PUBLISHED_CODE)
    assert [program.source.split("\n")[1] for program in judge.asked] == ["    a = x + 1"] * 2


def test_slices_that_differ_in_layout_and_comments_alone_are_run_once() -> None:
    repair = Program.single("def f(x):  # f\n    a = (x+1) # more\n    return a # at last\n")
    judge = Judge()
    assert size(judge, limit=99, repair=repair) is None
    # Slices of one entry: a comment, the repair, a comment again; of two: either comment with the repair.
    assert [program.source for program in judge.asked] == [
        "def f(x):  # f\n    a = x\n    return a\n",
        "def f(x):\n    a = (x+1) # more\n    return a\n",
    ]
    judge = Judge(1)
    assert size(judge, limit=99, repair=repair) == 1


def test_what_a_program_reads_as() -> None:
    assert reading(Program.single("x = '\\d'\n")) is not None
    for wrong in ("x = (\n", "x = '\0'\n", "x = '\ud800'\n", "(" * 1000):
        assert reading(Program.single(wrong)) is None
    assert reading(Program({"a.py": "x = 1\n", "b.py": "def"})) is None

    def same(one: str, other: str, path: str = "a.py") -> bool:
        return reading(Program({path: one})) == reading(Program({path: other}))

    assert same("x = 1\n", "x=(1)  # one\n\n")
    assert not same("x = 1\n", "x = 1.0\n")
    assert not same('def f():\n    "a"\n', 'def f():\n    "b"\n')
    assert not same("def", "def ", path="README")
    # Trees too deep to be looked at, the second of which Python runs all the same.
    for terms in (100_000, 1000):
        long = "x = " + "+".join(["1"] * terms) + "\n"
        assert reading(Program.single(long)) is not None
        assert same(long, long)
        assert not same(long, long.replace("1", "2", 1))
