"""Syntax trees of Python programs. Pure."""

import ast
import threading
import warnings

_ONE_AT_A_TIME = threading.RLock()
"""CPython counts the depth of a tree under way for all threads together (github.com/python/cpython/issues/106905):
where two parse at once, one may end with a SystemError. Filters of warnings, too, are the whole process's."""


def parse(source: str) -> ast.Module:
    """As `ast.parse`, but from any thread, and without warnings of what somebody's program does, such as "\\d".

    Raises what that does for text that is no program: SyntaxError, ValueError (NUL, a lone surrogate), RecursionError
    and MemoryError (nested too deep).
    """
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)
