"""Tables as CSV."""

import csv
import io

import pytest

from app.web.tables import csv_lines


def read_back(rows: list[list[object]]) -> list[list[str]]:
    return list(csv.reader(io.StringIO("".join(csv_lines(["a", "b"], rows)), newline="")))[1:]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r\n=1", "\n=1", "＝1"])
def test_a_text_that_a_spreadsheet_would_compute_is_led_by_an_apostrophe(text: str) -> None:
    (cells,) = read_back([[text, "x=1"]])
    assert cells[0].startswith("'")
    assert cells[1] == "x=1"


def test_values_are_written_as_the_documentation_says() -> None:
    (cells, other) = read_back([[None, True], [-1.5, ["WA", "a,b"]]])
    assert cells == ["", "true"]
    assert other == ["-1.5", '["WA", "a,b"]']  # a number stays one: only texts can be formulas


def test_what_does_not_print_stands_as_an_escape_and_every_row_comes() -> None:
    rows = [[f'q"uote,\n{number}', "\x00\ud800"] for number in range(1001)]
    found = read_back([list(row) for row in rows])
    assert len(found) == 1001
    assert found[-1] == ['q"uote,\n1000', "\\x00\\ud800"]
