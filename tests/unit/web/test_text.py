"""Untrusted text on pages."""

import pytest

from app.web.text import printable, shortened


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
