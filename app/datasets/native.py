"""Reads Halflife's own format: one JSON document that a person can write. Described in docs/problem-format.md."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from app.datasets import payload
from app.datasets.line_edits import Edit, apply_edits
from app.datasets.native_tests import CALLING_STYLES, TEST_FIELDS, read_tests
from app.datasets.python_source import Unparsable, function, head, parse
from app.datasets.records import JSON_NAMES, Record, parse_json
from app.domain.bugs.taxonomy import normal_label
from app.domain.edits.diff import EditType, LineEdit, apply_script, edit_script
from app.domain.errors import FormatError
from app.domain.problems import Bug, BuggyProgram, Limits, Problem, ProblemSet
from app.domain.programs import SOLUTION_PATH, Program

DOCUMENT_FIELDS = ("licence", "source", "notes", "epsilon", "problems")
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
EDIT_FIELDS = ("path", "start", "end", "replacement")

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
    epsilon = record.index("epsilon", None)
    problems = _unique(record, "problem", record.objects("problems"), lambda fields: _problem(fields, epsilon))
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


def _problem(fields: dict[str, Any], epsilon: int | None) -> Problem:
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
            lambda buggy: _buggy_program(record, buggy, reference, language, epsilon),
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


def _buggy_program(
    problem: Record, fields: dict[str, Any], reference: Program, language: str, epsilon: int | None
) -> BuggyProgram:
    key = Record(fields, key=problem.key, part="buggy program").filled("key")
    record = Record(fields, key=problem.key, part=f"buggy program {key!r}")
    record.only(BUGGY_FIELDS)
    program = _program(record, "source", language, several=len(reference.files) > 1)
    script = edit_script(program, reference)
    if not script:
        record.fail("source is the same as the reference, but for white space")
    bugs = [_bug(record, bug, script, program) for bug in record.objects("bugs")]
    if not bugs:
        record.fail("field 'bugs' holds no bug")
    if any("edits" not in bug for bug in record.array("bugs")) and len(bugs) > 1:
        record.fail("with several bugs, each needs its edits")
    bugs.sort(key=lambda bug: script.index(bug.edits[0]))
    if tuple(edit for bug in bugs for edit in bug.edits) != script:
        record.fail("the edits of its bugs are not its differences from the reference, each once")
    return BuggyProgram(key, program, tuple(bugs), epsilon)


def _bug(buggy: Record, fields: dict[str, Any], script: tuple[LineEdit, ...], program: Program) -> Bug:
    """A bug with its part of the script to the reference: all of it, or what its own edits bring about."""
    record = Record(fields, key=buggy.key, part=buggy.part)
    record.only(BUG_FIELDS)
    edits = script
    if "edits" in fields:
        given = [_edit(record, edit, program) for edit in record.objects("edits")]
        edits = tuple(entry for entry in script if any(_covers(path, edit, entry) for path, edit in given))
        repaired = {
            path: apply_edits(source, [edit for of, edit in given if of == path])
            for path, source in program.files.items()
        }
        if not edits or edit_script(apply_script(program, edits), Program(repaired)):
            record.fail("the edits of a bug do not bring its lines to what they are in the reference")
    odc_class, odc_subclass = normal_label(record.string("odc_class", None), record.string("odc_subclass", None))
    return Bug(edits, record.string("description", ""), odc_class, odc_subclass)


def _edit(bug: Record, fields: dict[str, Any], program: Program) -> tuple[str, Edit]:
    """The file, and the edit of its lines."""
    record = Record(fields, key=bug.key, part=bug.part)
    record.only(EDIT_FIELDS)
    path = record.string("path", next(iter(program.files)))
    if path not in program.files or (len(program.files) > 1 and "path" not in fields):
        record.fail(f"an edit needs the path of one of the program's files: {', '.join(program.files)}")
    start, end, lines = record.integer("start"), record.integer("end"), program.files[path].count("\n") + 1
    if not start <= end <= lines + 1:
        record.fail(f"edit {start}..{end} is outside the program's {lines} lines")
    return path, Edit(start, end, tuple(record.strings("replacement")))


def _covers(path: str, edit: Edit, entry: LineEdit) -> bool:
    last = edit.end if entry.type is EditType.ADD else edit.end - 1
    return entry.path == path and edit.start <= entry.line <= last


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
