"""Reads Halflife's own format: one JSON document that a person can write. Described in docs/problem-format.md."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from app.datasets import payload
from app.datasets.line_edits import line_edits
from app.datasets.python_source import Unparsable, function, head, parse
from app.datasets.records import JSON_NAMES, Record, parse_json
from app.datasets.tagged_values import BadValue, python_value
from app.domain.codec import CodecError, encode
from app.domain.errors import FormatError
from app.domain.problems import (
    AssertTests,
    Bug,
    BuggyProgram,
    Case,
    CaseTests,
    Comparison,
    Edit,
    Limits,
    Problem,
    ProblemSet,
)
from app.domain.programs import SOLUTION_PATH, Program

DOCUMENT_FIELDS = ("licence", "source", "notes", "problems")
PROBLEM_FIELDS = (
    "key",
    "title",
    "statement",
    "signature",
    "entry_point",
    "reference",
    "language",
    "difficulty",
    "limits",
    "comparison",
    "tolerance",
    "cases",
    "asserts",
    "buggy",
)
CASE_FIELDS = ("arguments", "expected", "visible", "comparison", "tolerance")
ASSERTS_FIELDS = ("source", "helpers", "visible")
LIMIT_FIELDS = ("cpu_seconds", "memory_mb", "output_bytes")
BUGGY_FIELDS = ("key", "source", "bugs")
BUG_FIELDS = ("description", "odc_class", "odc_subclass", "edits")
EDIT_FIELDS = ("start", "end", "replacement")

_Keyed = TypeVar("_Keyed", Problem, BuggyProgram)


def read(data: bytes, name: str) -> ProblemSet:
    """Read a document of the native format.

    Raises FormatError naming the line (of broken JSON) or the problem's key.
    """
    document = parse_json(payload.text(data))
    if type(document) is not dict:
        raise FormatError(f"expected an object with problems, not {JSON_NAMES[type(document)]}")
    return problem_set(document, name)


def problem_set(document: dict[str, Any], name: str) -> ProblemSet:
    """The problem set of a parsed document. Raises FormatError naming the problem's key."""
    record = Record(document)
    record.only(DOCUMENT_FIELDS)
    problems = _unique(record, "problem", record.objects("problems"), _problem)
    if not problems:
        record.fail("field 'problems' holds no problem")
    return ProblemSet(
        name=name,
        format="native",
        problems=problems,
        licence=record.string("licence", "unknown"),
        source=record.string("source", ""),
        notes=tuple(record.strings("notes", [])),
    )


def _problem(fields: dict[str, Any]) -> Problem:
    record = Record(fields, key=Record(fields).filled("key"))
    record.only(PROBLEM_FIELDS)
    language = record.string("language", "python")
    if language not in SOLUTION_PATH:
        record.fail(f"language {language!r} is not supported; known are {', '.join(SOLUTION_PATH)}")
    entry_point = record.filled("entry_point")
    reference = record.text("reference")
    signature = _check_python(record, reference, entry_point)
    return Problem(
        key=record.filled("key"),
        title=record.string("title", entry_point),
        statement=record.text("statement", ""),
        signature=record.text("signature", signature)
        or record.fail("the reference has no docstring: give a signature"),
        entry_point=entry_point,
        tests=_tests(record),
        reference=Program.single(reference, language),
        language=language,
        difficulty=record.string("difficulty", None),
        limits=_limits(record),
        buggy_programs=_unique(
            record,
            "buggy program",
            record.objects("buggy", []),
            lambda buggy: _buggy_program(record, buggy, reference, language),
        ),
    )


def _check_python(record: Record, reference: str, entry_point: str) -> str | None:
    """Check the reference, and return what a model may see of it: the head of its entry point."""
    try:
        entry = function(parse(reference), entry_point)
    except Unparsable as error:
        record.fail(f"reference is not valid Python: {error}")
    if entry is None:
        record.fail(f"entry_point {entry_point!r} is not defined by the reference")
    return head(reference, entry)


def _tests(record: Record) -> CaseTests | AssertTests:
    if ("cases" in record.fields) is ("asserts" in record.fields):
        record.fail("give either cases or asserts")
    if "asserts" in record.fields:
        return _assert_tests(record)
    default = _comparison(record, Comparison.EXACT), record.number("tolerance", None)
    cases = tuple(
        _case(record, number, fields, *default) for number, fields in enumerate(record.objects("cases"), start=1)
    )
    if not cases:
        record.fail("it has no test: 'cases' is empty")
    return CaseTests(cases)


def _assert_tests(record: Record) -> AssertTests:
    asserts = record.within("asserts", "asserts")
    asserts.only(ASSERTS_FIELDS)
    source = asserts.text("source")
    try:
        check = function(parse(source), "check")
    except Unparsable as error:
        asserts.fail(f"source is not valid Python: {error}")
    if check is None:
        asserts.fail("source does not define check(candidate)")
    return AssertTests(source, asserts.text("helpers", ""), tuple(asserts.strings("visible", [])))


def _case(
    problem: Record, number: int, fields: dict[str, Any], comparison: Comparison, tolerance: float | None
) -> Case:
    record = Record(fields, key=problem.key, part=f"case {number}")
    record.only(CASE_FIELDS)
    arguments = record.array("arguments")
    if "expected" not in fields:
        record.fail("field 'expected' is missing")
    comparison = _comparison(record, comparison)
    # The problem's tolerance is for those of its cases that are compared as floats.
    tolerance = record.number("tolerance", tolerance if comparison is Comparison.FLOAT else None)
    if (comparison is Comparison.FLOAT) is not (tolerance is not None):
        record.fail("comparison 'float' needs a tolerance, and only it may have one")
    try:
        values = tuple(python_value(argument) for argument in arguments)
        expected = python_value(fields["expected"])
        if comparison is Comparison.ANY_OF and not (isinstance(expected, list) and expected):
            record.fail("comparison 'any_of' needs an array of accepted values in 'expected'")
        return Case(
            arguments=encode(values),
            expected=encode(expected),
            visible=record.boolean("visible", False),
            comparison=comparison,
            tolerance=tolerance,
        )
    except (BadValue, CodecError) as error:
        record.fail(str(error))


def _comparison(record: Record, default: Comparison) -> Comparison:
    name = record.string("comparison", default.value)
    try:
        return Comparison(name)
    except ValueError:
        record.fail(f"comparison {name!r} is unknown; known are {', '.join(Comparison)}")


def _limits(record: Record) -> Limits:
    if "limits" not in record.fields:
        return Limits()
    limits, default = record.within("limits", "limits"), Limits()
    limits.only(LIMIT_FIELDS)
    return Limits(
        cpu_seconds=limits.number("cpu_seconds", default.cpu_seconds),
        memory_mb=limits.integer("memory_mb", default.memory_mb),
        output_bytes=limits.integer("output_bytes", default.output_bytes),
    )


def _buggy_program(problem: Record, fields: dict[str, Any], reference: str, language: str) -> BuggyProgram:
    key = Record(fields, key=problem.key, part="buggy program").filled("key")
    record = Record(fields, key=problem.key, part=f"buggy program {key!r}")
    record.only(BUGGY_FIELDS)
    source = record.text("source")
    repair = line_edits(source, reference)
    if not repair:
        record.fail("source is the same as the reference")
    bugs = [_bug(record, bug, repair, source) for bug in record.objects("bugs")]
    if not bugs:
        record.fail("field 'bugs' holds no bug")
    if any("edits" not in bug for bug in record.array("bugs")) and len(bugs) > 1:
        record.fail("with several bugs, each needs its edits")
    return BuggyProgram(key, Program.single(source, language), tuple(bugs))


def _bug(buggy: Record, fields: dict[str, Any], repair: tuple[Edit, ...], source: str) -> Bug:
    record = Record(fields, key=buggy.key, part=buggy.part)
    record.only(BUG_FIELDS)
    edits = repair
    if "edits" in fields:
        edits = tuple(_edit(record, edit, source.count("\n") + 1) for edit in record.objects("edits"))
    return Bug(
        edits,
        description=record.string("description", ""),
        odc_class=record.string("odc_class", None),
        odc_subclass=record.string("odc_subclass", None),
    )


def _edit(bug: Record, fields: dict[str, Any], lines: int) -> Edit:
    record = Record(fields, key=bug.key, part=bug.part)
    record.only(EDIT_FIELDS)
    start, end = record.integer("start"), record.integer("end")
    if not start <= end <= lines + 1:
        record.fail(f"edit {start}..{end} is outside the program's {lines} lines")
    return Edit(start, end, tuple(record.strings("replacement")))


def _unique(
    record: Record, what: str, items: Iterable[dict[str, Any]], build: Callable[[dict[str, Any]], _Keyed]
) -> tuple[_Keyed, ...]:
    built: dict[str, _Keyed] = {}
    for fields in items:
        item = build(fields)
        if item.key in built:
            record.fail(f"{what} {item.key!r} appears twice")
        built[item.key] = item
    return tuple(built.values())
