"""Programs as HTML lines, coloured on the server by classes (static/css/components.css holds the colours)."""

import difflib
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup, escape
from pygments import lex
from pygments.lexers import PythonLexer
from pygments.token import Token, _TokenType

from app.web.text import printable

LONGEST = 200_000
"""Characters beyond which a program is shown plain, so that a hostile reply cannot hold a page up."""
LONGEST_LINE = 5_000
"""A line longer than this makes the lexer's expressions slow; the program is then shown plain."""
MOST_DIFFED_LINES = 4_000
"""Comparing takes time quadratic in the lines that differ."""

_GROUPS = (
    (Token.Comment, "c"),
    (Token.Literal.String, "s"),
    (Token.Literal.Number, "m"),
    (Token.Keyword, "k"),
    (Token.Operator.Word, "k"),
    (Token.Name.Function, "f"),
    (Token.Name.Class, "f"),
    (Token.Name.Decorator, "d"),
    (Token.Name.Builtin, "b"),
    (Token.Name.Exception, "b"),
)


def highlighted_lines(source: str) -> list[Markup]:
    """The lines of a Python program, escaped and coloured.

    Never fails: what the lexer cannot read is plain text, and what cannot be shown is an escape.
    """
    plain = _lines(source)
    text = "\n".join(plain)
    if len(text) > LONGEST or any(len(line) > LONGEST_LINE for line in plain):
        return [escape(line) for line in plain]
    lines: list[list[tuple[str, str]]] = [[]]
    for kind, value in lex(text, PythonLexer(stripnl=False, ensurenl=False)):
        css = _css_class(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append((css, part))
    return [_markup(line) for line in lines]


def changed_lines(before: str, after: str) -> set[int]:
    """Indexes of the lines of `after` that `before` does not have in this place."""
    old, new = _lines(before), _lines(after)
    if len(old) + len(new) > MOST_DIFFED_LINES:
        return set()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return {line for tag, _, _, start, end in matcher.get_opcodes() if tag != "equal" for line in range(start, end)}


class DiffLine(NamedTuple):
    """A line of a diff: `sign` is "+", "-", " ", or "@" for a gap, whose text names the place in the older program.

    `number` is the line's in the newer program, of a removed one in the older; a gap has none.
    """

    sign: str
    number: int | None
    text: Markup


def diff_lines(before: str, after: str) -> list[DiffLine]:
    """What changed, coloured, with three lines around each change; empty where nothing did."""
    old, new = _lines(before), _lines(after)
    if len(old) + len(new) > MOST_DIFFED_LINES:
        return [DiffLine("@", None, Markup("the programs are too long to compare here"))]
    shown_old, shown_new = highlighted_lines(before), highlighted_lines(after)
    lines = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(3):
        lines.append(DiffLine("@", None, Markup("line {}").format(group[0][1] + 1)))
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                lines += [DiffLine(" ", n + 1, shown_new[n]) for n in range(new_start, new_end)]
            else:
                lines += [DiffLine("-", n + 1, shown_old[n]) for n in range(old_start, old_end)]
                lines += [DiffLine("+", n + 1, shown_new[n]) for n in range(new_start, new_end)]
    return lines


def _lines(source: str) -> list[str]:
    return printable(source).replace("\r\n", "\n").rstrip("\n").split("\n")


def _markup(tokens: list[tuple[str, str]]) -> Markup:
    """A line's tokens; neighbours of one colour share an element."""
    line = Markup("")
    for css, group in groupby(tokens, key=lambda token: token[0]):
        part = "".join(text for _, text in group)
        line += Markup('<span class="{}">{}</span>').format(css, part) if css else escape(part)
    return line


def _css_class(kind: _TokenType) -> str:
    return next((css for group, css in _GROUPS if kind in group), "")
