"""Turns `check(candidate)` test code into cases, where that can be done exactly.

Pure analysis of the syntax tree; the test is never executed. A test converts as a whole or not at all: it must consist
of assertions about calls of the candidate with constant arguments, of assignments of constants and of loops over them.

| assertion | case |
|---|---|
| `assert candidate(a, b) == value` (either way round) | exact |
| `assert candidate(a) is True` (False, None) | exact |
| `assert candidate(a) in [x, y]` | any of |
| `assert abs(candidate(a) - x) < eps` (also `<=`) | float, tolerance eps |
| `assert True` | none: it checks nothing |

`assert candidate(a)` and `assert not candidate(a)` stay code: they accept every true or false value, not one. Likewise
`tuple(candidate(a)) == …`, which accepts any iterable.
"""

import ast
import builtins
import math
from collections.abc import Iterator
from typing import Any, NoReturn

from app.datasets.literals import Evaluator, NotConstant
from app.domain.codec import CodecError, encode
from app.domain.problems import Case, Comparison

CANDIDATE = "candidate"
MAX_CASES = 20_000
"""More cases than any public set has in one problem; a loop must not make unbounded many."""


class NotConvertible(ValueError):
    """The test is more than a list of constant calls; the message says what stands in the way."""


def literal_cases(check: ast.FunctionDef) -> list[Case]:
    """The cases a `check(candidate)` function asserts, in order.

    Raises NotConvertible where any statement cannot be expressed exactly, and where nothing is asserted.
    """
    if [argument.arg for argument in check.args.args] != [CANDIDATE] or check.decorator_list:
        raise NotConvertible(f"check does not take just `{CANDIDATE}`")
    try:
        cases = list(_Reader().cases(check.body))
    except NotConstant as error:
        raise NotConvertible(str(error)) from error
    if not cases:
        raise NotConvertible("it asserts nothing about the candidate")
    return cases


def constant_call(node: ast.expr, function: str, evaluator: Evaluator) -> tuple[Any, ...] | None:
    """The arguments of `function(constants…)`; None where the expression is anything but a call of that name.

    Raises NotConstant for keyword, starred and non-constant arguments.
    """
    match node:
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords) if name == function:
            if keywords:
                raise NotConstant("keyword arguments")
            return tuple(evaluator.value(argument) for argument in arguments)
        case _:
            return None


class _Reader:
    """Walks the statements of one check function, keeping the values of its variables."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {}
        # Mutable values handed to the candidate, which may have changed them. They are kept alive here so that their
        # ids stay theirs.
        self._escaped: dict[int, Any] = {}
        self._evaluator = Evaluator(self._names, guard=self._refuse_escaped)
        self._count = 0

    def cases(self, statements: list[ast.stmt]) -> Iterator[Case]:
        for statement in statements:
            match statement:
                case ast.Assert(test=test):
                    yield from self._checked(test)
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name != CANDIDATE:
                    self._names[name] = self._evaluator.value(value)
                case ast.For(target=target, iter=table, body=body, orelse=[]):
                    for item in self._table(table):
                        self._refuse_escaped(item)
                        self._bind(target, item)
                        yield from self.cases(body)
                case ast.Pass() | ast.Expr(value=ast.Constant()):
                    pass
                case ast.Expr(value=ast.Name(id=name)) if hasattr(builtins, name):
                    pass  # a bare `print`, as one HumanEval test has it, does nothing
                case _:
                    raise NotConvertible(f"the statement `{ast.unparse(statement).splitlines()[0][:80]}`")

    def _table(self, node: ast.expr) -> list[Any] | tuple[Any, ...] | range | str:
        table = self._evaluator.value(node)
        if not isinstance(table, list | tuple | range | str):
            raise NotConvertible(f"the loop over `{ast.unparse(node)[:80]}`")
        return table

    def _bind(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name) if name != CANDIDATE:
                self._names[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts) if isinstance(value, tuple | list) and len(parts) == len(
                value
            ):
                for part, item in zip(parts, value, strict=True):
                    self._bind(part, item)
            case _:
                raise NotConvertible(f"the loop variable `{ast.unparse(target)[:80]}`")

    def _checked(self, test: ast.expr) -> list[Case]:
        try:
            return list(self._assertion(test))
        except NotConstant as error:
            raise NotConvertible(f"{error} in the assertion `{ast.unparse(test)[:80]}`") from error

    def _assertion(self, test: ast.expr) -> Iterator[Case]:
        self._count += 1
        if self._count > MAX_CASES:
            raise NotConvertible("it asserts too much")
        match test:
            case ast.Constant(value=True):
                return
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                yield self._equal(test, left, right)
            case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=True | False | None as value)]):
                yield _case(self._call(test, left), value)
            case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.List() | ast.Tuple() as options]):
                arguments = self._call(test, left)
                values = list(self._evaluator.value(options))
                yield _case(arguments, values, Comparison.ANY_OF)
            case ast.Compare(
                left=ast.Call(
                    func=ast.Name(id="abs"),
                    args=[ast.BinOp(left=left, op=ast.Sub(), right=right)],
                    keywords=[],
                ),
                ops=[ast.Lt() | ast.LtE()],
                comparators=[bound],
            ) if "abs" not in self._names:
                arguments = self._call(test, left)
                yield self._close(test, arguments, self._evaluator.value(right), self._evaluator.value(bound))
            case _:
                self._refuse(test)

    def _equal(self, test: ast.expr, left: ast.expr, right: ast.expr) -> Case:
        arguments = constant_call(left, CANDIDATE, self._evaluator)
        if arguments is not None:
            self._escape(arguments)
            return _case(arguments, self._evaluator.value(right))
        expected = self._evaluator.value(left)
        arguments = self._call(test, right)
        self._refuse_escaped(expected)
        return _case(arguments, expected)

    def _close(self, test: ast.expr, arguments: tuple[Any, ...], expected: Any, bound: Any) -> Case:
        if not isinstance(expected, int | float) or not isinstance(bound, int | float):
            self._refuse(test)
        try:
            expected, bound = float(expected), float(bound)
        except OverflowError:
            self._refuse(test)
        if not math.isfinite(expected) or not 0 < bound < math.inf:
            self._refuse(test)
        # The judge's tolerance is absolute or relative, whichever allows more; the test's is absolute. Above 1 the
        # relative one is the wider, so it is divided by the magnitude to come out at `bound` again.
        tolerance = bound / max(1.0, abs(expected))
        return _case(arguments, expected, Comparison.FLOAT, tolerance)

    def _call(self, test: ast.expr, node: ast.expr) -> tuple[Any, ...]:
        arguments = constant_call(node, CANDIDATE, self._evaluator)
        if arguments is None:
            self._refuse(test)
        self._escape(arguments)
        return arguments

    def _escape(self, value: Any) -> None:
        self._escaped.update((id(part), part) for part in _mutable_parts(value))

    def _refuse_escaped(self, value: Any) -> None:
        if self._escaped and any(id(part) in self._escaped for part in _mutable_parts(value)):
            raise NotConstant("a value that the candidate may have changed")

    def _refuse(self, test: ast.expr) -> NoReturn:
        raise NotConvertible(f"the assertion `{ast.unparse(test)[:80]}`")


def _case(
    arguments: tuple[Any, ...],
    expected: Any,
    comparison: Comparison = Comparison.EXACT,
    tolerance: float | None = None,
) -> Case:
    if _holds_nan(expected):
        # For the judge NaN equals NaN; for Python's == it does not.
        raise NotConvertible("it compares with NaN")
    try:
        return Case(encode(arguments), encode(expected), comparison=comparison, tolerance=tolerance)
    except CodecError as error:
        raise NotConvertible(str(error)) from error


def _parts(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, dict):
            waiting.extend(part)
            waiting.extend(part.values())
        elif isinstance(part, list | tuple | set):
            waiting.extend(part)


def _mutable_parts(value: Any) -> Iterator[Any]:
    return (part for part in _parts(value) if isinstance(part, list | dict | set))


def _holds_nan(value: Any) -> bool:
    return any(isinstance(part, float) and math.isnan(part) for part in _parts(value))
