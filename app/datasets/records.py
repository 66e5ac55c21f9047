"""JSON records with checked fields, each knowing where it stands in its file.

Pure. A `Record` is a JSON object with a place ("line 3", "problem 'tides', case 2"); every accessor raises FormatError
that names the place, the field and what was expected.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from app.domain.errors import FormatError

_MISSING = object()

JSON_NAMES = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    type(None): "null",
}


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object of a file. `line` is 1-based, None in files that are not line-based; `key` names the problem once
    it is known, `part` the part of it.
    """

    fields: Mapping[str, Any]
    line: int | None = None
    key: str | None = None
    part: str = ""

    def fail(self, reason: str) -> NoReturn:
        """Raise FormatError for this record."""
        problem = f"problem {self.key!r}" if self.key else ""
        place = ", ".join(filter(None, (problem, self.part)))
        raise FormatError(f"{place}: {reason}" if place else reason, line=self.line)

    def within(self, name: str, part: str) -> "Record":
        """The object in a field, as a record of its own."""
        return Record(self._get(name, dict, _MISSING), line=self.line, key=self.key, part=part)

    def objects(self, name: str, default: Any = _MISSING) -> list[dict[str, Any]]:
        """An array of objects."""
        items: list[dict[str, Any]] = self._items(name, dict, default)
        return items

    def strings(self, name: str, default: Any = _MISSING) -> list[str]:
        """An array of strings."""
        items: list[str] = self._items(name, str, default)
        return items

    def _items(self, name: str, kind: type, default: Any) -> list[Any]:
        items: list[Any] = self._get(name, list, default)
        for item in items:
            if type(item) is not kind:
                self.fail(f"field {name!r} must hold {JSON_NAMES[kind]} in each place, not {JSON_NAMES[type(item)]}")
        return items

    def _get(self, name: str, kind: type, default: Any) -> Any:
        value = self.fields.get(name, _MISSING)
        if value is _MISSING:
            if default is _MISSING:
                self.fail(f"field {name!r} is missing")
            return default
        if type(value) is not kind:
            self.fail(f"field {name!r} must be {JSON_NAMES[kind]}, not {JSON_NAMES[type(value)]}")
        return value

    def string(self, name: str, default: Any = _MISSING) -> Any:
        """A string field; `default` where it is absent, and without a default its absence is an error."""
        return self._get(name, str, default)

    def filled(self, name: str) -> str:
        """A required string that is not blank."""
        value: str = self.string(name)
        if not value.strip():
            self.fail(f"field {name!r} is empty")
        return value

    def boolean(self, name: str, default: Any = _MISSING) -> bool:
        """A boolean."""
        value: bool = self._get(name, bool, default)
        return value

    def number(self, name: str, default: Any = _MISSING) -> Any:
        """A positive, finite number as a float, written with or without a point."""
        value = self.fields.get(name, _MISSING)
        if value is _MISSING and default is not _MISSING:
            return default
        if type(value) is not int:
            value = self._get(name, float, _MISSING)
        if not 0 < value < float("inf"):
            self.fail(f"field {name!r} must be a positive number")
        return float(value)

    def integer(self, name: str, default: Any = _MISSING) -> int:
        """A positive integer."""
        value: int = self._get(name, int, default)
        if value < 1:
            self.fail(f"field {name!r} must be at least 1")
        return value

    def index(self, name: str, default: int | None) -> int | None:
        """An integer from 0."""
        value: int | None = self._get(name, int, default)
        if value is not None and value < 0:
            self.fail(f"field {name!r} must be at least 0")
        return value

    def array(self, name: str, default: Any = _MISSING) -> Any:
        """An array field."""
        return self._get(name, list, default)

    def text(self, name: str, default: Any = _MISSING) -> Any:
        """Text that a person may write as a string or as an array of lines (each then ends with a newline)."""
        if type(self.fields.get(name)) is list:
            return "".join(f"{line}\n" for line in self.strings(name))
        return self.string(name, default)

    def texts(self, name: str, default: Any = _MISSING) -> dict[str, str]:
        """An object of texts, such as files by path."""
        within = Record(
            self._get(name, dict, default), line=self.line, key=self.key, part=f"{self.part} {name}".strip()
        )
        return {one: within.text(one) for one in within.fields}

    def only(self, names: Collection[str]) -> None:
        """Refuse fields that nobody would read, which are spelling mistakes more often than not."""
        unknown = sorted(set(self.fields) - set(names))
        if unknown:
            self.fail(f"unknown field {unknown[0]!r}; known are {', '.join(names)}")


def parse_json(source: str, *, line: int | None = None) -> Any:
    """Parse JSON strictly: a repeated key and the non-standard NaN and Infinity are errors.

    Raises FormatError with `line`, or else with the line of the fault inside `source`.
    """
    try:
        return json.loads(source, object_pairs_hook=_object, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"not valid JSON: {error.msg} (column {error.colno})", line=error.lineno if line is None else line
        ) from error
    except (ValueError, RecursionError) as error:
        # Ours below; an integer of over 4,300 digits; nesting deeper than the parser goes.
        raise FormatError(f"not valid JSON: {error}", line=line) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {next(name for name in names if names.count(name) > 1)!r} appears twice in one object")
    return fields


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def json_lines(content: str) -> Iterator[Record]:
    """The records of a JSON Lines text, one object a line.

    A newline at the end is fine; a blank line anywhere else is refused, because it is what a file
    that was cut and pasted, or truncated in the middle, looks like.
    """
    lines = content.rstrip("\r\n").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            raise FormatError("the line is blank", line=number)
        value = parse_json(line, line=number)
        if type(value) is not dict:
            raise FormatError(f"expected an object, not {JSON_NAMES[type(value)]}", line=number)
        yield Record(value, line=number)
