"""A Python program as text and tree at once, so that an edit of the tree can be made in the text."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.domain.syntax import parse

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_ATOMS = (
    ast.Name,
    ast.Constant,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.JoinedStr,
)
_BINDING = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Attribute, ast.Starred, ast.Await)


@dataclass(frozen=True, slots=True)
class Edit:
    """One span of the program replaced.

    `kind` names the family, on which the prior of `ranking` depends. `share` is this alternative's part among all
    alternatives of its kind at the same place. `lines` (1-based) are those whose suspicion it inherits; the first is
    where a person would look. `span` is a half-open range of bytes of the source in UTF-8.
    """

    kind: str
    share: float
    lines: tuple[int, ...]
    span: tuple[int, int]
    replacement: str


class Source:
    """A parsed program.

    Raises what `ast.parse` raises for text that is no program: SyntaxError, ValueError, RecursionError, MemoryError.
    """

    def __init__(self, text: str) -> None:
        self.tree = parse(text)
        self.bytes = text.encode()
        # The tokenizer's lines end with \n, \r\n or \r, and so do those of bytes; text would also break at \f and more.
        starts = [0]
        for line in self.bytes.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._line_starts = starts
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self._names: dict[ast.AST, frozenset[str]] = {}

    def nodes(self) -> Iterator[ast.AST]:
        """Every node that may be edited, in the order of the text.

        Left out are annotations and decorators, and the inside of f-strings, whose positions Python < 3.12 gets wrong.
        """
        waiting: list[ast.AST] = [self.tree]
        while waiting:
            node = waiting.pop()
            yield node
            if isinstance(node, ast.JoinedStr):
                continue
            children = [
                child
                for name, value in ast.iter_fields(node)
                if name not in ("annotation", "returns", "decorator_list")
                for child in (value if isinstance(value, list) else [value])
                if isinstance(child, ast.AST)
            ]
            waiting.extend(reversed(children))

    def edited(self, edit: Edit) -> str:
        """The program's text with the edit made."""
        start, end = edit.span
        return (self.bytes[:start] + edit.replacement.encode() + self.bytes[end:]).decode()

    def offset(self, line: int) -> int:
        """Where a line (1-based) starts, in bytes."""
        return self._line_starts[min(line, len(self._line_starts)) - 1]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """The node's bytes, without parentheses around it."""
        assert node.end_lineno is not None  # noqa: S101 - ast.parse sets both
        assert node.end_col_offset is not None  # noqa: S101
        return self.offset(node.lineno) + node.col_offset, self.offset(node.end_lineno) + node.end_col_offset

    def text(self, node: ast.expr | ast.stmt) -> str:
        """The node's text as written."""
        start, end = self.span(node)
        return self.bytes[start:end].decode()

    def operand(self, node: ast.expr) -> str:
        """The node's text, in parentheses unless it binds tighter than any operator."""
        text = self.text(node)
        return text if isinstance(node, _ATOMS) or text.startswith("(") else f"({text})"

    def parent(self, node: ast.AST) -> ast.AST:
        """The node around this one; the tree is its own."""
        return self._parents.get(node, self.tree)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around this one, innermost first."""
        while (parent := self._parents.get(node)) is not None:
            yield parent
            node = parent

    def function(self, node: ast.AST) -> ast.AST:
        """The innermost function around a node, or the tree."""
        return next((one for one in self.ancestors(node) if isinstance(one, Function)), self.tree)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that holds the node, or is it."""
        return next((one for one in (node, *self.ancestors(node)) if isinstance(one, ast.stmt)), None)

    def variables(self, node: ast.AST) -> frozenset[str]:
        """Names bound as variables in the functions around a node: parameters and whatever is assigned."""
        function = self.function(node)
        if function not in self._names:
            own = {
                one.arg if isinstance(one, ast.arg) else one.id
                for one in ast.walk(function)
                if isinstance(one, ast.arg) or (isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
            }
            outer = frozenset() if function is self.tree else self.variables(function)
            self._names[function] = outer | own
        return self._names[function]

    def replace(self, kind: str, share: float, node: ast.expr, replacement: str) -> Edit:
        """An edit that puts an expression in the place of another, in parentheses where operators would tear it."""
        parent = self.parent(node)
        torn = isinstance(parent, _BINDING) or (isinstance(parent, ast.Subscript | ast.Call) and node in _head(parent))
        simple = re.fullmatch(r"[\w.]+|[\[(].*[\])]|\w+\([^()]*\)", replacement) is not None
        return Edit(
            kind, share, self._lines(node), self.span(node), f"({replacement})" if torn and not simple else replacement
        )

    def replace_between(
        self, kind: str, share: float, left: ast.expr, right: ast.expr, old: str, new: str
    ) -> Iterator[Edit]:
        """An edit of the operator between two expressions, where `old` (a pattern) is found there."""
        start, end = self.span(left)[1], self.span(right)[0]
        if match := re.search(old.encode(), self.bytes[start:end]):
            lines = self._lines(self.parent(left))
            yield Edit(kind, share, lines, (start + match.start(), start + match.end()), new)

    def rewrite(self, kind: str, share: float, statement: ast.stmt, replacement: str) -> Edit:
        """An edit of a whole statement."""
        return Edit(kind, share, (statement.lineno,), self.span(statement), replacement)

    def _lines(self, node: ast.AST) -> tuple[int, ...]:
        statement = self.statement(node)
        lines = [node.lineno] if isinstance(node, ast.expr | ast.stmt) else []
        return (*lines, *([statement.lineno] if statement else ()))


def _head(parent: ast.Subscript | ast.Call) -> tuple[ast.expr]:
    return (parent.func,) if isinstance(parent, ast.Call) else (parent.value,)
