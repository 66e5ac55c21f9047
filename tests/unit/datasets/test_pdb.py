"""The Precise Debugging Benchmark's items, on small ones of our own and on the published ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.datasets.registry import read_problem_set
from app.domain.codec import encode
from app.domain.edits.diff import EditType, LineEdit
from app.domain.edits.ground_truth import fault
from app.domain.errors import FormatError, InputError
from app.domain.problems import Bug, CaseTests, ProblemSet

PUBLIC = Path(__file__).parents[3].parent / "shared" / "data" / "pdb"

RIGHT = "class Solution:\n    def twice(self, n):\n        m = n\n        m += n\n        return m"
PROMPT = """Double it.

Example 1:

Input: n = 2
Output: 4

Start the code with
```
class Solution:
    def twice(self, n: int) -> int:
```"""
TESTS = {
    "pdb_task": "7",
    "slug": "double-it",
    "entry_point": "Solution().twice",
    "prompt": "import math\n\ninf = float('inf')\n",
    "test": "def check(candidate):\n    assert candidate(n = 2) == 4\n    assert candidate(5) == 10\n",
    "difficulty": "Easy",
}
MODIFIED = {"type": "Modify", "original": "        m += 1", "modified": "        m += n"}
ITEM = {
    "task_id": "7_0",
    "task_prompt": PROMPT,
    "gt_solution": RIGHT,
    "buggy_code": RIGHT.replace("m += n", "m += 1"),
    "bug_count": 1,
    "bug_type": "algorithm",
    "bug_subtype": "Wrong Math Expression",
    "gt_diff": {"4": MODIFIED},
    "source_model": "some-model",
}


def read(*items: Any, tests: list[dict[str, Any]] | None = None) -> ProblemSet:
    lines = "\n".join(map(json.dumps, [TESTS] if tests is None else tests))
    return read_problem_set(json.dumps(items).encode(), format="pdb", name="own", tests=lines.encode())


def test_an_item() -> None:
    (problem,) = read(ITEM).problems
    assert (problem.key, problem.title, problem.difficulty) == ("7", "double-it", "easy")
    assert (problem.entry_point, problem.signature) == (
        "Solution.twice",
        "class Solution:\n    def twice(self, n: int) -> int:\n",
    )
    assert problem.statement == "Double it.\n\nExample 1:\n\nInput: n = 2\nOutput: 4"
    assert problem.reference.source == RIGHT
    assert isinstance(problem.tests, CaseTests)
    assert [(case.arguments, case.expected, case.visible) for case in problem.tests.cases] == [
        (encode((2,)), encode(4), True),
        (encode((5,)), encode(10), False),
    ]
    assert problem.tests.prelude == TESTS["prompt"]
    (buggy,) = problem.buggy_programs
    assert (buggy.key, buggy.program.source) == ("7_0", ITEM["buggy_code"])
    edit = LineEdit("solution.py", 4, EditType.MODIFY, "        m += 1", "        m += n")
    assert buggy.bugs == (Bug((edit,), "", "Algorithm", "Wrong Math Expression"),)
    assert fault(buggy.program, problem.reference, buggy.truth) is None


def test_lines_with_several_entries() -> None:
    added = {"type": "Add", "original": ""}
    diff = {"3": {**added, "modified": "        m = n"}, "3 ": {**added, "modified": "        m += n"}}
    item = {**ITEM, "buggy_code": RIGHT.replace("        m = n\n        m += n\n", ""), "gt_diff": diff}
    (problem,) = read(item).problems
    (buggy,) = problem.buggy_programs
    assert [(edit.line, edit.modified) for edit in buggy.bugs[0].edits] == [(3, "        m = n"), (3, "        m += n")]
    assert buggy.tolerance == 1
    assert fault(buggy.program, problem.reference, buggy.truth) is None


def test_items_of_a_task_are_its_buggy_programs() -> None:
    rewritten = RIGHT.replace("m", "k")
    other = {**ITEM, "task_id": "7_2", "gt_solution": rewritten, "buggy_code": RIGHT, "gt_diff": {}}
    problem_set = read(ITEM, {**ITEM, "task_id": "7_1"}, other)
    # Another correct program makes a problem of its own. An item whose edits are not as many as its bugs is left out.
    assert [(one.key, [buggy.key for buggy in one.buggy_programs]) for one in problem_set.problems] == [
        ("7", ["7_0", "7_1"]),
        ("7/2", []),
    ]
    assert problem_set.left_out == (("7/2/7_2", "gt_diff has 0 blocks of edits, and bug_count says 1"),)


def test_items_without_tests_are_left_out() -> None:
    problem_set = read(ITEM, {**ITEM, "task_id": "8_0"})
    assert len(problem_set.problems) == 1
    assert problem_set.left_out == (("8_0", "the tests hold none of its task '8'"),)


def test_words_that_are_no_label_describe_the_bug() -> None:
    (problem,) = read({**ITEM, "bug_subtype": "Swapped Signs"}).problems
    assert problem.buggy_programs[0].bugs[0].description == "algorithm / Swapped Signs"
    assert problem.buggy_programs[0].bugs[0].odc_subclass == "Other"
    (problem,) = read({name: value for name, value in ITEM.items() if not name.startswith("bug_t")}).problems
    assert problem.buggy_programs[0].bugs[0].odc_class is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gt_diff": {"x": MODIFIED}}, "gt_diff 'x': an entry needs a line from 1, and the type"),
        ({"gt_diff": {"4": {**MODIFIED, "type": "Move"}}}, "gt_diff '4': an entry needs a line from 1, and the type"),
        ({"gt_diff": {"4": {"type": "Add"}}}, "gt_diff '4': field 'original' is missing"),
        ({"gt_diff": None}, "field 'gt_diff' must be an object, not null"),
        ({"task_prompt": "Double it."}, "task_prompt does not end with the code to start with"),
        ({"gt_solution": "class"}, "gt_solution is not valid Python"),
        ({"bug_count": "1"}, "field 'bug_count' must be an integer, not a string"),
    ],
)
def test_wrong_items(change: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=f"^problem '7_0'(, |: ){message}"):
        read({**ITEM, **change})


def test_wrong_files() -> None:
    with pytest.raises(FormatError, match="this task_id appears twice"):
        read(ITEM, ITEM)
    with pytest.raises(FormatError, match="expected an array of objects, not an object"):
        read_problem_set(b"{}", format="pdb", name="own", tests=json.dumps(TESTS).encode())
    with pytest.raises(FormatError, match="expected an array of objects"):
        read(1)
    with pytest.raises(FormatError, match="the array holds no item"):
        read()
    for broken in (b"", b"\xff\xfe{", b"\x1f\x8b\x08", b"[NaN]", b"[" * 100_000):
        with pytest.raises(FormatError):
            read_problem_set(broken, format="pdb", name="own", tests=json.dumps(TESTS).encode())
        with pytest.raises(FormatError):
            read_problem_set(json.dumps([ITEM]).encode(), format="pdb", name="own", tests=broken)
    with pytest.raises(InputError, match="tests: pdb files hold no tests; give the file that has them"):
        read_problem_set(b"[]", format="pdb", name="own")
    with pytest.raises(InputError, match="tests: native files hold their tests themselves"):
        read_problem_set(b"{}", format="native", name="own", tests=b"")


@pytest.mark.shared_data
@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public data folder is not beside the repository")
def test_the_published_items() -> None:
    items, tests = (
        (PUBLIC / name).read_bytes()
        for name in ("livecodebench_pdb_multi_part.json.gz", "livecodebench_tests_part.jsonl.gz")
    )
    problem_set = read_problem_set(items, format="pdb", name="pdb", tests=tests)
    assert (problem_set.licence, problem_set.notes, problem_set.left_out) == ("MIT", (), ())
    assert len(problem_set.problems) == 10
    programs = [(problem, buggy) for problem in problem_set.problems for buggy in problem.buggy_programs]
    assert len(programs) == 80
    assert [fault(buggy.program, problem.reference, buggy.truth) for problem, buggy in programs] == [None] * 80
    assert {buggy.tolerance for _, buggy in programs} == {1}
    # By their number of bugs: 34, 26 and 20 items.
    assert [sum(len(buggy.bugs) == count for _, buggy in programs) for count in (1, 2, 3)] == [34, 26, 20]
