"""Programs as HTML."""

import time

from app.web.highlight import LONGEST_LINE, changed_lines, diff_lines, highlighted_lines


def test_lines_are_coloured_and_escaped() -> None:
    lines = highlighted_lines("def f(x):\n    return x < 1\n")
    assert len(lines) == 2
    assert '<span class="k">def</span>' in lines[0]
    assert "&lt;" in lines[1]
    assert "<1" not in lines[1].replace(" ", "")


def test_a_string_over_several_lines_is_closed_and_opened_at_each_line() -> None:
    lines = highlighted_lines('"""a\nb"""\n')
    assert lines == ['<span class="s">&#34;&#34;&#34;a</span>', '<span class="s">b&#34;&#34;&#34;</span>']


def test_hostile_text_is_shown_as_escapes() -> None:
    text = "".join(highlighted_lines("x = '</script>\x00\ud800'"))
    assert "</script>" not in text
    assert "\\x00\\ud800" in text
    text.encode()


def test_a_very_long_line_is_shown_plain_and_at_once() -> None:
    before = time.monotonic()
    (line,) = highlighted_lines("(" * (LONGEST_LINE + 1))
    assert "<span" not in line
    assert time.monotonic() - before < 1


def test_changed_lines_are_those_the_earlier_program_lacks() -> None:
    assert changed_lines("a\nb\nc\n", "a\nB\nc\nd\n") == {1, 3}


def test_a_diff_names_lines_by_sign_and_number() -> None:
    found = diff_lines("a\nb\nif c:\n", "a\nz = 1\nd\nif c:\n")
    assert [(line.sign, line.number, str(line.text)) for line in found] == [
        ("@", None, "line 1"),
        (" ", 1, "a"),
        ("-", 2, "b"),
        ("+", 2, 'z = <span class="m">1</span>'),
        ("+", 3, "d"),
        (" ", 4, '<span class="k">if</span> c:'),
    ]
    assert diff_lines("a\n", "a\n") == []


def test_a_diff_leaves_out_what_is_far_from_a_change() -> None:
    before = "".join(f"x{n}\n" for n in range(20))
    found = diff_lines(before, before.replace("x0\n", "y\n").replace("x19\n", "z\n"))
    assert [line.text for line in found if line.sign == "@"] == ["line 1", "line 17"]
    assert [line.number for line in found if line.sign == " "] == [2, 3, 4, 17, 18, 19]
