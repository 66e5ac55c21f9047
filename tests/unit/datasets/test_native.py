"""The native format: what it means, what it refuses, and that its documentation is true."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from app.datasets import native, native_tests, tagged_values
from app.datasets.registry import read_problem_set
from app.domain.codec import decode, encode
from app.domain.edits.diff import EditType, LineEdit
from app.domain.errors import FormatError
from app.domain.problems import (
    AssertTests,
    Bug,
    BuggyProgram,
    Case,
    CaseTests,
    CommandTests,
    Comparison,
    Limits,
    OutputComparison,
    ProblemSet,
    StdinCase,
    StdinTests,
    SuiteTests,
)
from app.domain.programs import Program

PAGE = Path(__file__).parents[3] / "docs" / "problem-format.md"

REFERENCE = 'def halve(x):\n    """Half of x."""\n    return x / 2\n'
MINIMAL: dict[str, Any] = {
    "key": "halve",
    "entry_point": "halve",
    "reference": REFERENCE,
    "cases": [{"arguments": [4], "expected": 2.0}],
}


def read(*problems: dict[str, Any], **document: Any) -> ProblemSet:
    data = json.dumps({"problems": problems, **document}).encode()
    return read_problem_set(data, format="native", name="own")


def read_with(**changes: Any) -> ProblemSet:
    return read({**copy.deepcopy(MINIMAL), **changes})


def test_defaults() -> None:
    problems = read(MINIMAL)
    assert (problems.name, problems.format, problems.licence, problems.source) == ("own", "native", "unknown", "")
    (problem,) = problems.problems
    assert (problem.title, problem.statement, problem.language, problem.difficulty) == ("halve", "", "python", None)
    assert problem.signature == 'def halve(x):\n    """Half of x."""\n'
    assert problem.tests == CaseTests((Case(encode((4,)), encode(2.0)),))
    assert problem.reference == Program.single(REFERENCE)
    assert problem.limits == Limits()
    assert problem.buggy_programs == ()


def test_everything_given() -> None:
    problems = read(
        {
            **MINIMAL,
            "title": "Halves",
            "statement": ["Halve", "numbers."],
            "signature": "def halve(x): ...",
            "difficulty": "easy",
            "language": "python",
            "limits": {"cpu_seconds": 1, "memory_mb": 64, "output_bytes": 100},
            "comparison": "float",
            "tolerance": 1e-6,
            "cases": [
                {"arguments": [4], "expected": 2.0, "visible": True},
                {"arguments": [1], "expected": 0.5, "tolerance": 1},
                {"arguments": [2], "expected": 1.0, "comparison": "exact"},
                {"arguments": [6], "expected": [3, 3.0], "comparison": "any_of"},
            ],
        },
        licence="CC0-1.0",
        source="a shelf",
        notes=["A note."],
    )
    assert (problems.licence, problems.source, problems.notes) == ("CC0-1.0", "a shelf", ("A note.",))
    (problem,) = problems.problems
    assert (problem.title, problem.statement, problem.difficulty) == ("Halves", "Halve\nnumbers.\n", "easy")
    assert problem.signature == "def halve(x): ..."
    assert problem.limits == Limits(1.0, 64, 100)
    assert problem.tests == CaseTests(
        (
            Case(encode((4,)), encode(2.0), True, Comparison.FLOAT, 1e-6),
            Case(encode((1,)), encode(0.5), False, Comparison.FLOAT, 1.0),
            Case(encode((2,)), encode(1.0)),
            Case(encode((6,)), encode([3, 3.0]), comparison=Comparison.ANY_OF),
        )
    )


def test_the_default_signature_leaves_imports_and_helpers_out() -> None:
    reference = f"import math\n\ndef helper():\n    pass\n\n\n{REFERENCE}"
    (problem,) = read_with(reference=reference).problems
    assert problem.signature == 'def halve(x):\n    """Half of x."""\n'


def test_assert_tests() -> None:
    (problem,) = read(
        {
            **{name: value for name, value in MINIMAL.items() if name != "cases"},
            "asserts": {
                "source": ["def check(candidate):", "    assert candidate(two()) == 1"],
                "helpers": "def two():\n    return 2\n",
                "visible": ["assert candidate(4) == 2"],
            },
        }
    ).problems
    assert problem.tests == AssertTests(
        "def check(candidate):\n    assert candidate(two()) == 1\n",
        "def two():\n    return 2\n",
        ("assert candidate(4) == 2",),
    )


HALVED = LineEdit("solution.py", 3, EditType.MODIFY, "    return x // 2", "    return x / 2")


def test_the_edits_of_a_single_bug_are_found() -> None:
    source = REFERENCE.replace("x / 2", "x // 2")
    (problem,) = read_with(buggy=[{"key": "floor", "source": source, "bugs": [{"description": "Rounds."}]}]).problems
    assert problem.buggy_programs == (BuggyProgram("floor", Program.single(source), (Bug((HALVED,), "Rounds."),)),)


def two_bugs(*bugs: dict[str, Any]) -> dict[str, Any]:
    source = REFERENCE.replace("x / 2", "x // 2").replace("(x)", "(z)")
    return {"key": "two", "source": source, "bugs": bugs}


FIRST = {"start": 1, "end": 2, "replacement": ["def halve(x):"]}
LAST = {"start": 3, "end": 4, "replacement": ["    return x / 2"]}


def test_several_bugs_give_their_own_edits() -> None:
    last, first = {"edits": [LAST], "odc_subclass": "Other"}, {"edits": [FIRST], "odc_class": "Interface"}
    (problem,) = read_with(buggy=[two_bugs(last, first)]).problems
    # In the order of their lines.
    assert problem.buggy_programs[0].bugs == (
        Bug((LineEdit("solution.py", 1, EditType.MODIFY, "def halve(z):", "def halve(x):"),), odc_class="Interface"),
        Bug((HALVED,), odc_subclass="Other"),
    )


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        (([FIRST], [FIRST]), "the edits of its bugs are not its differences from the reference, each once"),
        (([FIRST], [LAST | {"replacement": ["    return x"]}]), "the edits of a bug do not bring its lines to"),
        (([FIRST], [LAST | {"start": 2, "end": 3}]), "the edits of a bug do not bring its lines to"),
        (([FIRST], [LAST | {"path": "other.py"}]), "an edit needs the path of one of the program's files: solution.py"),
    ],
)
def test_edits_that_do_not_lead_to_the_reference(edits: tuple[Any, ...], message: str) -> None:
    with pytest.raises(FormatError, match=f"^problem 'halve', buggy program 'two': {message}"):
        read_with(buggy=[two_bugs(*({"edits": own} for own in edits))])


def test_labels_by_the_names_of_the_classification() -> None:
    bug = {"odc_class": "checking", "odc_subclass": "off by one"}
    (problem,) = read_with(buggy=buggy(bugs=[bug])).problems
    (read_bug,) = problem.buggy_programs[0].bugs
    assert (read_bug.odc_class, read_bug.odc_subclass) == ("Checking", "Off-by-One Error")


def test_the_epsilon_of_a_set() -> None:
    for declared, tolerance in (({}, 2), ({"epsilon": 0}, 0)):
        (problem,) = read({**copy.deepcopy(MINIMAL), "buggy": buggy()}, **declared).problems
        assert problem.buggy_programs[0].tolerance == tolerance
    # A bug of two lines.
    longer = REFERENCE.replace("    return x / 2", "    x = x\n    return x // 2")
    (problem,) = read_with(buggy=buggy(source=longer)).problems
    assert problem.buggy_programs[0].tolerance == 1


def of_style(**tests: Any) -> ProblemSet:
    return read({"key": "p", "statement": "Do it.", "reference": "x = 1\n", **tests})


def test_the_other_test_styles() -> None:
    runs = [{"input": "1\n", "expected": ["2"], "visible": True}, {"input": "", "expected": "0.5"}]
    (problem,) = of_style(stdin=runs, comparison="tokens", tolerance=0.01).problems
    cases = (StdinCase("1\n", "2\n", visible=True), StdinCase("", "0.5"))
    assert problem.tests == StdinTests(cases, OutputComparison.TOKENS, 0.01)
    assert (problem.title, problem.entry_point, problem.signature) == ("p", "", "")

    suite = {"framework": "pytest", "files": {"test_p.py": ["import p"]}, "module": "p", "checks": 3}
    (problem,) = of_style(suite=suite).problems
    assert problem.tests == SuiteTests("pytest", {"test_p.py": "import p\n"}, module="p", checks=3)

    files = {"a/b.py": "x = 1\n", "README": "hello"}
    command = {"argv": ["make", "test"], "report": "out.xml", "checks": 2, "files": {"Makefile": "test:\n"}}
    bugs = [{"key": "b", "source": {**files, "a/b.py": ""}, "bugs": [{"description": "no x"}]}]
    (problem,) = of_style(reference=files, command=command, buggy=bugs).problems
    assert problem.tests == CommandTests(("make", "test"), "out.xml", 2, {"Makefile": "test:\n"})
    assert problem.reference == Program(files)
    missing = LineEdit("a/b.py", 1, EditType.ADD, "", "x = 1")
    assert problem.buggy_programs == (BuggyProgram("b", Program({**files, "a/b.py": ""}), (Bug((missing,), "no x"),)),)


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ({"stdin": []}, "it has no test: 'stdin' is empty"),
        ({"stdin": [{"input": "1"}]}, "case 1: field 'expected' is missing"),
        ({"stdin": [], "comparison": "unordered"}, "comparison 'unordered' is unknown; known are lines, tokens, exact"),
        ({"stdin": [], "tolerance": 1}, "a tolerance goes with comparison 'tokens' only"),
        ({"stdin": [], "checker": "x"}, "field 'checker' goes with cases only"),
        ({"suite": {"framework": "nose", "files": {}}}, "suite: framework 'nose' is unknown"),
        ({"suite": {"framework": "pytest", "files": {"a": 1}}}, "suite files: field 'a' must be a string"),
        ({"command": {"argv": [], "report": "r", "checks": 0}}, "command: field 'checks' must be at least 1"),
        ({"command": {"argv": [], "checks": 1}}, "command: field 'report' is missing"),
        ({"stdin": [{"input": "", "expected": ""}], "reference": {}}, "field 'reference' holds no file"),
    ],
)
def test_wrong_tests_of_other_styles(tests: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=f"problem 'p'.*{message}"):
        of_style(**tests)


def buggy(**changes: Any) -> list[dict[str, Any]]:
    return [{"key": "floor", "source": REFERENCE.replace("/", "//"), "bugs": [{}], **changes}]


def case(**changes: Any) -> list[dict[str, Any]]:
    return [{"arguments": [4], "expected": 2.0, **changes}]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reference": 5}, "field 'reference' must be a string, not an integer"),
        ({"reference": ["def", 5]}, "field 'reference' must hold a string in each place, not an integer"),
        ({"reference": "def halve(x:"}, r"reference is not valid Python: '\(' was never closed"),
        ({"reference": "x = '\ud800'"}, "reference is not valid Python: "),
        ({"reference": "def half(x):\n    return x\n"}, "entry_point 'halve' is not defined by the reference"),
        ({"reference": "def halve(x):\n    return x\n"}, "the reference has no docstring: give a signature"),
        ({"entry_point": ""}, "field 'entry_point' is empty"),
        ({"visibile": 1}, "unknown field 'visibile'; known are key, title"),
        ({"language": "cobol"}, "language 'cobol' is not supported; known are python"),
        ({"cases": []}, "it has no test: 'cases' is empty"),
        ({"cases": {}}, "field 'cases' must be an array, not an object"),
        ({"cases": [1]}, "field 'cases' must hold an object in each place, not an integer"),
        ({"asserts": {}}, "give one of cases, asserts, stdin, suite, command"),
        ({"stdin": []}, "give one of cases, asserts, stdin, suite, command"),
        ({"cases": case(comparison="checker")}, "comparison 'checker' and the field 'checker' go together"),
        ({"checker": "def check(a, e, x): return True\n"}, "comparison 'checker' and the field 'checker' go together"),
        ({"in_place": -1}, "field 'in_place' must be at least 0"),
        ({"comparison": "fuzzy"}, "comparison 'fuzzy' is unknown; known are exact, float, unordered, any_of"),
        ({"cases": [{"arguments": [1]}]}, "case 1: field 'expected' is missing"),
        ({"cases": [{"expected": 1}]}, "case 1: field 'arguments' is missing"),
        ({"cases": case(arguments=4)}, "case 1: field 'arguments' must be an array, not an integer"),
        ({"cases": case() + case(visible="yes")}, "case 2: field 'visible' must be a boolean, not a string"),
        ({"cases": case(tolerance=0.1)}, "case 1: comparison 'float' needs a tolerance, and only it may have one"),
        ({"cases": case(comparison="float")}, "case 1: comparison 'float' needs a tolerance, and only it may have one"),
        ({"cases": case(comparison="float", tolerance=0)}, "case 1: field 'tolerance' must be a positive number"),
        (
            {"cases": case(comparison="float", tolerance=True)},
            "case 1: field 'tolerance' must be a number, not a boolean",
        ),
        ({"cases": case(comparison="any_of")}, "case 1: comparison 'any_of' needs an array of accepted values"),
        ({"cases": case(expected={"$list": []})}, r"case 1: unknown tag \$list"),
        ({"cases": case(expected={"$repeat": ["x", 10**9]})}, "case 1: the value would be larger than 2000000 items"),
        (
            {"cases": case(arguments=[{"$repeat": [10**18, 500_000]}])},
            "case 1: value is larger than 4194304 characters",
        ),
        ({"limits": {"cpu_seconds": -1}}, "limits: field 'cpu_seconds' must be a positive number"),
        ({"limits": {"memory_mb": 0}}, "limits: field 'memory_mb' must be at least 1"),
        ({"limits": {"memory": 1}}, "limits: unknown field 'memory'; known are cpu_seconds, memory_mb, output_bytes"),
        ({"limits": 5}, "field 'limits' must be an object, not an integer"),
        (
            {"buggy": buggy(source=REFERENCE)},
            "buggy program 'floor': source is the same as the reference, but for white space",
        ),
        ({"buggy": buggy(bugs=[])}, "buggy program 'floor': field 'bugs' holds no bug"),
        ({"buggy": buggy(bugs=[{}, {}])}, "buggy program 'floor': with several bugs, each needs its edits"),
        ({"buggy": buggy() * 2}, "buggy program 'floor' appears twice"),
        ({"buggy": buggy(key=None)}, "buggy program: field 'key' must be a string, not null"),
        (
            {"buggy": buggy(bugs=[{"edits": [{"start": 3, "end": 9, "replacement": []}]}])},
            r"buggy program 'floor': edit 3\.\.9 is outside the program's 4 lines",
        ),
    ],
)
def test_wrong_problems(changes: dict[str, Any], message: str) -> None:
    separator = ", " if message.startswith(("case", "limits", "buggy program:", "buggy program 'floor':")) else ": "
    with pytest.raises(FormatError, match=f"^problem 'halve'{separator}{message}"):
        read_with(**changes)


@pytest.mark.parametrize(
    ("asserts", "message"),
    [
        ({}, "field 'source' is missing"),
        ({"source": "def check("}, "source is not valid Python"),
        ({"source": "assert True"}, r"source does not define check\(candidate\)"),
        (
            {"source": "def check(candidate): ...", "visible": "assert"},
            "field 'visible' must be an array, not a string",
        ),
        ({"source": "def check(candidate): ...", "cases": []}, "unknown field 'cases'"),
    ],
)
def test_wrong_asserts(asserts: dict[str, Any], message: str) -> None:
    problem = {name: value for name, value in MINIMAL.items() if name != "cases"}
    with pytest.raises(FormatError, match=f"^problem 'halve', asserts: {message}"):
        read({**problem, "asserts": asserts})


def test_wrong_documents() -> None:
    with pytest.raises(FormatError, match=r"^field 'problems' holds no problem$"):
        read()
    with pytest.raises(FormatError, match=r"^problem 'halve' appears twice$"):
        read(MINIMAL, MINIMAL)
    with pytest.raises(FormatError, match=r"^field 'key' is missing$"):
        read({})
    with pytest.raises(
        FormatError, match=r"^unknown field 'version'; known are licence, source, notes, epsilon, problems$"
    ):
        read(MINIMAL, version=1)
    with pytest.raises(FormatError, match=r"^line 3: not valid JSON: Expecting ',' delimiter \(column 1\)$"):
        read_problem_set(b'{\n"problems": []\n"notes": []}', format="native", name="own")


def test_the_documented_example_is_read_as_documented() -> None:
    example = re.search(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert example is not None
    (problem,) = read_problem_set(example[1].encode(), format="native", name="page").problems
    assert isinstance(problem.tests, CaseTests)
    reference: dict[str, Any] = {}
    exec(problem.reference.source, reference)  # noqa: S102  the page's own example
    for known in problem.tests.cases:
        assert encode(reference["countdown"](*decode(known.arguments))) == known.expected
    (program,) = problem.buggy_programs
    (edit,) = program.bugs[0].edits
    assert (edit.line, edit.modified) == (3, "    return list(range(start, 0, -1))")


def test_the_page_names_every_field_and_tag() -> None:
    page = PAGE.read_text("utf-8")
    fields = {
        *native.DOCUMENT_FIELDS,
        *native.PROBLEM_FIELDS,
        *native_tests.CASE_FIELDS,
        *native_tests.ASSERTS_FIELDS,
        *native_tests.STDIN_FIELDS,
        *native_tests.SUITE_FIELDS,
        *native_tests.COMMAND_FIELDS,
        *native.LIMIT_FIELDS,
        *native.BUGGY_FIELDS,
        *native.BUG_FIELDS,
        *native.EDIT_FIELDS,
    }
    assert [field for field in sorted(fields) if f"`{field}`" not in page] == []
    assert [tag for tag in tagged_values.TAGS if f'"{tag}"' not in page] == []
    assert f"{tagged_values.MAX_ITEMS:,}" in page
