"""Reads Halflife's own format: one JSON document that a person can write. Described in docs/problem-format.md."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from app.datasets import payload
from app.datasets.line_edits import line_edits
from app.datasets.native_tests import CALLING_STYLES, TEST_FIELDS, read_tests
from app.datasets.python_source import Unparsable, function, head, parse
from app.datasets.records import JSON_NAMES, Record, parse_json
from app.domain.errors import FormatError
from app.domain.problems import Bug, BuggyProgram, Edit, Limits, Problem, ProblemSet
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
    "buggy",
    *TEST_FIELDS,
)
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
    tests = read_tests(record)
    calling = tests.style in CALLING_STYLES
    entry_point = record.filled("entry_point") if calling else record.string("entry_point", "")
    several = tests.style == "command"
    reference = _program(record, "reference", language, several=several)
    head_of_reference = _check_reference(record, reference, entry_point) if calling else None
    signature = record.text("signature", head_of_reference if calling else "")
    if calling and not signature:
        record.fail("the reference has no docstring: give a signature")
    return Problem(
        key=record.filled("key"),
        title=record.string("title", entry_point or record.filled("key")),
        statement=record.text("statement", ""),
        signature=signature,
        entry_point=entry_point,
        tests=tests,
        reference=reference,
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


def _program(record: Record, name: str, language: str, *, several: bool) -> Program:
    """A program: text or, where it has several files, an object of texts by path."""
    if type(record.fields.get(name)) is not dict:
        return Program.single(record.text(name), language)
    files = record.texts(name)
    if not files:
        record.fail(f"field {name!r} holds no file")
    if len(files) > 1 and not several:
        record.fail(f"field {name!r} holds several files, which only tests by a command can judge")
    return Program(files)


def _check_reference(record: Record, reference: Program, entry_point: str) -> str | None:
    """Check the reference, and return what a model may see of it: the head of its entry point."""
    source = reference.source
    try:
        module = parse(source)
    except Unparsable as error:
        record.fail(f"reference is not valid Python: {error}")
    entry = function(module, entry_point)
    if entry is None:
        record.fail(f"entry_point {entry_point!r} is not defined by the reference")
    return head(source, entry)


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


def _buggy_program(problem: Record, fields: dict[str, Any], reference: Program, language: str) -> BuggyProgram:
    key = Record(fields, key=problem.key, part="buggy program").filled("key")
    record = Record(fields, key=problem.key, part=f"buggy program {key!r}")
    record.only(BUGGY_FIELDS)
    program = _program(record, "source", language, several=len(reference.files) > 1)
    if len(program.files) > 1 or program.files.keys() != reference.files.keys():
        return _buggy_project(record, program, reference)
    ((source, right),) = zip(program.files.values(), reference.files.values(), strict=True)
    repair = line_edits(source, right)
    if not repair:
        record.fail("source is the same as the reference")
    bugs = [_bug(record, bug, repair, source) for bug in record.objects("bugs")]
    if not bugs:
        record.fail("field 'bugs' holds no bug")
    if any("edits" not in bug for bug in record.array("bugs")) and len(bugs) > 1:
        record.fail("with several bugs, each needs its edits")
    return BuggyProgram(key, program, tuple(bugs))


def _buggy_project(record: Record, program: Program, reference: Program) -> BuggyProgram:
    """A faulty variant of several files. Edits are lines of one file, so that its bugs are described and no more."""
    if program.files == reference.files:
        record.fail("source is the same as the reference")
    bugs = []
    for fields in record.objects("bugs"):
        if "edits" in fields:
            record.fail("a program of several files takes no edits")
        bugs.append(_bug(record, fields, (), ""))
    if not bugs:
        record.fail("field 'bugs' holds no bug")
    return BuggyProgram(record.filled("key"), program, tuple(bugs))


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
