"""MBPP in HumanEval's form, on small problems of our own and on the published ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.datasets.registry import read_problem_set
from app.domain.codec import encode
from app.domain.errors import FormatError
from app.domain.problems import AssertTests, Case, CaseTests, Problem, ProblemSet

PUBLISHED = Path(__file__).parents[3].parent / "shared" / "data" / "mbpp" / "mbpp500.jsonl.gz"

DOUBLE = {
    "task_id": "Own/0",
    "prompt": 'def double(x): \n    """\n    Write a function to double.\n    """\n',
    "entry_point": "double",
    "test": "\ndef check(candidate):\n    assert double(2) == 4\n    assert double(-1) == -2 \ncheck(double)\n",
    "given_tests": ["assert double(2) == 4"],
    "canonical_solution": "def double(x): \n    return 2 * x",
}


def read(*records: dict[str, Any]) -> ProblemSet:
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    return read_problem_set(data, format="mbpp", name="own")


def read_one(**changes: Any) -> Problem:
    (problem,) = read({**DOUBLE, **changes}).problems
    return problem


def test_asserts_become_cases_and_the_given_one_is_visible() -> None:
    problem_set = read(DOUBLE)
    assert (problem_set.format, problem_set.licence, problem_set.source, problem_set.notes) == (
        "mbpp",
        "unknown",
        "",
        (),
    )
    (problem,) = problem_set.problems
    assert (problem.key, problem.title, problem.entry_point) == ("Own/0", "double", "double")
    assert problem.tests == CaseTests((Case(encode((2,)), encode(4), visible=True), Case(encode((-1,)), encode(-2))))
    assert problem.signature == DOUBLE["prompt"]
    assert problem.statement == "It must pass this test:\n\n```python\nassert double(2) == 4\n```"
    assert problem.reference.source == DOUBLE["canonical_solution"]


def test_the_function_under_test_is_the_one_the_asserts_call() -> None:
    problem_set = read(
        {**DOUBLE, "entry_point": "half", "prompt": 'def half(x):\n    """Write a function to double."""\n'}
    )
    (problem,) = problem_set.problems
    assert (problem.title, problem.entry_point) == ("double", "double")
    assert problem.signature == 'def double(x):\n    """\n    Write a function to double.\n    """\n'
    assert problem_set.notes == ("Own/0: the tests call double, not the entry point half",)


def test_a_function_may_be_called_check() -> None:
    changes = {
        name: DOUBLE[name].replace("double", "check") for name in ("prompt", "entry_point", "canonical_solution")
    }  # type: ignore[attr-defined]
    test = "def check(candidate):\n    assert check(2) == 4\n    assert check(-1) == -2\ncheck(check)\n"
    problem = read_one(**changes, test=test, given_tests=["assert check(2) == 4"])
    assert problem.entry_point == "check"
    assert problem.tests == CaseTests((Case(encode((2,)), encode(4), visible=True), Case(encode((-1,)), encode(-2))))
    # Where it cannot become cases, the test must still be able to tell the two apart.
    kept = read_one(**changes, test=test.replace("== 4", "> 3"), given_tests=[]).tests
    assert kept == AssertTests("def check(candidate):\n    assert candidate(2) > 3\n    assert candidate(-1) == -2\n")


def test_tests_that_are_more_than_calls_stay_code_without_their_own_call() -> None:
    solution = "class Box:\n    def __init__(self, x):\n        self.x = x\ndef double(box):\n    return 2 * box.x"
    test = "box = Box(2)\ndef check(candidate):\n    assert double(box) == 4\ncheck(double)\n"
    problem_set = read(
        {**DOUBLE, "test": test, "canonical_solution": solution, "given_tests": ["assert double(box) == 4"]}
    )
    (problem,) = problem_set.problems
    assert problem.tests == AssertTests(
        "box = Box(2)\ndef check(candidate):\n    assert double(box) == 4\n", visible=("assert double(box) == 4",)
    )
    # The tests build a Box, so that the model must know of it.
    assert problem.signature == solution.partition("def double")[0] + "\n" + str(DOUBLE["prompt"])
    assert problem_set.notes == ("Own/0: tests kept as code, because of the statement `box = Box(2)` beside check",)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"test": "assert double(2) == 4"}, r"test does not define check\(candidate\)"),
        ({"test": "def check(candidate)"}, "test is not valid Python: expected ':'"),
        (
            {"test": "def check(candidate):\n    assert triple(2) == 6"},
            "the tests must call one function of canonical_solution, not none",
        ),
        (
            {"canonical_solution": "def double(x):\n    return 2 * x\ndef id(x):\n    return x"}
            | {"test": "def check(candidate):\n    assert double(2) == id(4)"},
            "the tests must call one function of canonical_solution, not double, id",
        ),
        ({"entry_point": "x", "prompt": "def other(x):\n    pass"}, "the prompt is no function with a docstring"),
        ({"given_tests": "assert double(2) == 4"}, "field 'given_tests' must be an array, not a string"),
        (
            {"test": f"def check(candidate):\n    assert double(2) == 1{'+1' * 2_000}\n"},
            "its code is nested too deep",
        ),
        ({"given_tests": ["assert double("]}, "given_tests is not valid Python"),
        ({"task_id": "Own/0"}, "task_id 'Own/0' was already used in line 1"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(FormatError, match=f"^line 2: {reason}"):
        read(DOUBLE, {**DOUBLE, "task_id": "Own/1", **changes})


# The tests of 124 pass a complex number, those of 367 build trees of the program's own Node.
UNCONVERTED = ["MBPP/124", "MBPP/367"]
OTHER_FUNCTION = [18, 30, 45, 56, 70, 148, 151, 152, 164, 181, 323, 338, 348, 364, 367, 466, 485, 486, 501]


@pytest.mark.shared_data
def test_the_published_problems() -> None:
    if not PUBLISHED.is_file():
        pytest.skip("the public data folder is not beside the repository: ../shared/data/mbpp is missing")
    problem_set = read_problem_set(PUBLISHED.read_bytes(), format="mbpp", name="mbpp")
    assert (len(problem_set.problems), problem_set.licence) == (500, "CC-BY-4.0")
    assert [one.key for one in problem_set.problems if isinstance(one.tests, AssertTests)] == UNCONVERTED
    noted = [note for note in problem_set.notes if "not the entry point" in note]
    assert [note.partition(":")[0] for note in noted] == [f"MBPP/{number}" for number in OTHER_FUNCTION]
    cases = {one.key: one.tests.cases for one in problem_set.problems if isinstance(one.tests, CaseTests)}
    # Three asserts a problem, the first of which a model is given; in three problems another repeats it.
    visible = {key: [case.visible for case in of_one] for key, of_one in cases.items()}
    assert {key: shown for key, shown in visible.items() if shown != [True, False, False]} == {
        "MBPP/37": [True, True, True],
        "MBPP/337": [True, True, False],
        "MBPP/508": [True, False, True],
    }
