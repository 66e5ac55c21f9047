"""Text from models and programs, made fit to be shown: what would not print, or would deceive, appears as an escape."""

import re

_UNPRINTABLE = re.compile(
    # C0 controls save tab and newline (a return that belongs to a newline stays), DEL and C1,
    # lone surrogates, which UTF-8 cannot carry, noncharacters,
    # and the bidirectional controls that can make source text read otherwise than it runs.
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u200e\u200f\u202a-\u202e\u2066-\u2069]|\r(?!\n)"
)


def printable(text: str) -> str:
    r"""Replace what cannot or should not be shown by its Python escape.

    Examples
    --------
    >>> printable("a\x00b\ud800")
    'a\\x00b\\ud800'
    """
    return _UNPRINTABLE.sub(lambda match: _escape(match[0]), text)


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters, ending in … where something was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def ends(text: str, lines: int = 20, characters: int = 4000) -> tuple[str, str, str]:
    """The head of a long text, in words what is left out behind it, and the tail; a short text is all head.

    Each end has at most so many lines and characters.
    """
    if len(text) <= 2 * characters and text.count("\n") <= 2 * lines:
        return text, "", ""
    head = "".join(text[:characters].splitlines(keepends=True)[:lines])
    tail = "".join(text[-characters:].splitlines(keepends=True)[-lines:])
    between = len(text) - len(head) - len(tail)
    if between <= 0:
        return text, "", ""
    return head, f"{between:,} characters are left out here", tail


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
