"""Problem sets taken in: what is sound is stored once, what is not is left out and said, on both databases."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import undefer

from app.datasets.registry import read_problem_set
from app.db.models import BuggyProgramRow, ProblemRow, ProblemSetRow
from app.db.session import Database
from app.domain import codec
from app.domain.edits.diff import edit_script
from app.domain.errors import InputError
from app.domain.ports import Sandbox
from app.domain.problems import AssertTests, Bug, BuggyProgram, Case, CaseTests, Comparison, Problem, ProblemSet
from app.domain.programs import Program
from app.services.import_problem_set import ImportReport, import_problem_set
from tests.fixtures.engine import addition

RIGHT = Program.single("def add(a, b):\n    return a + b\n")
WRONG = Program.single("def add(a, b):\n    return a - b\n")
LOSSLESS = {
    "floats": (float("inf"), -0.0, 1e-320),
    "containers": ([1, (2, (3,)), []], {"k": (1,), 2: [b"\x00\xff"]}, {1, 2}, frozenset({"a"})),
    "huge int": -(10**5000),
    "surrogates": "\x00\ud800\udfff\U0001f600\\",
    "types": (True, 1, None, 1 + 2j),
}


def taken(
    database: Database, sandbox: Sandbox, problems: Sequence[Problem], name: str = "set", **fields: Any
) -> ImportReport:
    """Import these problems."""
    problem_set = ProblemSet(name=name, format="native", problems=tuple(problems), **fields)
    return import_problem_set(database, sandbox, problem_set, slots=2, progress=lambda _done, _total: None)


def rows(database: Database, kind: type = ProblemSetRow) -> int:
    """How many are stored."""
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(kind)) or 0


def stored(database: Database, problem_set_id: int) -> list[Problem]:
    """The problems as they come out of the database, with their buggy programs."""
    with database.read() as session:
        found = session.scalars(
            select(ProblemRow)
            .where(ProblemRow.problem_set_id == problem_set_id)
            .order_by(ProblemRow.position)
            .options(undefer(ProblemRow.definition))
        ).all()
        buggy = {
            row.id: session.scalars(
                select(BuggyProgramRow)
                .where(BuggyProgramRow.problem_id == row.id)
                .order_by(BuggyProgramRow.id)
                .options(undefer(BuggyProgramRow.definition))
            ).all()
            for row in found
        }
    return [replace(row.definition, buggy_programs=tuple(one.definition for one in buggy[row.id])) for row in found]


def with_cases(problem: Problem, *values: tuple[Any, Any]) -> Problem:
    """The problem with cases of these (arguments, expected), all hidden."""
    return replace(problem, tests=CaseTests(tuple(Case(codec.encode(a), codec.encode(e)) for a, e in values)))


def test_a_sound_set_is_stored_whole(database: Database, sandbox: Sandbox) -> None:
    told: list[tuple[int, int]] = []
    problem_set = ProblemSet(
        name="set",
        format="native",
        problems=(addition("b"), addition("a")),
        licence="MIT",
        source="https://example.org",
        notes=("read with care",),
    )
    report = import_problem_set(database, sandbox, problem_set, slots=2, progress=lambda *p: told.append(p))
    assert (report.name, report.version, report.created) == ("set", 1, True)
    assert (report.problems, report.buggy_programs, report.weak, report.rejected) == (2, 2, (), ())
    assert report.notes == ("read with care",)
    assert told == [(1, 2), (2, 2)]
    assert stored(database, report.problem_set_id) == [addition("b"), addition("a")]
    with database.read() as session:
        row = session.get_one(ProblemSetRow, report.problem_set_id, options=[undefer(ProblemSetRow.report)])
        columns = session.execute(
            select(ProblemRow.position, ProblemRow.key, ProblemRow.test_style, ProblemRow.case_count).order_by(
                ProblemRow.position
            )
        ).all()
    assert (row.licence, row.source, row.problem_count) == ("MIT", "https://example.org", 2)
    assert row.report == {"notes": ["read with care"], "weak": [], "rejected": []}
    assert [tuple(column) for column in columns] == [(0, "b", "cases", 3), (1, "a", "cases", 3)]


def test_the_same_content_is_stored_once(database: Database, sandbox: Sandbox) -> None:
    first = taken(database, sandbox, [addition("a")])
    again = taken(database, sandbox, [addition("a")])
    assert (again.created, again.problem_set_id, again.version) == (False, first.problem_set_id, 1)
    assert again.content_hash == first.content_hash
    assert (rows(database), rows(database, ProblemRow), rows(database, BuggyProgramRow)) == (1, 1, 1)
    # Under another name it is another set.
    other = taken(database, sandbox, [addition("a")], name="other")
    assert (other.created, other.version, other.content_hash) == (True, 1, first.content_hash)


def test_changed_content_is_a_new_version(database: Database, sandbox: Sandbox) -> None:
    first = taken(database, sandbox, [addition("a")])
    changed = replace(addition("a"), statement="Add two integers.")
    second = taken(database, sandbox, [changed])
    assert (second.created, second.version) == (True, 2)
    assert second.content_hash != first.content_hash
    # The version that runs may refer to stays as it is, and can be found again.
    assert stored(database, first.problem_set_id) == [addition("a")]
    assert taken(database, sandbox, [addition("a")]).problem_set_id == first.problem_set_id


def test_the_order_of_problems_is_content(database: Database, sandbox: Sandbox) -> None:
    a, b = addition("a"), addition("b")
    assert taken(database, sandbox, [a, b]).content_hash != taken(database, sandbox, [b, a]).content_hash


def test_a_failing_reference_is_left_out_and_nothing_else(database: Database, sandbox: Sandbox) -> None:
    broken = replace(addition("broken"), reference=WRONG, buggy_programs=())
    report = taken(database, sandbox, [addition("a"), broken, addition("b")])
    (rejection,) = report.rejected
    assert rejection.key == "broken"
    # Of (1, 2), (0, 0) and (5, −5) the difference passes for (0, 0) alone; 1 − 2 = −1 is the first to fail.
    assert rejection.reason == (
        "its reference is not accepted: WA (wrong_value), 1 of 3 passed; first failing test 1: gave -1"
    )
    assert [problem.key for problem in stored(database, report.problem_set_id)] == ["a", "b"]
    assert report.problems == 2
    with database.read() as session:
        kept = session.get_one(ProblemSetRow, report.problem_set_id).report["rejected"]
    assert kept == [{"key": "broken", "reason": rejection.reason}]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def add(a, b):\n    return a +\n", "CE (compile_error), 0 of 3 passed; first failing test 1: SyntaxError"),
        (
            "def add(a, b):\n    return a + b + 0 // (5 - a)\n",
            "RE (ZeroDivisionError), 2 of 3 passed; first failing test 3",
        ),
        ("def add(a, b):\n    while True:\n        pass\n", "TLE (cpu_time), 0 of 3 passed; first failing test 1"),
    ],
    ids=["CE", "RE", "TLE"],
)
def test_a_reference_that_fails_otherwise(database: Database, sandbox: Sandbox, source: str, said: str) -> None:
    short = replace(addition("broken").limits, cpu_seconds=0.3)
    broken = replace(addition("broken"), reference=Program.single(source), limits=short)
    report = taken(database, sandbox, [broken, addition("a")])
    assert [rejection.key for rejection in report.rejected] == ["broken"]
    assert said in report.rejected[0].reason


def test_a_buggy_program_that_passes_every_test(database: Database, sandbox: Sandbox) -> None:
    # b + a is no bug: the tests cannot tell it from the reference.
    swapped = Program.single("def add(a, b):\n    return b + a\n")
    harmless = BuggyProgram("swapped", swapped, (Bug(edit_script(swapped, RIGHT)),))
    problem = addition("a")
    report = taken(database, sandbox, [replace(problem, buggy_programs=(harmless, *problem.buggy_programs))])
    assert [(r.key, r.reason) for r in report.rejected] == [("a/swapped", "the buggy program passes every test")]
    assert (report.problems, report.buggy_programs) == (1, 1)
    assert stored(database, report.problem_set_id) == [problem]


def reference_of(*lines: str) -> Program:
    return Program.single("".join(f"{line}\n" for line in ("def add(a, b):", *lines, "    return a + b")))


PLAIN = reference_of("    one = 1", "    two = 2", "    three = 3", "    four = 4")


@pytest.mark.parametrize(
    ("source", "cut", "reason"),
    [
        (
            ("    b = 0", "    two = 2", "    three = 3", "    a += 0"),
            [1],
            "with bug 2 of 2 alone it passes every test",
        ),
        (
            ("    a = 0", "    two = 2", "    b = 0", "    four = 4"),
            [1],
            "bugs 1 and 2 are 2 lines apart, fewer than 3",
        ),
        (
            ("    a = 0", "    a = 0", "    three = 3", "    b = 0"),
            [2],
            "bugs 1 and 2 are 2 lines apart, fewer than 5",
        ),
        (
            ("    a = 0", "    two = 2", "    three = 3", "    b = 0"),
            [],
            "its differences from the reference form 2 blocks, and it has 1 bug",
        ),
        (
            ("    a = 0", *["    b = 0"] * 10, "    two = 2", "    three = 3", "    four = 4"),
            [],
            "bug 1 takes 11 line edits, more than 10",
        ),
    ],
)
def test_bugs_that_are_not_separate(
    database: Database, sandbox: Sandbox, source: tuple[str, ...], cut: list[int], reason: str
) -> None:
    program = reference_of(*source)
    script = edit_script(program, PLAIN)
    parts = [script[first:last] for first, last in pairwise([0, *cut, len(script)])]
    broken = BuggyProgram("several", program, tuple(map(Bug, parts)))
    problem = replace(addition("a"), reference=PLAIN, buggy_programs=(broken,))
    report = taken(database, sandbox, [problem])
    assert [(r.key, r.reason) for r in report.rejected] == [("a/several", reason)]


def test_edits_that_are_not_the_differences_from_the_reference(database: Database, sandbox: Sandbox) -> None:
    others = edit_script(WRONG, Program.single("def add(a, b):\n    return b + a\n"))
    odd = replace(addition("a"), buggy_programs=(BuggyProgram("minus", WRONG, (Bug(others),)),))
    report = taken(database, sandbox, [odd])
    assert [(r.key, r.reason) for r in report.rejected] == [
        ("a/minus", "the edits of its bugs are not its differences from the reference")
    ]


def test_what_the_reader_left_out_is_reported_too(database: Database, sandbox: Sandbox) -> None:
    report = taken(database, sandbox, [addition("a")], left_out=(("b", "it has no tests"),))
    assert [(r.key, r.reason) for r in report.rejected] == [("b", "it has no tests")]


def test_no_sound_problem_at_all(database: Database, sandbox: Sandbox) -> None:
    broken = replace(addition("broken"), reference=WRONG)
    with pytest.raises(InputError, match=r"^no problem of set is sound \(broken: its reference is not accepted: WA"):
        taken(database, sandbox, [broken])
    assert rows(database) == 0


def test_a_problem_without_cases(database: Database, sandbox: Sandbox) -> None:
    empty = replace(addition("empty"), tests=CaseTests(()))
    report = taken(database, sandbox, [empty, addition("a")])
    assert [(r.key, r.reason) for r in report.rejected] == [
        ("empty", "tests: there is no case, so nothing could fail"),
    ]


def test_weak_problems_are_listed(database: Database, sandbox: Sandbox) -> None:
    across = AssertTests("def check(candidate):\n    assert candidate(1, 2) == 3\n")
    # A function given to the candidate can only be called in the candidate's own process.
    within = AssertTests("def check(candidate):\n    assert candidate(lambda: 3, 2) == 5\n")
    calls = replace(
        addition("weak"),
        tests=within,
        reference=Program.single("def add(a, b):\n    return a() + b\n"),
        buggy_programs=(),
    )
    report = taken(database, sandbox, [replace(addition("strong"), tests=across), calls])
    assert report.rejected == ()
    assert report.weak == ("weak",)
    with database.read() as session:
        assert session.get_one(ProblemSetRow, report.problem_set_id).report["weak"] == ["weak"]


@pytest.mark.parametrize("value", LOSSLESS.values(), ids=LOSSLESS)
def test_values_come_back_as_they_were(database: Database, sandbox: Sandbox, value: object) -> None:
    identity = replace(addition("same"), reference=Program.single("def add(a, b):\n    return a\n"), buggy_programs=())
    problem = with_cases(identity, ((value, 0), value))
    report = taken(database, sandbox, [problem])
    assert report.rejected == ()
    (found,) = stored(database, report.problem_set_id)
    assert found == problem
    assert isinstance(found.tests, CaseTests)
    expected = codec.decode(found.tests.cases[0].expected)
    assert expected == value
    # 1 == True == 1.0 and 0.0 == -0.0, which the encoded texts tell apart.
    assert codec.encode(expected) == codec.encode(value)


def test_nan_comes_back(database: Database, sandbox: Sandbox) -> None:
    identity = replace(addition("nan"), reference=Program.single("def add(a, b):\n    return a\n"), buggy_programs=())
    report = taken(database, sandbox, [with_cases(identity, ((float("nan"), 0), float("nan")))])
    (found,) = stored(database, report.problem_set_id)
    assert isinstance(found.tests, CaseTests)
    value = codec.decode(found.tests.cases[0].expected)
    assert value != value


def test_every_field_comes_back(database: Database, sandbox: Sandbox) -> None:
    half = Case(codec.encode((0.1, 0.2)), codec.encode(0.3), visible=True, comparison=Comparison.FLOAT, tolerance=1e-9)
    problem = replace(
        addition("full"),
        title="Ünïcode \U0001f600 <b>&",
        statement="Tab\t, NUL \x00 and 'quotes'",
        difficulty="hard",
        tests=CaseTests((half,)),
        buggy_programs=(
            BuggyProgram("minus", WRONG, (Bug(edit_script(WRONG, RIGHT), "why", "Checking", "Sub"),), epsilon=0),
        ),
    )
    report = taken(database, sandbox, [problem])
    assert report.rejected == ()
    assert stored(database, report.problem_set_id) == [problem]


@pytest.mark.parametrize("field", ["statement", "title", "signature", "key"])
def test_half_of_a_surrogate_pair_is_said_and_left_out(database: Database, sandbox: Sandbox, field: str) -> None:
    odd = replace(addition("odd"), **{field: "\ud800"})
    report = taken(database, sandbox, [addition("a"), odd])
    assert [rejection.key for rejection in report.rejected] == [odd.key]
    assert "cannot be stored" in report.rejected[0].reason
    assert [problem.key for problem in stored(database, report.problem_set_id)] == ["a"]


@pytest.mark.parametrize("field", ["title", "key"])
def test_nul_in_a_column_is_said_and_left_out(database: Database, sandbox: Sandbox, field: str) -> None:
    report = taken(database, sandbox, [addition("a"), replace(addition("odd"), **{field: "a\x00b"})])
    assert len(report.rejected) == 1
    assert "NUL in a key or title" in report.rejected[0].reason


@pytest.mark.parametrize("fields", [{"name": " "}, {"name": "a\x00"}, {"licence": "\ud800"}])
def test_names_that_cannot_be_used(database: Database, sandbox: Sandbox, fields: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"^name"):
        taken(database, sandbox, [addition("a")], **fields)
    assert rows(database) == 0


def test_imports_at_the_same_time(database: Database, sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda _: taken(database, sandbox, [addition("a")]), range(4)))
    assert [report.created for report in reports].count(True) == 1
    assert {(report.version, report.problem_set_id) for report in reports} == {(1, reports[0].problem_set_id)}
    assert (rows(database), rows(database, ProblemRow)) == (1, 1)


def test_different_imports_of_one_name_at_the_same_time(database: Database, sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda key: taken(database, sandbox, [addition(key)]), ["a", "b"]))
    assert sorted(report.version for report in reports) == [1, 2]
    assert rows(database) == 2


def test_every_test_style_is_validated_and_stored(database: Database, sandbox: Sandbox) -> None:
    """One problem a style with a faulty variant, from a document as people write it."""

    def problem(key: str, right: Any, wrong: Any, **tests: Any) -> dict[str, Any]:
        buggy = [{"key": "wrong", "source": wrong, "bugs": [{}]}]
        return {"key": key, "statement": "Double it.", "reference": right, "buggy": buggy, **tests}

    def calls(operation: str) -> str:
        return f'def double(x):\n    """Twice x."""\n    return x {operation}\n'

    checker = "def check(arguments, expected, actual):\n    return actual == 2 * arguments[0]\n"
    suite = "from solution import double\ndef test_it():\n    assert double(3) == 6\n"
    project = {"d.py": calls("* 2"), "README.md": "Doubles."}
    report = ["python", "-m", "pytest", "--junitxml=r.xml"]
    script = "print(int(input()) {})\n"
    document = {
        "problems": [
            problem("stdin", script.format("* 2"), script.format("+ 2"), stdin=[{"input": "3", "expected": "6"}]),
            problem("suite", calls("* 2"), calls("+ 2"), suite={"framework": "pytest", "files": {"test_d.py": suite}}),
            problem(
                "command",
                project,
                {**project, "d.py": calls("+ 2")},
                command={
                    "argv": report,
                    "report": "r.xml",
                    "checks": 1,
                    "files": {"test_d.py": suite.replace("solution", "d")},
                },
            ),
            {
                **problem("checker", calls("* 2"), calls("+ 2"), comparison="checker", checker=checker),
                "entry_point": "double",
                "cases": [{"arguments": [3], "expected": None}],
            },
        ]
    }
    problem_set = read_problem_set(json.dumps(document).encode(), format="native", name="styles")
    report_of = import_problem_set(database, sandbox, problem_set, slots=2, progress=lambda _done, _total: None)
    assert (report_of.problems, report_of.buggy_programs, report_of.rejected) == (4, 4, ())
    assert report_of.weak == ("command",)
    assert tuple(stored(database, report_of.problem_set_id)) == problem_set.problems
