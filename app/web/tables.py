"""Tables as CSV, safe to open in a spreadsheet."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from app.web.text import printable

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A cell that begins so is a formula, or could become one once a program trims it."""
_ROWS_AT_A_TIME = 200


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """A table by pieces, by RFC 4180: the header, then every row.

    Nothing is written for None, `true` and `false` for truths, JSON for lists and objects. A text that a spreadsheet
    would compute is led by an apostrophe, and characters that do not print stand as escapes.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(header)
    for number, row in enumerate(rows, start=1):
        writer.writerow([_cell(value) for value in row])
        if number % _ROWS_AT_A_TIME == 0:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, datetime):
        return value.isoformat()
    text = printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return "'" + text if text.startswith(_FORMULA) else text
