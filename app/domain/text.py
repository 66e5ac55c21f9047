"""Texts of people: numbers in words, and what a text may hold."""

import unicodedata


def count(number: int, singular: str, plural: str | None = None) -> str:
    """1 problem, 2 problems, 1,000 problems."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def has_controls(text: str) -> bool:
    r"""Whether a text of lines holds control characters besides newlines and tabs, or surrogates, which UTF-8 lacks.

    Examples
    --------
    >>> has_controls("a\n\tb\u3000c\u00a0d\u200de"), has_controls("a\x00"), has_controls("\ud800")
    (False, True, True)
    """
    return any(unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t" for character in text)
