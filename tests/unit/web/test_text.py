"""Untrusted text on pages."""

import pytest

from app.web.text import ends, printable, shortened


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\x00b", "a\\x00b"),
        ("\ud800", "\\ud800"),
        ("\u202eabc", "\\u202eabc"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("line\r\nline", "line\r\nline"),
        ("over\rwritten", "over\\x0dwritten"),
        ("λ × 😀", "λ × 😀"),
    ],
)
def test_what_cannot_be_shown_becomes_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown
    shown.encode()


def test_a_long_text_is_cut_with_a_mark() -> None:
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefg", 6) == "abcde…"


@pytest.mark.parametrize(
    ("text", "head", "between", "tail"),
    [
        ("", "", "", ""),
        ("1\n2\n3\n4\n", "1\n2\n3\n4\n", "", ""),
        # Lines of two characters: two at each end, and "3\n" between them.
        ("1\n2\n3\n4\n5\n", "1\n2\n", "2 characters are left out here", "4\n5\n"),
        # One long line: ten characters at each end.
        ("a" * 15 + "b" * 15, "a" * 10, "10 characters are left out here", "b" * 10),
        ("a" * 20, "a" * 20, "", ""),
    ],
)
def test_the_ends_of_a_long_output(text: str, head: str, between: str, tail: str) -> None:
    assert ends(text, lines=2, characters=10) == (head, between, tail)
