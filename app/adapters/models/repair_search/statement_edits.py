"""Small edits of whole statements: another jump, another way to assign, one line moved out of or into a loop."""

import ast
from collections.abc import Iterator, Sequence

from app.adapters.models.repair_search.source import Edit, Source

_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign)


def jumps(source: Source, node: ast.AST) -> Iterator[Edit]:
    """`break` for `continue` and the reverse."""
    if isinstance(node, ast.Break | ast.Continue):
        yield source.rewrite("jump", 1.0, node, "continue" if isinstance(node, ast.Break) else "break")


def assignments(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Keep the larger, keep the smaller, add instead of replacing, replace instead of adding."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        target, value = source.text(node.target), source.text(node.value)
        yield source.rewrite("assign", 0.3, node, f"{target} = {value}")
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        target, value = source.text(node.targets[0]), source.text(node.value)
        if _in_loop(source, node):
            yield source.rewrite("assign", 0.3, node, f"{target} = max({target}, {value})")
            yield source.rewrite("assign", 0.3, node, f"{target} = min({target}, {value})")
            yield source.rewrite("assign", 0.2, node, f"{target} += {value}")
        if isinstance(node.value, ast.BinOp):
            yield source.rewrite("assign", 0.2, node, f"{target} = max(0, {value})")


def returns(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A returned truth value negated; a constant one made to depend on a variable."""
    if not isinstance(node, ast.Return) or node.value is None:
        return
    value = node.value
    if isinstance(value, ast.Compare | ast.BoolOp | ast.Call):
        yield source.replace("negation", 0.3, value, f"not ({source.text(value)})")
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        names = sorted(source.variables(node))
        for name in names:
            yield source.replace("guard", 0.5 / len(names), value, f"{name} == 0")
            yield source.replace("guard", 0.3 / len(names), value, f"not {name}")


def removals(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A statement left out; the body of an `if` made unconditional by a test that always holds."""
    if isinstance(node, ast.Expr | ast.AugAssign) and not _is_docstring(node):
        yield source.rewrite("remove", 1.0, node, "pass")
    elif isinstance(node, ast.If):
        yield source.replace("always", 0.5, node.test, "True")
        yield source.replace("always", 0.5, node.test, "False")


def moves(source: Source, node: ast.AST) -> Iterator[Edit]:
    """The last statement of a loop or branch moved out of it, or the one that follows moved in."""
    if not isinstance(node, ast.For | ast.While | ast.If) or node.orelse:
        return
    last = node.body[-1]
    if len(node.body) > 1 and last.lineno > node.lineno:
        yield from _indented(source, last, node.col_offset - last.col_offset)
    following = _following(source, node)
    if following is not None and last.lineno > node.lineno:
        yield from _indented(source, following, last.col_offset - node.col_offset)


def reorderings(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Two neighbouring simple statements in the other order."""
    following = _following(source, node) if isinstance(node, _SIMPLE) else None
    if isinstance(node, _SIMPLE) and isinstance(following, _SIMPLE) and not _is_docstring(node):
        (start, left_end), (right_start, end) = source.span(node), source.span(following)
        between = source.bytes[left_end:right_start].decode()
        lines = (node.lineno, following.lineno)
        yield Edit("reorder", 1.0, lines, (start, end), source.text(following) + between + source.text(node))


def _indented(source: Source, statement: ast.stmt, columns: int) -> Iterator[Edit]:
    """The statement's lines moved by so many columns, where all of them are indented with spaces."""
    assert statement.end_lineno is not None  # noqa: S101 - ast.parse sets it
    start, end = source.offset(statement.lineno), source.offset(statement.end_lineno + 1)
    lines = source.bytes[start:end].decode().splitlines(keepends=True)
    if columns < 0 and any(line.strip() and not line.startswith(" " * -columns) for line in lines):
        return
    moved = [(line[-columns:] if columns < 0 else " " * columns + line) if line.strip() else line for line in lines]
    yield Edit("move", 1.0, (statement.lineno,), (start, end), "".join(moved))


def _following(source: Source, node: ast.stmt) -> ast.stmt | None:
    for _, block in ast.iter_fields(source.parent(node)):
        if isinstance(block, list) and node in block:
            rest: Sequence[ast.stmt] = block[block.index(node) + 1 :]
            return rest[0] if rest else None
    return None


def _in_loop(source: Source, node: ast.AST) -> bool:
    return any(isinstance(one, ast.For | ast.While) for one in source.ancestors(node))


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


STATEMENT_EDITS = (jumps, assignments, returns, removals, moves, reorderings)
