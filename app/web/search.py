"""Finding a text in what a page shows: how often it occurs, and marked where it does. Case does not matter."""

import re

from markupsafe import Markup, escape

from app.web.text import printable

LONGEST_QUERY = 200
MOST_MARKED = 2_000
"""Marks in one text; a letter looked for in a megabyte must not make a page of marks."""


def occurrences(text: str | None, query: str) -> int:
    """How often `query` is in `text` as pages show it; 0 for no text or no query."""
    if not text or not query:
        return 0
    return sum(1 for _ in _pattern(query).finditer(printable(text)))


def marked(text: str, query: str) -> Markup:
    """The text, escaped, with every occurrence in a <mark>."""
    shown = printable(text)
    if not query:
        return escape(shown)
    parts, end = [], 0
    for number, found in enumerate(_pattern(query).finditer(shown)):
        if number == MOST_MARKED:
            break
        parts += [escape(shown[end : found.start()]), Markup("<mark>{}</mark>").format(found[0])]
        end = found.end()
    return Markup("").join([*parts, escape(shown[end:])])


def lines_with(source: str, query: str) -> set[int]:
    """Indexes of the lines of a program that hold `query`."""
    if not query:
        return set()
    pattern = _pattern(query)
    lines = printable(source).replace("\r\n", "\n").split("\n")
    return {number for number, line in enumerate(lines) if pattern.search(line)}


def _pattern(query: str) -> re.Pattern[str]:
    return re.compile(re.escape(query), re.IGNORECASE)
