"""The tests of a problem in the native format, one style each. Described in docs/problem-format.md."""

from collections.abc import Callable
from typing import Any, TypeVar

from app.datasets.python_source import Unparsable, function, parse
from app.datasets.records import Record
from app.datasets.tagged_values import BadValue, python_value
from app.domain.codec import CodecError, encode
from app.domain.problems import (
    AssertTests,
    Case,
    CaseTests,
    CommandTests,
    Comparison,
    OutputComparison,
    StdinCase,
    StdinTests,
    SuiteTests,
    Tests,
)

STYLES = ("cases", "asserts", "stdin", "suite", "command")
CALLING_STYLES = ("cases", "asserts")
"""Styles that call the entry point."""
_ONLY_WITH = {
    "comparison": ("cases", "stdin"),
    "tolerance": ("cases", "stdin"),
    "in_place": ("cases",),
    "fresh_process": ("cases",),
    "checker": ("cases",),
    "prelude": ("cases", "asserts"),
    "called": ("cases",),
}
TEST_FIELDS = (*_ONLY_WITH, *STYLES)
CASE_FIELDS = ("arguments", "expected", "visible", "comparison", "tolerance")
ASSERTS_FIELDS = ("source", "helpers", "visible")
STDIN_FIELDS = ("input", "expected", "visible")
SUITE_FIELDS = ("framework", "files", "module", "checks")
COMMAND_FIELDS = ("argv", "report", "checks", "files")


def read_tests(record: Record) -> Tests:
    """The tests of a problem. Raises FormatError naming it."""
    given = [name for name in STYLES if name in record.fields]
    if len(given) != 1:
        record.fail(f"give one of {', '.join(STYLES)}")
    (style,) = given
    for name, styles in _ONLY_WITH.items():
        if name in record.fields and style not in styles:
            record.fail(f"field {name!r} goes with {' or '.join(styles)} only")
    return _READERS[style](record)


def _case_tests(record: Record) -> CaseTests:
    default = _comparison(record, Comparison, Comparison.EXACT), record.number("tolerance", None)
    cases = tuple(
        _case(record, number, fields, *default) for number, fields in enumerate(record.objects("cases"), start=1)
    )
    if not cases:
        record.fail("it has no test: 'cases' is empty")
    checked = any(case.comparison is Comparison.CHECKER for case in cases)
    checker = record.text("checker", None)
    if checked is not (checker is not None):
        record.fail("comparison 'checker' and the field 'checker' go together")
    return CaseTests(
        cases,
        in_place=record.index("in_place", None),
        fresh_process=record.boolean("fresh_process", False),
        checker=checker,
        prelude=record.text("prelude", ""),
        called=record.string("called", None),
    )


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
    return AssertTests(
        source,
        asserts.text("helpers", ""),
        tuple(asserts.strings("visible", [])),
        prelude=record.text("prelude", ""),
    )


def _case(
    problem: Record, number: int, fields: dict[str, Any], comparison: Comparison, tolerance: float | None
) -> Case:
    record = Record(fields, key=problem.key, part=f"case {number}")
    record.only(CASE_FIELDS)
    arguments = record.array("arguments")
    if "expected" not in fields:
        record.fail("field 'expected' is missing")
    comparison = _comparison(record, Comparison, comparison)
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


_Kind = TypeVar("_Kind", Comparison, OutputComparison)


def _comparison(record: Record, kind: type[_Kind], default: _Kind) -> _Kind:
    name = record.string("comparison", default.value)
    try:
        return kind(name)
    except ValueError:
        record.fail(f"comparison {name!r} is unknown; known are {', '.join(kind)}")


def _stdin_tests(record: Record) -> StdinTests:
    comparison = _comparison(record, OutputComparison, OutputComparison.LINES)
    tolerance = record.number("tolerance", None)
    if tolerance is not None and comparison is not OutputComparison.TOKENS:
        record.fail("a tolerance goes with comparison 'tokens' only")
    cases = []
    for number, fields in enumerate(record.objects("stdin"), start=1):
        case = Record(fields, key=record.key, part=f"case {number}")
        case.only(STDIN_FIELDS)
        cases.append(StdinCase(case.text("input"), case.text("expected"), case.boolean("visible", False)))
    if not cases:
        record.fail("it has no test: 'stdin' is empty")
    return StdinTests(tuple(cases), comparison, tolerance)


def _suite_tests(record: Record) -> SuiteTests:
    suite = record.within("suite", "suite")
    suite.only(SUITE_FIELDS)
    framework = suite.filled("framework")
    if framework not in ("unittest", "pytest"):
        suite.fail(f"framework {framework!r} is unknown; known are unittest, pytest")
    return SuiteTests(
        framework="unittest" if framework == "unittest" else "pytest",
        files=suite.texts("files"),
        module=suite.string("module", "solution"),
        checks=suite.integer("checks") if "checks" in suite.fields else None,
    )


def _command_tests(record: Record) -> CommandTests:
    command = record.within("command", "command")
    command.only(COMMAND_FIELDS)
    return CommandTests(
        command=tuple(command.strings("argv")),
        report=command.filled("report"),
        checks=command.integer("checks"),
        files=command.texts("files", {}),
    )


_READERS: dict[str, Callable[[Record], Tests]] = {
    "cases": _case_tests,
    "asserts": _assert_tests,
    "stdin": _stdin_tests,
    "suite": _suite_tests,
    "command": _command_tests,
}
