"""LeetCodeDataset's format, on small problems of our own and on the published ones."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from app.datasets.registry import read_problem_set
from app.domain.codec import encode
from app.domain.errors import FormatError
from app.domain.problems import AssertTests, Case, CaseTests, Limits, Problem, ProblemSet

PUBLISHED = Path(__file__).parents[3].parent / "shared" / "data" / "iterative" / "LeetCodeDataset-v0.3.1-test.jsonl.gz"

PROMPT = "from typing import *\n\ninf = float('inf')\n\ndef tree_node(values: list):\n    return values\n"
SCALE = {
    "task_id": "scale",
    "difficulty": "Easy",
    "problem_description": "Scale.\nExample 1:\n\nInput: nums = [1,2], by = 3\nOutput: [3,6]\n\nExample 2:\n\n"
    "Input: nums = [], by = null\nOutput: []\n",
    "starter_code": "class Solution:\n    def scale(self, nums: List[int], by: int) -> List[int]:\n        ",
    "prompt": PROMPT,
    "completion": "class Solution:\n    def scale(self, nums, by):\n        return [num * by for num in nums]\n",
    "entry_point": "Solution().scale",
    "test": "def check(candidate):\n    assert candidate(nums = [1, 2],by = 3) == [3, 6]\n"
    "    assert candidate(by = inf, nums = [5]) == [inf]\n    assert candidate([],by = None) == []\n",
}


def read(*records: dict[str, Any]) -> ProblemSet:
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    return read_problem_set(data, format="leetcode", name="own")


def read_one(**changes: Any) -> Problem:
    (problem,) = read({**SCALE, **changes}).problems
    return problem


def test_named_arguments_take_the_order_of_the_starter_code() -> None:
    problem_set = read(SCALE)
    assert (problem_set.format, problem_set.licence, problem_set.notes) == ("leetcode", "unknown", ())
    (problem,) = problem_set.problems
    assert (problem.key, problem.difficulty, problem.entry_point) == ("scale", "easy", "Solution.scale")
    assert problem.signature == SCALE["starter_code"].rstrip() + "\n"
    assert problem.statement == SCALE["problem_description"].strip()
    assert problem.reference.source == SCALE["completion"]
    assert problem.tests == CaseTests(
        (
            # The two inputs of the examples have been seen.
            Case(encode(([1, 2], 3)), encode([3, 6]), visible=True),
            Case(encode(([5], math.inf)), encode([math.inf])),
            Case(encode(([], None)), encode([]), visible=True),
        ),
        prelude=PROMPT,
    )


def test_trees_are_built_where_the_program_runs() -> None:
    test = "def check(candidate):\n    assert candidate(nums = tree_node([1, None, 2]),by = 3) == 6\n"
    tests = read_one(test=test).tests
    assert isinstance(tests, CaseTests)
    assert tests.cases == (Case(encode(([1, None, 2], 3)), encode(6)),)
    names: dict[str, Any] = {}
    # Our own prompt and program; the tree is a list in them.
    exec(f"{tests.prelude}\n{SCALE['completion']}", names)  # noqa: S102
    assert names[tests.called]([2], 3) == [6]
    assert "Solution().scale(tree_node(arguments[0]), arguments[1])" in tests.prelude


@pytest.mark.parametrize(
    ("call", "obstacle"),
    [
        ("candidate(nums = [1])", "arguments other than nums, by"),
        ("candidate(nums = [1], by = 2, at = 3)", "arguments other than nums, by"),
        ("candidate([1], nums = [1])", "arguments other than nums, by"),
        ("candidate(nums = [tree_node([1])], by = 2)", "the expression tree_node([1])"),
        ("candidate(nums = tree_node([1]), by = 2) == 1\n    assert candidate(nums = [1], by = 2)", "nodes and plain"),
    ],
)
def test_other_calls_stay_code_with_the_prelude(call: str, obstacle: str) -> None:
    test = f"def check(candidate):\n    assert {call} == 1\n"
    problem_set = read({**SCALE, "test": test})
    assert problem_set.problems[0].tests == AssertTests(test, prelude=PROMPT)
    assert problem_set.notes[0].startswith(f"scale: tests kept as code, because of {obstacle}")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"entry_point": "scale"}, r"entry_point 'scale' is not of the form Solution\(\)\.method"),
        ({"entry_point": "Solution().other"}, r"entry_point 'Solution\(\)\.other' is not defined by starter_code"),
        ({"starter_code": "class Solution"}, "starter_code is not valid Python"),
        ({"prompt": "import ("}, "prompt is not valid Python"),
        ({"completion": "class ("}, "completion is not valid Python"),
        ({"test": "def other():\n    pass"}, r"test does not define check\(candidate\)"),
        (
            {"test": f"def check(candidate):\n    assert candidate([1], 2) == 1{'+1' * 2_000}\n"},
            "its code is nested too deep",
        ),
        ({"difficulty": None}, "field 'difficulty' must be a string, not null"),
        ({"task_id": "scale"}, "task_id 'scale' was already used in line 1"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(FormatError, match=f"^line 2: {reason}"):
        read(SCALE, {**SCALE, "task_id": "other", **changes})


@pytest.mark.shared_data
def test_the_published_problems() -> None:
    if not PUBLISHED.is_file():
        pytest.skip("the public data folder is not beside the repository: ../shared/data/iterative is missing")
    problem_set = read_problem_set(PUBLISHED.read_bytes(), format="leetcode", name="leetcode")
    assert (len(problem_set.problems), problem_set.licence) == (228, "MIT")
    tests = {problem.key: problem.tests for problem in problem_set.problems}
    cases = {key: of_one for key, of_one in tests.items() if isinstance(of_one, CaseTests)}
    assert cases.keys() == tests.keys()
    # One case for each assert of the file: 23,159 on plain values and 75 on trees.
    assert sum(len(of_one.cases) for of_one in cases.values()) == 23_159 + 75
    trees = [key for key, of_one in cases.items() if of_one.called is not None]
    assert trees == ["k-th-largest-perfect-subtree-size-in-binary-tree"]
    # Examples of the statement are among the tests in all problems but these two.
    assert [key for key, of_one in cases.items() if not any(case.visible for case in of_one.cases)] == [
        "final-array-state-after-k-multiplication-operations-ii",
        "count-the-number-of-arrays-with-k-matching-adjacent-elements",
    ]
    assert problem_set.notes == ()
    assert all(problem.limits != Limits() for problem in problem_set.problems)
