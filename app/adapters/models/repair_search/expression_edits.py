"""Small edits of expressions: one function a family, each yielding the alternatives at one node.

The families follow the patterns of single-statement fixes that Karampatsis & Sutton (ManySStuBs4J, MSR 2020) mined from
repositories (operator, operand, numeral, identifier, swapped arguments, more and less specific conditions …), and
the mutation operators of mutation testing (Jia & Harman, IEEE TSE 2011). Reusing expressions of the same function
follows the plastic-surgery hypothesis (Barr et al., FSE 2014).
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.adapters.models.repair_search.source import Edit, Source

_COMPARISON_TEXT = {
    ast.Lt: r"<",
    ast.LtE: r"<=",
    ast.Gt: r">",
    ast.GtE: r">=",
    ast.Eq: r"==",
    ast.NotEq: r"!=",
    ast.In: r"\bin\b",
    ast.NotIn: r"\bnot\s+in\b",
    ast.Is: r"\bis\b",
    ast.IsNot: r"\bis\s+not\b",
}
_COMPARISONS: dict[type[ast.cmpop], tuple[tuple[str, str, float], ...]] = {
    ast.Lt: (("boundary", "<=", 1.0), ("direction", ">", 0.6), ("direction", ">=", 0.2), ("equality", "!=", 0.2)),
    ast.LtE: (("boundary", "<", 1.0), ("direction", ">=", 0.6), ("direction", ">", 0.2), ("equality", "==", 0.2)),
    ast.Gt: (("boundary", ">=", 1.0), ("direction", "<", 0.6), ("direction", "<=", 0.2), ("equality", "!=", 0.2)),
    ast.GtE: (("boundary", ">", 1.0), ("direction", "<=", 0.6), ("direction", "<", 0.2), ("equality", "==", 0.2)),
    ast.Eq: (("equality", "!=", 0.5), ("equality", "<=", 0.25), ("equality", ">=", 0.25)),
    ast.NotEq: (("equality", "==", 0.5), ("equality", "<", 0.25), ("equality", ">", 0.25)),
    ast.In: (("equality", "not in", 1.0),),
    ast.NotIn: (("equality", "in", 1.0),),
    ast.Is: (("equality", "is not", 1.0),),
    ast.IsNot: (("equality", "is", 1.0),),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, tuple[tuple[str, float], ...]]] = {
    ast.Add: (r"\+", (("-", 0.8), ("*", 0.2))),
    ast.Sub: (r"-", (("+", 0.9), ("%", 0.1))),
    ast.Mult: (r"\*", (("+", 0.4), ("//", 0.3), ("**", 0.3))),
    ast.Div: (r"/", (("//", 0.7), ("*", 0.3))),
    ast.FloorDiv: (r"//", (("/", 0.3), ("%", 0.5), ("*", 0.2))),
    ast.Mod: (r"%", (("//", 0.9), ("/", 0.1))),
    ast.Pow: (r"\*\*", (("*", 1.0),)),
    ast.BitXor: (r"\^", (("&", 0.4), ("|", 0.3), ("**", 0.3))),
    ast.BitAnd: (r"&", (("|", 0.7), ("^", 0.3))),
    ast.BitOr: (r"\|", (("&", 0.6), ("^", 0.4))),
    ast.LShift: (r"<<", ((">>", 1.0),)),
    ast.RShift: (r">>", (("<<", 1.0),)),
}
_FUNCTION_TWINS = (
    ("min", "max"),
    ("any", "all"),
    ("floor", "ceil"),
    ("append", "extend"),
    ("startswith", "endswith"),
    ("lower", "upper"),
    ("islower", "isupper"),
    ("isdigit", "isalpha"),
    ("isalpha", "isalnum"),
    ("lstrip", "rstrip"),
    ("strip", "rstrip"),
    ("find", "rfind"),
    ("index", "rindex"),
    ("split", "rsplit"),
    ("keys", "values"),
    ("values", "items"),
    ("union", "intersection"),
    ("add", "discard"),
    ("bisect_left", "bisect_right"),
    ("int", "round"),
    ("list", "sorted"),
    ("permutations", "combinations"),
)
_TWINS: dict[str, list[str]] = defaultdict(list)
for _one, _other in _FUNCTION_TWINS:
    _TWINS[_one].append(_other)
    _TWINS[_other].append(_one)

_REUSED_AT_MOST = 12
"""Expressions of a function that are tried in the place of one of its arguments."""


def comparisons(source: Source, node: ast.AST) -> Iterator[Edit]:
    """`<` for `<=`, the direction, `==` for `!=`, `in` for `not in`."""
    if not isinstance(node, ast.Compare):
        return
    operands = [node.left, *node.comparators]
    for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
        for kind, new, share in _COMPARISONS[type(operator)]:
            yield from source.replace_between(kind, share, left, right, _COMPARISON_TEXT[type(operator)], new)


def arithmetic(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Another arithmetic or bitwise operator, also in `x += y`."""
    if isinstance(node, ast.BinOp):
        left, right, suffix = node.left, node.right, ""
    elif isinstance(node, ast.AugAssign):
        left, right, suffix = node.target, node.value, "="
    else:
        return
    if _is_sequence(left) or _is_sequence(right):
        return  # lists and strings know + and * only, and neither stands for the other
    old, alternatives = _ARITHMETIC.get(type(node.op), ("", ()))
    for new, share in alternatives:
        yield from source.replace_between("arithmetic", share, left, right, old + suffix, new + suffix)


def operands(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Operands swapped where the order matters, and one of two left out."""
    if not isinstance(node, ast.BinOp):
        return
    left, right = source.operand(node.left), source.operand(node.right)
    between = source.bytes[source.span(node.left)[1] : source.span(node.right)[0]].decode().strip(" ()")
    if isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod | ast.Pow):
        share = 0.2 if _is_number(node.left) or _is_number(node.right) else 1.0
        yield source.replace("operands", share, node, f"{right} {between} {left}")
    elif isinstance(node.op, ast.Add) and not _is_number(node.left) and not _is_number(node.right):
        yield source.replace("operands", 0.5, node, f"{right} {between} {left}")
    if isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod):
        for kept, dropped in ((node.left, node.right), (node.right, node.left)):
            # A constant operand is the one likelier to be too much: `1 + f(x)`, `n - 1`.
            yield source.replace("drop", 0.7 if _is_number(dropped) else 0.3, node, source.text(kept))


def constants(source: Source, node: ast.AST) -> Iterator[Edit]:
    """An integer one more or one less, True for False, an initial value for another."""
    if not isinstance(node, ast.Constant):
        return
    value, parent = node.value, source.parent(node)
    if isinstance(value, bool):
        yield source.replace("boolean", 1.0, node, str(not value))
    elif isinstance(value, int):
        kind = "bound" if _is_bound(source, node) else "constant"
        yield source.replace(kind, 0.5, node, str(value + 1))
        yield source.replace(kind, 0.5, node, str(value - 1))
        if isinstance(parent, ast.Assign | ast.AnnAssign) and value in (-1, 0, 1):
            for other, share in (("0", 0.2), ("1", 0.2), ("float('-inf')", 0.3), ("float('inf')", 0.3)):
                if other != str(value):
                    yield source.replace("initial", share, node, other)


def infinities(source: Source, node: ast.AST) -> Iterator[Edit]:
    """`inf` for `-inf` and for 0."""
    if isinstance(node, ast.Call) and source.text(node).replace('"', "'") in ("float('inf')", "float('-inf')"):
        text = source.text(node)
        yield source.replace(
            "initial", 0.7, node, text.replace("-", "") if "-" in text else text.replace("inf", "-inf")
        )
        yield source.replace("initial", 0.3, node, "0")


def off_by_one(source: Source, node: ast.AST) -> Iterator[Edit]:
    """One more or one less for an index, a bound of a range or slice, an argument or a returned value."""
    if not isinstance(node, ast.Name | ast.BinOp | ast.Call | ast.Attribute | ast.Subscript):
        return
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add | ast.Sub | ast.FloorDiv | ast.Mult):
        return
    kind = _off_by_one_kind(source, node)
    if kind is None or _is_sequence(node):
        return
    if isinstance(node, ast.BinOp) and _is_number(node.right) and isinstance(node.op, ast.Add | ast.Sub):
        return  # `n - 1`: its constant is edited instead
    text = source.text(node)
    yield source.replace(kind, 0.5, node, f"{text} + 1")
    yield source.replace(kind, 0.5, node, f"{text} - 1")


def conditions(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A condition negated, `not` dropped, `and` for `or`, one part of a condition left out."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield source.replace("negation", 1.0, node, source.text(node.operand))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield source.replace("drop", 0.5, node, source.text(node.operand))
    elif isinstance(node, ast.BoolOp):
        old, new = (r"\band\b", "or") if isinstance(node.op, ast.And) else (r"\bor\b", "and")
        for n, (left, right) in enumerate(pairwise(node.values)):
            yield from source.replace_between("logic", 1.0 / (len(node.values) - 1), left, right, old, new)
            rest = f" {'and' if new == 'or' else 'or'} ".join(
                source.text(value) for k, value in enumerate(node.values) if k != n
            )
            yield source.replace("specific", 1.0 / len(node.values), node, rest)
        rest = f" {'and' if new == 'or' else 'or'} ".join(source.text(value) for value in node.values[:-1])
        yield source.replace("specific", 1.0 / len(node.values), node, rest)
    elif isinstance(node, ast.If | ast.While | ast.IfExp | ast.comprehension):
        for test in node.ifs if isinstance(node, ast.comprehension) else [node.test]:
            yield from _of_test(source, test)


def _of_test(source: Source, test: ast.expr) -> Iterator[Edit]:
    names = sorted(source.variables(test))
    if isinstance(test, ast.Constant):
        for name in names:
            yield source.replace("guard", 1.0 / len(names), test, name)
        return
    if isinstance(test, ast.Name | ast.Call | ast.Attribute | ast.Subscript):
        yield source.replace("negation", 1.0, test, f"not {source.text(test)}")
    used = {one.id for one in ast.walk(test) if isinstance(one, ast.Name)}
    parameters = [name for name in names if name not in used and name in _parameters(source, test)]
    for name in parameters:
        share = 0.5 / len(parameters)
        whole = source.text(test) if not isinstance(test, ast.BoolOp | ast.IfExp) else f"({source.text(test)})"
        yield source.replace("guard", share, test, f"{whole} or not {name}")
        yield source.replace("guard", share, test, f"{whole} and {name}")


def identifiers(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Another variable in scope, preferred where it is used in the same ways; another attribute or method."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        candidates = source.variables(node) - {node.id}
        parent = source.parent(node)
        if node.id not in source.variables(node) or (isinstance(parent, ast.Call) and parent.func is node):
            return
        roles = _roles(source, source.function(node))
        weights = {name: 0.2 + _overlap(roles[node.id], roles[name]) for name in sorted(candidates)}
        total = sum(weights.values())
        for name, weight in weights.items():
            yield source.replace("variable", weight / total, node, name)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        called = _is_called(source, node)
        others = sorted(
            {
                one.attr
                for one in ast.walk(source.tree)
                if isinstance(one, ast.Attribute) and one.attr != node.attr and _is_called(source, one) == called
            }
            - set(_TWINS.get(node.attr, ()))
        )
        for attribute in others:
            replacement = f"{source.operand(node.value)}.{attribute}"
            yield source.replace("attribute", 1.0 / len(others), node, replacement)


def functions(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A function or method for its twin, a reversed order, a call left out."""
    if not isinstance(node, ast.Call):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    twins = _TWINS.get(name, ())
    for twin in twins:
        new = f"{source.operand(node.func.value)}.{twin}" if isinstance(node.func, ast.Attribute) else twin
        share = (
            0.3 if name in ("append", "extend") else 1.0
        )  # mixing these up mostly fails at once, so it is rarely left
        yield source.replace("twin", share / len(twins), node.func, new)
    if name in ("sorted", "sort"):
        yield from _reversed_order(source, node)
    if name == "pop" and isinstance(node.func, ast.Attribute):
        text = source.text(node.func)
        yield source.replace("twin", 0.5, node, f"{text}()" if node.args else f"{text}(0)")
    if len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred | ast.GeneratorExp):
        yield source.replace("uncall", 1.0, node, source.text(node.args[0]))


def _reversed_order(source: Source, node: ast.Call) -> Iterator[Edit]:
    for keyword in node.keywords:
        if keyword.arg == "reverse":
            return  # its True or False is edited as a constant
    inside = [source.text(argument) for argument in node.args]
    inside += [f"{keyword.arg}={source.text(keyword.value)}" for keyword in node.keywords if keyword.arg]
    yield source.replace("twin", 0.5, node, f"{source.text(node.func)}({', '.join([*inside, 'reverse=True'])})")


def arguments(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Two arguments or two targets of a tuple swapped, `min(x, …)` around an argument, a slice of it, a difference."""
    if isinstance(node, ast.Call):
        own = isinstance(node.func, ast.Name) and node.func.id in _defined(source)
        yield from _swaps(source, "swap", node.args, 0.2 if _in_place(source, node) else 1.0 if own else 0.4)
        for argument in node.args:
            yield from _reworked(source, argument, 1.0 if own else 0.3)
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
        yield from _swaps(source, "swap", node.elts, 0.4)
    elif isinstance(node, ast.For | ast.comprehension):
        yield from _reworked(source, node.iter, 0.5)


def _in_place(source: Source, call: ast.Call) -> bool:
    """Whether a recursive call passes something made of each parameter alone in that parameter's own place."""
    function = source.function(call)
    if not (
        isinstance(function, ast.FunctionDef) and isinstance(call.func, ast.Name) and call.func.id == function.name
    ):
        return False
    return all(
        {one.id for one in ast.walk(argument) if isinstance(one, ast.Name)} == {parameter.arg}
        for argument, parameter in zip(call.args, function.args.args, strict=False)
    )


def _swaps(source: Source, kind: str, items: Sequence[ast.expr], share: float) -> Iterator[Edit]:
    """Neighbours swapped, in one span from the first to the second, so that what lies between stays."""
    for left, right in pairwise(items):
        if isinstance(left, ast.Starred) or isinstance(right, ast.Starred) or ast.dump(left) == ast.dump(right):
            continue
        (start, left_end), (right_start, end) = source.span(left), source.span(right)
        between = source.bytes[left_end:right_start].decode()
        edit = source.replace(kind, share / (len(items) - 1), left, "")
        yield Edit(kind, edit.share, edit.lines, (start, end), source.text(right) + between + source.text(left))


def _reworked(source: Source, argument: ast.expr, share: float) -> Iterator[Edit]:
    if not isinstance(argument, ast.Name):
        return
    name = argument.id
    others = sorted(source.variables(argument) - {name})
    for piece in ("[1:]", "[:-1]"):
        yield source.replace("slice", share / 2, argument, name + piece)
    for other in others:
        yield source.replace("slice", share / 4 / len(others), argument, f"{name}[{other}:]")
        yield source.replace("combine", share / 2 / len(others), argument, f"{name} - {other}")
        yield source.replace("combine", share / 4 / len(others), argument, f"{name} + {other}")


def literals(source: Source, node: ast.AST) -> Iterator[Edit]:
    """An empty list that should hold something, where it is returned."""
    if isinstance(node, ast.List) and not node.elts and isinstance(source.parent(node), ast.Return):
        yield source.replace("empty", 0.5, node, "[[]]")
        parameters = sorted(_parameters(source, node))
        for name in parameters:
            yield source.replace("empty", 0.5 / len(parameters), node, f"[{name}]")


def reuse(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Another expression of the same function in the place of an argument, an operand or a returned value."""
    if not isinstance(node, ast.Name | ast.Subscript | ast.Call | ast.List | ast.Constant):
        return
    parent = source.parent(node)
    if not (isinstance(parent, ast.Call) and node in parent.args) and not isinstance(
        parent, ast.Return | ast.BinOp | ast.Compare
    ):
        return
    found = Counter(
        source.text(one)
        for one in ast.walk(source.function(node))
        if isinstance(one, ast.Subscript | ast.Call | ast.BinOp | ast.Compare)
        and not isinstance(getattr(one, "ctx", None), ast.Store)
        and node not in ast.walk(one)
        and not any(isinstance(around, ast.JoinedStr) for around in source.ancestors(one))
    )
    common = [text for text, _ in found.most_common(_REUSED_AT_MOST) if len(text) < 40 and "\n" not in text]
    for text in common:
        yield source.replace("reuse", 1.0 / len(common), node, text)


def _off_by_one_kind(source: Source, node: ast.expr) -> str | None:
    if _is_bound(source, node):
        return "bound"
    parent = source.parent(node)
    if isinstance(parent, ast.Return) and not isinstance(node, ast.Call):
        return "returned"
    if isinstance(parent, ast.Call) and node in parent.args and isinstance(parent.func, ast.Name):
        return "argument" if parent.func.id in _defined(source) else None
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult) and isinstance(parent.left, ast.List):
        return "bound"
    return None


def _is_bound(source: Source, node: ast.expr) -> bool:
    """Whether the node is an index, a bound of a slice, an argument of `range`, or a part added to one."""
    parent = source.parent(node)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub):
        return _is_bound(source, parent)
    if isinstance(parent, ast.Tuple) and isinstance(source.parent(parent), ast.Subscript):
        return True
    if isinstance(parent, ast.Subscript):
        return node is parent.slice
    if isinstance(parent, ast.Call):
        return node in parent.args and isinstance(parent.func, ast.Name) and parent.func.id == "range"
    return isinstance(parent, ast.Slice)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_sequence(node: ast.expr) -> bool:
    """Whether the text alone says that this is a list or string, or a concatenation with one."""
    if isinstance(node, ast.BinOp):
        return _is_sequence(node.left) or _is_sequence(node.right)
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Slice)
    return isinstance(node, ast.List | ast.ListComp | ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _is_called(source: Source, node: ast.Attribute) -> bool:
    parent = source.parent(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _defined(source: Source) -> frozenset[str]:
    return frozenset(one.name for one in ast.walk(source.tree) if isinstance(one, ast.FunctionDef))


def _parameters(source: Source, node: ast.AST) -> frozenset[str]:
    function = source.function(node)
    if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return frozenset(argument.arg for argument in function.args.args)
    return frozenset()


def _roles(source: Source, function: ast.AST) -> dict[str, set[str]]:
    """How each variable of a function is used: as index, operand, argument n of f, what is iterated …"""
    roles: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(function):
        if not isinstance(node, ast.Name):
            continue
        parent = source.parent(node)
        role = type(parent).__name__
        if isinstance(parent, ast.Call) and node in parent.args:
            role = f"argument {parent.args.index(node)} of {ast.dump(parent.func)}"
        elif isinstance(parent, ast.Subscript):
            role = "indexed" if parent.value is node else "index"
        elif isinstance(parent, ast.Attribute):
            role = f"has {parent.attr}"
        elif isinstance(parent, ast.For | ast.comprehension):
            role = "iterated" if parent.iter is node else "bound by a loop"
        roles[node.id].add(role)
    return roles


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


EXPRESSION_EDITS = (
    comparisons,
    arithmetic,
    operands,
    constants,
    infinities,
    off_by_one,
    conditions,
    identifiers,
    functions,
    arguments,
    literals,
    reuse,
)
