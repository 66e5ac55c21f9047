"""A small evaluator of constant Python expressions, such as `2 ** 10`, `[1] * 3` or `float("inf")`.

Pure and bounded: it walks the syntax tree, knows a short list of operations on built-in values, and calls nothing that
the expression brings along. What it does not know, or what would grow too large, raises `NotConstant`; the caller then
leaves the code as code.
"""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

MAX_BITS = 16_384
"""Largest integer built by an operation; room for about 4,900 decimal digits, above what Python writes as a literal."""
MAX_STEPS = 2_000_000
"""Most steps of one evaluator: nodes visited (in loops at each turn) plus items handled by the built-ins and operators.
About a second of work and 100 MB, reached only by a file made for it."""
CHARACTERS_A_STEP = 64
"""Characters are handled in bulk, far faster than items of a list."""
MAX_DEPTH = 100
"""Deepest nesting of an expression; Python's own parser stops near here for brackets."""


class NotConstant(ValueError):
    """The expression is not one this evaluator can compute; the message says which part."""


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
SEQUENCES = (str, bytes, list, tuple)
CONTAINERS = (list, tuple, set, dict, range)


def _numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float) for value in values)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "bool": bool,
    "float": float,
    "int": int,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "range": range,
    "set": set,
    "sorted": sorted,
    "str": str,
    "sum": sum,
    "tuple": tuple,
}
"""Built-ins that take time and space (nearly) proportional to the size of their arguments."""


class Evaluator:
    """Evaluates expressions over named values. The steps of one evaluator are counted together.

    `names` maps names to values, and shadows the built-ins known here. `guard(value)` is asked at each name that is
    read and may refuse it by raising NotConstant.
    """

    def __init__(
        self, names: Mapping[str, Any] = MappingProxyType({}), *, guard: Callable[[Any], None] | None = None
    ) -> None:
        self._names = names
        self._guard = guard
        self._steps = 0
        self._depth = 0

    def value(self, node: ast.expr) -> Any:
        """The expression's value. Raises NotConstant."""
        try:
            value = self._visit(node, {})
            self._charge_all(value)
            return value
        except NotConstant:
            raise
        except (ArithmeticError, TypeError, ValueError, LookupError, RecursionError) as error:
            # The expression itself is at fault, for example 1 / 0 or int("x").
            raise NotConstant(f"{_shown(node)} raises {type(error).__name__}") from error

    def _visit(self, node: ast.expr, local: Mapping[str, Any]) -> Any:
        self._charge(1)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotConstant("an expression nested too deep")
        try:
            return self._dispatch(node, local)
        finally:
            self._depth -= 1

    def _charge(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise NotConstant("an expression that takes too many steps or makes too large a value")

    def _charge_all(self, *values: Any) -> None:
        """Charge for every item inside, shared ones each time: `[[0] * 1000] * 1000` takes little memory, but comparing
        or encoding it takes a million steps.
        """
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            if isinstance(value, CONTAINERS):
                self._charge(len(value))
                if isinstance(value, dict):
                    waiting.extend(value.values())
                if not isinstance(value, range):
                    waiting.extend(value)
            elif isinstance(value, str | bytes):
                self._charge(len(value) // CHARACTERS_A_STEP)

    def _charge_repeated(self, value: Any, times: int) -> None:
        length = len(value) * max(times, 0)
        self._charge(length // CHARACTERS_A_STEP if isinstance(value, str | bytes) else length)

    def _dispatch(self, node: ast.expr, local: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                if value is ... or isinstance(value, complex):
                    raise _refused(node)
                return value
            case ast.Name(id=name):
                return self._name(name, local)
            case ast.List(elts=items):
                return self._items(items, local)
            case ast.Tuple(elts=items):
                return tuple(self._items(items, local))
            case ast.Set(elts=items):
                members = self._items(items, local)
                self._charge_all(*members)
                return set(members)
            case ast.Dict(keys=keys, values=values):
                return self._dict(node, keys, values, local)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
                value = self._visit(operand, local)
                if not isinstance(op, ast.Not) and not _numbers(value):
                    raise _refused(node)
                return UNARY[type(op)](value)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                return self._binary(node, type(op), self._visit(left, local), self._visit(right, local))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE:
                first, second = self._visit(left, local), self._visit(right, local)
                self._charge_all(first, second)
                return COMPARE[type(op)](first, second)
            case ast.BoolOp(op=op, values=values):
                return self._boolean(op, values, local)
            case ast.Subscript(value=container, slice=index) if not isinstance(index, ast.Slice):
                return self._visit(container, local)[self._visit(index, local)]
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(node, name, arguments, local)
            case ast.ListComp(elt=element, generators=[generator]):
                return [self._visit(element, scope) for scope in self._scopes(node, generator, local)]
            case _:
                raise _refused(node)

    def _name(self, name: str, local: Mapping[str, Any]) -> Any:
        if name in local:
            return local[name]
        if name not in self._names:
            raise NotConstant(f"the name {name}")
        value = self._names[name]
        if self._guard is not None:
            self._guard(value)
        return value

    def _items(self, items: list[ast.expr], local: Mapping[str, Any]) -> list[Any]:
        return [self._visit(item, local) for item in items]

    def _dict(
        self, node: ast.Dict, keys: list[ast.expr | None], values: list[ast.expr], local: Mapping[str, Any]
    ) -> dict[Any, Any]:
        result = {}
        for key, value in zip(keys, values, strict=True):
            if key is None:
                raise _refused(node)
            name = self._visit(key, local)
            self._charge_all(name)
            result[name] = self._visit(value, local)
        return result

    def _binary(self, node: ast.BinOp, op: type[ast.operator], left: Any, right: Any) -> Any:
        if _numbers(left, right):
            if isinstance(left, int) and isinstance(right, int):
                _check_bits(op, left, right)
        elif op is ast.Mult and isinstance(left, SEQUENCES) and isinstance(right, int):
            self._charge_repeated(left, right)
        elif op is ast.Mult and isinstance(left, int) and isinstance(right, SEQUENCES):
            self._charge_repeated(right, left)
        elif op is ast.Add and type(left) is type(right) and isinstance(left, SEQUENCES):
            self._charge_repeated(left + right, 1)
        else:
            raise _refused(node)  # "%" on strings formats, set arithmetic: rare, and left to code
        return BINARY[op](left, right)

    def _boolean(self, op: ast.boolop, values: list[ast.expr], local: Mapping[str, Any]) -> Any:
        value = None
        for part in values:
            value = self._visit(part, local)
            if bool(value) is isinstance(op, ast.Or):
                break
        return value

    def _call(self, node: ast.Call, name: str, arguments: list[ast.expr], local: Mapping[str, Any]) -> Any:
        if name not in FUNCTIONS or name in self._names or name in local:
            raise _refused(node)
        values = self._items(arguments, local)
        if name == "str" and not (len(values) == 1 and isinstance(values[0], str | int)):
            raise _refused(node)
        if name == "sum" and not (len(values) == 1 and _numbers(*values[0])):
            raise _refused(node)  # a sum of lists takes quadratic time
        self._charge_all(*values)
        result = FUNCTIONS[name](*values)
        if isinstance(result, CONTAINERS):
            self._charge(len(result))
        return result

    def _scopes(
        self, node: ast.expr, generator: ast.comprehension, local: Mapping[str, Any]
    ) -> Iterator[dict[str, Any]]:
        if generator.is_async or not isinstance(generator.target, ast.Name):
            raise _refused(node)
        for item in self._visit(generator.iter, local):
            scope = {**local, generator.target.id: item}
            if all(self._visit(condition, scope) for condition in generator.ifs):
                yield scope


def _shown(node: ast.expr) -> str:
    try:
        return ast.unparse(node)[:80]
    except RecursionError:
        return type(node).__name__


def _refused(node: ast.expr) -> NotConstant:
    return NotConstant(f"the expression {_shown(node)}")


def _check_bits(op: type[ast.operator], left: int, right: int) -> None:
    if op is ast.Pow:
        # A negative exponent gives a float, whose size is no danger.
        bits = left.bit_length() * max(right, 0)
    elif op is ast.Mult:
        bits = left.bit_length() + right.bit_length()
    else:
        bits = max(left.bit_length(), right.bit_length())
    if bits > MAX_BITS:
        raise NotConstant("an integer that is too large")
