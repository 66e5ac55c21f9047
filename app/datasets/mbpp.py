"""Reads MBPP in HumanEval's form: JSON Lines (or gzip of it) of prompt, whole solution and a test with three asserts.

Problems: Austin et al., 2021, "Program Synthesis with Large Language Models". The form is the one that debugging papers
use; its `given_tests` are the asserts a model is shown. The tests name the function themselves, and sometimes it is not
the one in `entry_point`: then the prompt's description stands above the wrong signature, and what the asserts call
counts.
"""

import ast
from collections.abc import Iterable
from dataclasses import replace
from textwrap import indent

from app.datasets.literal_calls import CANDIDATE, NotConvertible, constant_call, literal_cases
from app.datasets.literals import Evaluator, NotConstant
from app.datasets.problem_lines import Publication, python_module, read_lines
from app.datasets.python_source import Rename, function, used_names
from app.datasets.records import Record
from app.domain.codec import CodecError, encode
from app.domain.problems import AssertTests, CaseTests, Limits, Problem, ProblemSet
from app.domain.programs import Program

CHECK = "check"
PUBLISHED = Publication(
    "bec44f036d8100d140ddf62f23eca6dd8dd3f2ded6b5fa2c4240632803d47e31",
    "CC-BY-4.0",
    "https://github.com/google-research/google-research/tree/master/mbpp",
)
"""The test split, MBPP/11 to MBPP/510, in the form of https://github.com/FloridSleeves/LLMDebugger."""
SLOW = {"MBPP/123": Limits(cpu_seconds=20)}
"""Problems whose reference takes seconds: amicable numbers below 9,999 by trial division, about four."""


def read(data: bytes, name: str) -> ProblemSet:
    """Read MBPP.

    Tests that are lists of constant calls become cases; other tests stay code, with a note. The given asserts are part
    of the statement, and visible. Raises FormatError naming the line.
    """
    return read_lines(data, name, "mbpp", PUBLISHED, _problem)


def _problem(record: Record) -> tuple[Problem, str | None]:
    prompt = record.filled("prompt")
    solution = record.filled("canonical_solution")
    test = record.filled("test")
    named = record.filled("entry_point")
    given = record.strings("given_tests")

    reference = python_module(record, solution, "canonical_solution")
    module = python_module(record, test, "test")
    check = function(module, CHECK)
    if check is None:
        record.fail("test does not define check(candidate)")
    entry = _tested(record, reference, check)
    tests, obstacle = _tests(record, module, check, test, entry.name, given)
    shown = "\n".join(given)
    key = record.filled("task_id")
    problem = Problem(
        key=key,
        title=entry.name,
        statement=f"It must pass this test:\n\n```python\n{shown}\n```" if given else "",
        signature=_signature(record, prompt, solution, reference, entry, used_names(module)),
        entry_point=entry.name,
        tests=tests,
        reference=Program.single(solution),
        limits=SLOW.get(key, Limits()),
    )
    notes = [
        f"the tests call {entry.name}, not the entry point {named}" if named != entry.name else None,
        f"tests kept as code, because of {obstacle}" if obstacle else None,
    ]
    return problem, "; ".join(filter(None, notes)) or None


def _tested(record: Record, reference: ast.Module, check: ast.FunctionDef) -> ast.FunctionDef:
    """The function of the reference that the asserts call."""
    called = {
        node.func.id
        for statement in check.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    defined = {statement.name: statement for statement in reference.body if isinstance(statement, ast.FunctionDef)}
    tested = sorted(called.intersection(defined))
    if len(tested) != 1:
        record.fail(f"the tests must call one function of canonical_solution, not {', '.join(tested) or 'none'}")
    return defined[tested[0]]


def _tests(
    record: Record, module: ast.Module, check: ast.FunctionDef, test: str, name: str, given: list[str]
) -> tuple[CaseTests | AssertTests, str | None]:
    """The tests, and what kept them from becoming cases (None where they did)."""
    try:
        _refuse_other_code(module, check)
        cases = literal_cases(_for_candidate(check, name))
    except NotConvertible as obstacle:
        return AssertTests(_source(module, check, test, name), visible=tuple(given)), str(obstacle)
    shown = {arguments for one in given for arguments in _arguments(python_module(record, one, "given_tests"), name)}
    return CaseTests(tuple(replace(case, visible=case.arguments in shown) for case in cases)), None


def _for_candidate(check: ast.FunctionDef, name: str) -> ast.FunctionDef:
    return ast.FunctionDef(check.name, check.args, [Rename(name, CANDIDATE).visit(one) for one in check.body], [])


def _refuse_other_code(module: ast.Module, check: ast.FunctionDef) -> None:
    """Beside `check` there may be nothing but its call."""
    for statement in module.body:
        match statement:
            case ast.FunctionDef() if statement is check:
                pass
            case ast.Expr(value=ast.Call(func=ast.Name(id="check"))):
                pass
            case _:
                raise NotConvertible(f"the statement `{ast.unparse(statement).splitlines()[0][:80]}` beside check")


def _source(module: ast.Module, check: ast.FunctionDef, test: str, name: str) -> str:
    """The test without its own call of `check`; the judge makes that."""
    body = [one for one in module.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Call))]
    if name != CHECK:
        return "\n".join(ast.get_source_segment(test, one) or "" for one in body) + "\n"
    # The function under test has the name of the test.
    renamed = [_for_candidate(check, name) if one is check else one for one in body]
    return ast.unparse(ast.fix_missing_locations(ast.Module(renamed, []))) + "\n"


def _arguments(module: ast.Module, name: str) -> Iterable[str]:
    """The encoded arguments of every call of the function with constants."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            try:
                arguments = constant_call(node, name, Evaluator())
                if arguments is not None:
                    yield encode(arguments)
            except (NotConstant, CodecError):
                continue


def _signature(
    record: Record, prompt: str, solution: str, reference: ast.Module, entry: ast.FunctionDef, used: set[str]
) -> str:
    """The prompt, or its description under the head of the function that is tested.

    A class of the reference that the tests build their arguments with is part of the task.
    """
    described = python_module(record, prompt, "prompt")
    classes = [
        f"{ast.get_source_segment(solution, one)}\n\n"
        for one in reference.body
        if isinstance(one, ast.ClassDef) and one.name in used
    ]
    signature = prompt
    if function(described, entry.name) is None:
        description = next(
            (doc for one in described.body if isinstance(one, ast.FunctionDef) and (doc := ast.get_docstring(one))), ""
        )
        if not description:
            record.fail("the prompt is no function with a docstring")
        indented = indent(description, "    ")
        signature = f'def {entry.name}({ast.unparse(entry.args)}):\n    """\n{indented}\n    """\n'
    return "".join([*classes, signature])
