"""Values that a file gives for columns of a table, checked against their types."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Float, Integer, String

from app.db.base import LARGEST_ID, Base, Json, UtcDateTime
from app.domain.errors import FormatError
from app.services.import_problem_set import storable

_FAILURE_TEXTS = ("input", "expected", "actual", "error")


def column_values(table: type[Base], given: Mapping[str, Any], place: str) -> dict[str, Any]:
    """JSON values as the columns of their names take them. Raises FormatError naming the `place` and the field."""
    columns = mapped_columns(table)
    return {name: _value(columns[name], value, f"{place}: field {name!r}") for name, value in given.items()}


def mapped_columns(table: type[Base]) -> dict[str, Column[Any]]:
    """The columns of a table by name."""
    return {column.name: column for column in table.__table__.columns if isinstance(column, Column)}


def _value(column: Column[Any], value: Any, place: str) -> Any:
    if value is None:
        if not column.nullable:
            raise FormatError(f"{place} must not be null")
        return None
    kind = column.type
    if isinstance(kind, UtcDateTime):
        return _time(value, place)
    if isinstance(kind, Json):
        return _json(column.name, value, place)
    if isinstance(kind, Boolean):
        return _typed(value, bool, "a boolean", place)
    if isinstance(kind, Integer):
        most = 2**63 - 1 if isinstance(kind, BigInteger) else LARGEST_ID
        if _typed(value, int, "an integer", place) > most or value < -most:
            raise FormatError(f"{place} is too large")
        return value
    if isinstance(kind, Float):
        number = float(value) if type(value) is int else _typed(value, float, "a number", place)
        if not math.isfinite(number):
            raise FormatError(f"{place} must be a finite number")
        return number
    text = _typed(value, str, "a string", place)
    if isinstance(kind, String) and not storable(text):
        raise FormatError(f"{place} holds a character that cannot be stored")
    return text


def _typed(value: Any, kind: type, words: str, place: str) -> Any:
    if type(value) is not kind:
        raise FormatError(f"{place} must be {words}")
    return value


def _time(value: Any, place: str) -> datetime:
    try:
        found = datetime.fromisoformat(_typed(value, str, "a time", place))
    except ValueError as error:
        raise FormatError(f"{place} must be a time as 2026-03-01T09:00:00+00:00") from error
    if found.tzinfo is None:
        raise FormatError(f"{place} must say its time zone")
    return found


def _json(name: str, value: Any, place: str) -> Any:
    """What pages read: a conversation, a failing case, lists of names."""
    sound = True
    if name == "messages":
        sound = type(value) is list and all(
            type(one) is dict and set(one) == {"role", "content"} and all(type(text) is str for text in one.values())
            for one in value
        )
    elif name == "first_failure":
        sound = (
            type(value) is dict
            and type(value.get("index")) is int
            and type(value.get("visible")) is bool
            and all(type(value.get(text)) in (str, type(None)) for text in _FAILURE_TEXTS)
        )
    elif name in ("items", "subset"):
        sound = type(value) is list and all(type(one) is str for one in value)
    if not sound:
        raise FormatError(f"{place} is not what Halflife writes there")
    return value
