"""Reads LeetCodeDataset: JSON Lines (or gzip of it) of LeetCode-style problems with `check(candidate)` tests.

Format: https://github.com/newfacade/LeetCodeDataset (Xia et al., 2025, "LeetCodeDataset: A Temporal Dataset for Robust
Evaluation and Efficient Training of Code LLMs"). Its harness runs `prompt`, which holds imports and helpers, then the
program, then the test, in one namespace. Here the prompt is the prelude of every program, and a call makes an instance
of its own, as LeetCode does. Arguments are named in the tests and passed in the order of the starter code.
"""

import ast
import math
import re
from collections.abc import Iterable
from dataclasses import replace

from app.datasets.literal_calls import CANDIDATE, NotConvertible, constant_call, literal_cases
from app.datasets.literals import Evaluator, NotConstant
from app.datasets.problem_lines import Publication, python_module, read_lines
from app.datasets.python_source import Unparsable, function, parse
from app.datasets.records import Record
from app.domain.codec import CodecError, encode
from app.domain.problems import AssertTests, CaseTests, Limits, Problem, ProblemSet
from app.domain.programs import Program

PUBLISHED = Publication(
    "aec951945feb555b4c72783519452a7a0437ca8c6e5624a83d0ae888718fa4ed",
    "MIT",
    "https://github.com/newfacade/LeetCodeDataset",
)
"""The test split of version 0.3.1: 228 problems published after July 2024."""
LIMITS = Limits(cpu_seconds=10)
"""A hundred cases share it; but for two, the slowest reference needs about five seconds."""
SLOW = {
    "find-the-number-of-subsequences-with-equal-gcd": Limits(cpu_seconds=80),  # about 35 seconds
    "maximum-number-of-moves-to-kill-all-pawns": Limits(cpu_seconds=40),  # about 20
}
"""Problems whose reference takes longer."""
BUILDERS = ("list_node", "tree_node")
"""Functions of the prompt that make nodes of a list of values."""
CALLED = "_halflife_call"
EXAMPLE = re.compile(r"Input:\s*(.+?)\s*Output:", re.DOTALL)


def read(data: bytes, name: str) -> ProblemSet:
    """Read LeetCodeDataset.

    Tests that are lists of constant calls become cases, and cases that are examples of the statement are visible; other
    tests stay code, with a note. Raises FormatError naming the line.
    """
    return read_lines(data, name, "leetcode", PUBLISHED, _problem)


def _problem(record: Record) -> tuple[Problem, str | None]:
    key = record.filled("task_id")
    statement = record.filled("problem_description")
    starter = record.filled("starter_code").rstrip()
    reference = record.filled("completion")
    python_module(record, reference, "completion")
    entry_point, tests, obstacle = judged_by(record, statement, starter)
    problem = Problem(
        key=key,
        title=key,
        statement=statement.strip(),
        signature=starter + "\n",
        entry_point=entry_point,
        tests=tests,
        reference=Program.single(reference),
        difficulty=record.filled("difficulty").lower(),
        limits=SLOW.get(key, LIMITS),
    )
    return problem, f"tests kept as code, because of {obstacle}" if obstacle else None


def judged_by(record: Record, statement: str, starter: str) -> tuple[str, CaseTests | AssertTests, str | None]:
    """Entry point and tests of a record with `entry_point`, `prompt` and `test`, and what kept these from being cases.

    Cases that are examples of the statement are visible. `starter` is the code that a solution begins with.
    """
    entry_point, parameters = _entry_point(record, starter)
    prelude = record.filled("prompt")
    python_module(record, prelude, "prompt")
    tests, obstacle = _tests(record, entry_point, parameters, prelude)
    if isinstance(tests, CaseTests):
        shown = set(_examples(statement, parameters))
        tests = replace(tests, cases=tuple(replace(case, visible=case.arguments in shown) for case in tests.cases))
    return entry_point, tests, obstacle


def _entry_point(record: Record, starter: str) -> tuple[str, list[str]]:
    """`Solution.method` and the method's parameters, without self."""
    named = record.filled("entry_point")
    match = re.fullmatch(r"(\w+)\(\)\.(\w+)", named)
    if match is None:
        record.fail(f"entry_point {named!r} is not of the form Solution().method")
    module = python_module(record, f"{starter} pass", "starter_code")
    body = next((one.body for one in module.body if isinstance(one, ast.ClassDef) and one.name == match[1]), [])
    method = function(ast.Module(body, []), match[2])
    if method is None:
        record.fail(f"entry_point {named!r} is not defined by starter_code")
    return f"{match[1]}.{match[2]}", [argument.arg for argument in method.args.args[1:]]


def _tests(
    record: Record, entry_point: str, parameters: list[str], prelude: str
) -> tuple[CaseTests | AssertTests, str | None]:
    """The tests, and what kept them from becoming cases (None where they did)."""
    test = record.filled("test")
    module = python_module(record, test, "test")
    check = function(module, "check")
    if check is None:
        record.fail("test does not define check(candidate)")
    calls = _PositionalCalls(parameters)
    try:
        if module.body != [check]:
            raise NotConvertible("code beside check")
        calls.visit(check)
        # The prompt's only constant.
        check.body.insert(0, ast.Assign([ast.Name("inf", ast.Store())], ast.Constant(math.inf)))
        cases = tuple(literal_cases(check))
    except NotConvertible as obstacle:
        return AssertTests(test, prelude=prelude), str(obstacle)
    if not any(calls.builders):
        return CaseTests(cases, prelude=prelude), None
    return CaseTests(cases, prelude=prelude + _adapter(entry_point, calls.builders), called=CALLED), None


def _adapter(entry_point: str, builders: list[str | None]) -> str:
    """A function that builds nodes of some arguments and calls the program's method with them."""
    owner, _, method = entry_point.partition(".")
    arguments = [
        f"{builder}(arguments[{number}])" if builder else f"arguments[{number}]"
        for number, builder in enumerate(builders)
    ]
    return f"\n\ndef {CALLED}(*arguments):\n    return {owner}().{method}({', '.join(arguments)})\n"


class _PositionalCalls(ast.NodeTransformer):
    """Rewrites `candidate(b=2, a=tree_node([1]))` to `candidate([1], 2)`, and remembers what builds which argument."""

    def __init__(self, parameters: list[str]) -> None:
        self._parameters = parameters
        self._builders: dict[str, str | None] = {}

    @property
    def builders(self) -> list[str | None]:
        """For each argument the function that makes it of its value in the cases; None where that value is passed."""
        return [self._builders.get(name) for name in self._parameters]

    def visit_Call(self, node: ast.Call) -> ast.Call:
        if not (isinstance(node.func, ast.Name) and node.func.id == CANDIDATE):
            return node
        named = dict(zip(self._parameters, node.args, strict=False))
        named |= {keyword.arg or "": keyword.value for keyword in node.keywords}
        if len(node.args) + len(node.keywords) != len(self._parameters) or named.keys() != set(self._parameters):
            raise NotConvertible(f"arguments other than {', '.join(self._parameters)}")
        return ast.Call(node.func, [self._value(name, named[name]) for name in self._parameters], [])

    def _value(self, name: str, argument: ast.expr) -> ast.expr:
        builder = None
        match argument:
            case ast.Call(func=ast.Name(id=called), args=[values], keywords=[]) if called in BUILDERS:
                builder, argument = called, values
        if self._builders.setdefault(name, builder) != builder:
            raise NotConvertible(f"nodes and plain values for {name}")
        return argument


def _examples(statement: str, parameters: list[str]) -> Iterable[str]:
    """The encoded arguments of the statement's examples, in whose notation true is True and null None."""
    evaluator = Evaluator({"true": True, "false": False, "null": None})
    for match in EXAMPLE.finditer(statement):
        try:
            (call,) = parse(f"{CANDIDATE}({match[1]})").body
            if isinstance(call, ast.Expr):
                arguments = constant_call(_PositionalCalls(parameters).visit(call.value), CANDIDATE, evaluator)
                if arguments is not None:
                    yield encode(arguments)
        except (Unparsable, ValueError, NotConvertible, NotConstant, CodecError):
            continue
