"""Questions about Python source that are answered from its syntax tree. Pure: nothing is executed."""

import ast

from app.domain import syntax


class Unparsable(ValueError):
    """The text is no Python module; the message is the compiler's."""


def parse(source: str) -> ast.Module:
    """The module's syntax tree.

    Raises Unparsable for a syntax error, for NUL bytes and lone surrogates, and for code nested too deep.
    """
    try:
        return syntax.parse(source)
    except SyntaxError as error:
        where = f" (line {error.lineno} of the source)" if error.lineno else ""
        raise Unparsable(f"{error.msg}{where}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unparsable(str(error) or type(error).__name__) from error


def function(module: ast.Module, name: str) -> ast.FunctionDef | None:
    """The top-level function of that name which is in force at the end (the last one), None where there is none."""
    found = [
        statement for statement in module.body if isinstance(statement, ast.FunctionDef) and statement.name == name
    ]
    return found[-1] if found else None


def defined_names(statements: list[ast.stmt]) -> set[str]:
    """Names that statements bind by def, class, assignment or import."""
    names: set[str] = set()
    for statement in statements:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names.update(node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names.update((alias.asname or alias.name).partition(".")[0] for alias in aliases)
            case _:
                pass
    return names


def used_names(module: ast.Module) -> set[str]:
    """Every name the code reads anywhere."""
    return {node.id for node in ast.walk(module) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def head(source: str, entry_point: ast.FunctionDef) -> str | None:
    """The function's definition up to the end of its docstring; None without a docstring.

    Imports and helpers above it are left out: they belong to one solution.
    """
    first = entry_point.body[0]
    if ast.get_docstring(entry_point, clean=False) is None or first.lineno == entry_point.lineno:
        return None
    return "".join(source.splitlines(keepends=True)[entry_point.lineno - 1 : first.end_lineno])


class Rename(ast.NodeTransformer):
    """Renames every use of a name. Changes the tree it visits."""

    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id == self._old:
            node.id = self._new
        return node
