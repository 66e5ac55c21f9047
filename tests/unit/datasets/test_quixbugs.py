"""QuixBugs' repository, on a small one of our own and on the published one."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from app.datasets.registry import read_problem_set
from app.domain.codec import decode, encode
from app.domain.edits.diff import EditType, LineEdit
from app.domain.errors import FormatError
from app.domain.problems import Bug, Case, CaseTests, Comparison, Problem, ProblemSet

PUBLISHED = Path(__file__).parents[3].parent / "shared" / "data" / "quixbugs" / "quixbugs.zip"

NODE = "class Node:\n    def __init__(self, value=None, successor=None):\n        self.value = value\n"
TABLE_TEST = """import pytest
from load_testdata import load_json_testcases

if pytest.use_correct:
    from correct_python_programs.double import double
else:
    from python_programs.double import double


testdata = load_json_testcases(double.__name__)


@pytest.mark.parametrize("input_data,expected", testdata)
def test_double(input_data, expected):
    assert double(*input_data) == expected
"""
CODE_TEST = """import pytest
from node import Node

if pytest.use_correct:
    from correct_python_programs.double import double
else:
    from python_programs.double import double


def test1():
    \"\"\"Case 1\"\"\"

    result = double(2)
    assert result == 4


def test2():
    result = double(5)
    expected = 5 + 5
    assert result == expected
"""
FILES = {
    "LICENSE": "Copyright\n\nPermission is hereby granted, free of charge, to any person\n",
    "python_programs/double.py": "\ndef double(x):\n\n    y = x  # once\n    return y\n\n\n"
    '"""\nDouble\n\n>>> double(2)\n4\n"""\n',
    "correct_python_programs/double.py": "\ndef double(x):\n    y = x\n    return y + y\n\n"
    '"""\ndef double(x):\n    return 2 * x\n"""\n',
    "python_testcases/test_double.py": TABLE_TEST,
    "python_testcases/node.py": NODE,
    "json_testcases/double.json": "[[2], 4]\n[[[1]], [1, 1]]\n",
    "python_programs/node.py": NODE,
    "python_programs/double_test.py": "",
}


def zipped(files: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for path, text in files.items():
            made.writestr(path, text)
    return stream.getvalue()


def read(files: dict[str, str]) -> ProblemSet:
    return read_problem_set(zipped(files), format="quixbugs", name="own")


def read_one(changes: dict[str, str]) -> Problem:
    (problem,) = read(FILES | changes).problems
    return problem


def cases(changes: dict[str, str]) -> list[tuple[Any, Any]]:
    """Arguments and expected value of each case."""
    tests = read_one(changes).tests
    assert isinstance(tests, CaseTests)
    return [(decode(case.arguments), decode(case.expected)) for case in tests.cases]


def test_a_program_with_its_repair_description_and_cases() -> None:
    problem_set = read(FILES)
    assert (problem_set.format, problem_set.licence, problem_set.source) == (
        "quixbugs",
        "MIT",
        "https://github.com/jkoppel/QuixBugs",
    )
    (problem,) = problem_set.problems
    assert (problem.key, problem.entry_point, problem.signature) == ("double", "double", "def double(x):\n")
    assert problem.statement == "Double\n\n>>> double(2)\n4"
    (buggy,) = problem.buggy_programs
    assert buggy.program.source == "def double(x):\n\n    y = x  # once\n    return y\n"
    assert buggy.bugs == (Bug((LineEdit("solution.py", 4, EditType.MODIFY, "    return y", "    return y + y"),)),)
    # The buggy program with its repair, in its own layout.
    assert problem.reference.source == "def double(x):\n\n    y = x  # once\n    return y + y\n"
    assert problem.tests == CaseTests(
        (Case(encode((2,)), encode(4), visible=True), Case(encode(([1],)), encode([1, 1])))
    )


def test_a_folder_around_the_repository() -> None:
    around = {f"QuixBugs-master/{path}": text for path, text in FILES.items()}
    assert read(around) == read(FILES)


def test_results_that_are_compared_as_lists_or_within_a_tolerance() -> None:
    listed = read_one(
        {
            "python_testcases/test_double.py": TABLE_TEST.replace(
                "double(*input_data) ==", "list(double(*input_data)) =="
            )
        }
    ).tests
    assert isinstance(listed, CaseTests)
    names: dict[str, Any] = {"double": lambda x: iter([x, x])}
    exec(listed.prelude, names)  # noqa: S102  our own two lines
    assert names[listed.called](3) == [3, 3]

    close = TABLE_TEST.replace("== expected", "== pytest.approx(expected, abs=input_data[-1])")
    tests = read_one(
        {"python_testcases/test_double.py": close, "json_testcases/double.json": "[[9, 0.5], 20]\n[[9, 0.5], 0.25]\n"}
    ).tests
    # 0.5 is a fortieth of 20: the judge's tolerance is relative above 1.
    assert tests == CaseTests(
        (
            Case(encode((9, 0.5)), encode(20), comparison=Comparison.FLOAT, tolerance=0.025),
            Case(encode((9, 0.5)), encode(0.25), comparison=Comparison.FLOAT, tolerance=0.5),
        )
    )


def test_expected_pairs_and_cases_that_the_repository_skips() -> None:
    tupled = TABLE_TEST.replace(
        "__name__)\n", "__name__)\ntestdata = [[inp, [tuple(x) for x in out]] for inp, out in testdata]\n"
    )
    assert cases(
        {"python_testcases/test_double.py": tupled, "json_testcases/double.json": "[[1], [[1, 2], [3, 4]]]\n"}
    ) == [((1,), [(1, 2), (3, 4)])]
    skipping = TABLE_TEST.replace(
        "    assert",
        '    if not pytest.run_slow and input_data == [\n        2,\n    ]:\n        pytest.skip("")\n    assert',
    )
    files = FILES | {"python_testcases/test_double.py": skipping}
    assert cases(files) == [(([1],), [1, 1])]
    assert read(files).notes[1] == "double: a case left out, as the repository does, because it takes too long"


def test_functions_that_only_call_with_constants_are_plain_cases() -> None:
    problem = read_one({"python_testcases/test_double.py": CODE_TEST})
    assert problem.tests == CaseTests((Case(encode((2,)), encode(4), visible=True), Case(encode((5,)), encode(10))))


def test_functions_that_build_nodes_are_observed_without_what_is_expected() -> None:
    test = CODE_TEST.partition("def test1")[0]
    test += """node1 = Node(1)


def test1():
    node2 = Node(2, node1)
    found = double(node2)
    assert not found


def test2():
    result = double(node1)
    assert result == node1
    output = []
    while result:
        output.append(result.value)
        result = result.successor
    expected = [1, 1]
    assert output == expected
    assert output
"""
    problem = read_one({"python_testcases/test_double.py": test})
    assert problem.signature == f"{NODE}\n\ndef double(x):\n"
    tests = problem.tests
    assert isinstance(tests, CaseTests)
    assert [(decode(case.arguments), decode(case.expected)) for case in tests.cases] == [
        ((["node1 = Node(1)", "node2 = Node(2, node1)", "found = double(node2)", "bool(found)"],), False),
        (
            (
                [
                    "node1 = Node(1)",
                    "result = double(node1)",
                    "observed_0 = bool(result == node1)",
                    "output = []",
                    "while result:\n    output.append(result.value)\n    result = result.successor",
                    "(observed_0, output, bool(output))",
                ],
            ),
            (True, [1, 1], True),
        ),
    ]
    names: dict[str, Any] = {"double": lambda node: node.value == 2}
    exec(tests.prelude, names)  # noqa: S102  our own lines
    assert names[tests.called](["node = Node(2)", "double(node)"]) is True


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"json_testcases/double.json": None}, "json_testcases/double.json is missing in the archive"),
        ({"correct_python_programs/double.py": None}, "correct_python_programs/double.py is missing in the archive"),
        ({"python_programs/double.py": "def ("}, "python_programs/double.py is not valid Python"),
        (
            {"python_programs/double.py": "def triple():\n    pass\n"},
            "python_programs/double.py does not define double",
        ),
        (
            {"python_programs/double.py": FILES["correct_python_programs/double.py"]},
            "python_programs/double.py does not define double, or is already correct",
        ),
        ({"json_testcases/double.json": "[[2], 4]\n[2, 4]\n"}, "line 2: json_testcases/double.json must hold an array"),
        (
            {"python_testcases/test_double.py": CODE_TEST.replace("result == 4", "result == 1" + "+1" * 2_000)},
            "the code of double is nested too deep",
        ),
        ({"json_testcases/double.json": "[[2], 4]\n[[2], 4"}, "line 2: not valid JSON"),
        (
            {"python_testcases/test_double.py": TABLE_TEST.replace("== expected", "< expected")},
            "python_testcases/test_double.py has a form that this reader does not know",
        ),
        (
            {"python_testcases/test_double.py": CODE_TEST.replace("    assert result == expected\n", "")},
            "python_testcases/test_double.py asserts nothing in test2",
        ),
        ({"python_programs/double.py": None}, "python_programs in the archive holds no program"),
        ({"other/python_programs/double.py": ""}, "the archive must hold one folder python_programs"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(changes: dict[str, str | None], reason: str) -> None:
    files = {path: text for path, text in (FILES | changes).items() if text is not None}
    with pytest.raises(FormatError, match=f"^{reason}"):
        read(files)


def test_what_is_no_archive() -> None:
    with pytest.raises(FormatError, match=r"^not a sound zip or tar archive: "):
        read_problem_set(b"{}", format="quixbugs", name="own")


# Six programs take graphs or linked lists; two are generators.
OBSERVED = [
    "breadth_first_search",
    "depth_first_search",
    "detect_cycle",
    "reverse_linked_list",
    "shortest_path_length",
    "topological_ordering",
]
LISTED = ["flatten", "kheapsort"]


@pytest.mark.shared_data
def test_the_published_programs() -> None:
    if not PUBLISHED.is_file():
        pytest.skip("the public data folder is not beside the repository: ../shared/data/quixbugs is missing")
    problem_set = read_problem_set(PUBLISHED.read_bytes(), format="quixbugs", name="quixbugs")
    assert (len(problem_set.problems), problem_set.licence) == (40, "MIT")
    tests = {problem.key: problem.tests for problem in problem_set.problems if isinstance(problem.tests, CaseTests)}
    assert len(tests) == 40
    assert sorted(key for key, of_one in tests.items() if of_one.called) == sorted(OBSERVED + LISTED)
    # 242 lines of JSON in 31 files, of which two are skipped, and 36 test functions in nine files.
    assert sum(len(of_one.cases) for of_one in tests.values()) == 242 - 2 + 36
    bugs = {problem.key: problem.buggy_programs[0].bugs for problem in problem_set.problems}
    # Every bug is one line that is replaced, or one that is missing.
    edits = {key: edit for key, ((bug,)) in bugs.items() for edit in bug.edits}
    assert len(edits) == sum(len(bug.edits) for (bug,) in bugs.values()) == 40
    missing = [key for key, edit in edits.items() if edit.type is EditType.ADD]
    assert sum(edit.type is EditType.MODIFY for edit in edits.values()) == 40 - len(missing)
    assert missing == ["depth_first_search", "reverse_linked_list", "shunting_yard", "wrap"]
