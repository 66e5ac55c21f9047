"""Finds the calls a docstring gives as examples, whatever notation stands around them.

Pure. `>>> f(1)`, `f(1) == 2`, `f(1) ➞ 2`, `f(1) returns 2` and prose that mentions `f(1)` all show the model the call
`f(1)`, so each counts.
"""

import ast
import re
from contextlib import suppress
from typing import Any

from app.datasets.literal_calls import constant_call
from app.datasets.literals import Evaluator, NotConstant
from app.datasets.python_source import Unparsable, parse
from app.domain.codec import CodecError, encode

LONGEST_CALL = 2_000
"""Characters looked at for one example, so that an opening bracket that never closes costs little."""


def example_arguments(docstring: str, function: str) -> set[str]:
    """The arguments (tuples, encoded) of each call of `function` with constant arguments in the text."""
    found: set[str] = set()
    for match in re.finditer(rf"(?<![\w.]){re.escape(function)}\(", docstring):
        arguments = _call(docstring[match.start() : match.start() + LONGEST_CALL], function)
        if arguments is not None:
            with suppress(CodecError):
                found.add(encode(arguments))
    return found


def _call(text: str, function: str) -> tuple[Any, ...] | None:
    """The call that `text` starts with: its shortest prefix up to a closing bracket that is an expression."""
    for bracket in re.finditer(r"\)", text):
        try:
            (statement,) = parse(text[: bracket.end()]).body
        except (Unparsable, ValueError):
            continue
        try:
            return constant_call(statement.value, function, Evaluator()) if isinstance(statement, ast.Expr) else None
        except NotConstant:
            return None
    return None
