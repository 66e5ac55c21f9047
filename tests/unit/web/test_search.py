"""What is searched for, counted and marked."""

from app.web.search import MOST_MARKED, lines_with, marked, occurrences


def test_case_and_special_characters_are_text() -> None:
    assert occurrences("a.b A.B axb", "a.B") == 2
    assert marked("a.b <A.B>", "a.b") == "<mark>a.b</mark> &lt;<mark>A.B</mark>&gt;"
    assert lines_with("x\nif a.b:\n    A.B\n", "a.b") == {1, 2}


def test_markup_cannot_be_smuggled_in() -> None:
    assert marked("<script>", "<s") == "<mark>&lt;s</mark>cript&gt;"


def test_what_cannot_be_printed_is_found_as_it_is_shown() -> None:
    assert occurrences("a\x00b", "\\x00") == 1
    assert marked("a\ud800", "\\ud800") == "a<mark>\\ud800</mark>"


def test_nothing_is_searched_for() -> None:
    assert (occurrences("abc", ""), occurrences(None, "a"), lines_with("abc", "")) == (0, 0, set())
    assert marked("a<b", "") == "a&lt;b"


def test_marks_are_bounded_and_no_text_is_lost() -> None:
    text = "e" * (MOST_MARKED + 10)
    shown = marked(text, "e")
    assert shown.count("<mark>") == MOST_MARKED
    assert shown.replace("<mark>", "").replace("</mark>", "") == text
