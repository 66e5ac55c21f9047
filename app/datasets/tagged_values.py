"""Values in the native format: JSON, and tagged objects for what JSON cannot say or would say at great length.

Pure. The tags are documented in docs/problem-format.md; an object whose only key starts with "$" is a tag.
"""

from collections.abc import Callable
from typing import Any

MAX_ITEMS = 2_000_000
"""Most list items and characters that the tags of one value may generate. It is what a judge can still send to a
program in reasonable time, and it bounds memory."""

MULTIPLIER, INCREMENT, MODULUS = 6_364_136_223_846_793_005, 1_442_695_040_888_963_407, 1 << 64
"""The 64-bit linear congruential generator of Knuth's MMIX (The Art of Computer Programming, vol. 2, 3.3.4)."""
HIGH_BITS = 33
"""Low bits of such a generator have short periods, so they are shifted away."""


class BadValue(ValueError):
    """The value is not in the format; the message says which tag and why."""


def python_value(value: Any) -> Any:
    """The Python value that a parsed JSON value stands for. Raises BadValue."""
    try:
        return _Expander().expand(value)
    except RecursionError as error:
        raise BadValue("the value is nested too deep") from error


def lcg(seed: int, count: int, low: int, high: int) -> list[int]:
    """Pseudo-random integers in low..high, both included: x ← (a·x + c) mod 2⁶⁴, of which (x >> 33) is used."""
    span = high - low + 1
    state, numbers = seed % MODULUS, []
    for _ in range(count):
        state = (MULTIPLIER * state + INCREMENT) % MODULUS
        numbers.append(low + (state >> HIGH_BITS) % span)
    return numbers


class _Expander:
    """Expands one value, counting what its tags generate."""

    def __init__(self) -> None:
        self._generated = 0

    def expand(self, value: Any) -> Any:
        if isinstance(value, list):
            return self._list(value)
        if not isinstance(value, dict):
            return value
        if len(value) == 1 and (tag := next(iter(value))).startswith("$"):
            if tag not in TAGS:
                raise BadValue(f"unknown tag {tag}; known are {', '.join(TAGS)}")
            return TAGS[tag](self, value[tag])
        return {key: self.expand(item) for key, item in value.items()}

    def _tuple(self, items: Any) -> tuple[Any, ...]:
        return tuple(self._list(items))

    def _list(self, items: Any) -> list[Any]:
        if not isinstance(items, list):
            raise BadValue("$tuple, $set, $dict, $concat and $zip take an array")
        return [self.expand(item) for item in items]

    def _set(self, items: Any) -> set[Any]:
        try:
            return set(self._list(items))
        except TypeError as error:
            raise BadValue(f"a member of a set cannot be a list, set or dict ({error})") from error

    def _dict(self, pairs: Any) -> dict[Any, Any]:
        entries = self._list(pairs)
        if not all(isinstance(entry, list) and len(entry) == 2 for entry in entries):
            raise BadValue("$dict takes an array of [key, value] pairs")
        try:
            return dict(entries)
        except TypeError as error:
            raise BadValue(f"a key cannot be a list, set or dict ({error})") from error

    def _range(self, bounds: Any) -> list[int]:
        if not _integers(bounds, 2, 3):
            raise BadValue("$range takes [start, stop] or [start, stop, step] as integers")
        if len(bounds) == 3 and bounds[2] == 0:
            raise BadValue("$range cannot have step 0")
        numbers = range(*bounds)
        # A range longer than a machine word has no len().
        self._generate(min(MAX_ITEMS + 1, max(0, -(-(numbers.stop - numbers.start) // numbers.step))))
        return list(numbers)

    def _repeat(self, argument: Any) -> Any:
        match argument:
            case [item, int(times)] if type(times) is int and times >= 0:
                if isinstance(item, str):
                    self._generate(len(item) * times)
                    return item * times
                value = self.expand(item)
                self._generate((1 + _size(value)) * times)
                return [value] * times
            case _:
                raise BadValue("$repeat takes [value, times]: an array of copies, or a string repeated")

    def _concat(self, parts: Any) -> Any:
        values = self._list(parts)
        if values and all(isinstance(value, str) for value in values):
            return "".join(values)
        if not all(isinstance(value, list) for value in values):
            raise BadValue("$concat takes arrays only, or strings only")
        self._generate(sum(map(len, values)))
        return [item for value in values for item in value]

    def _zip(self, columns: Any) -> list[list[Any]]:
        values = self._list(columns)
        if not values or not all(isinstance(value, list) and len(value) == len(values[0]) for value in values):
            raise BadValue("$zip takes arrays of one length")
        self._generate(len(values) * len(values[0]))
        return [list(row) for row in zip(*values, strict=True)]

    def _lcg(self, argument: Any) -> list[int]:
        if not _integers(argument, 4, 4) or argument[1] < 0 or argument[2] > argument[3]:
            raise BadValue("$lcg takes [seed, count, low, high] as integers, low at most high")
        self._generate(argument[1])
        return lcg(*argument)

    def _generate(self, items: int) -> None:
        self._generated += items
        if self._generated > MAX_ITEMS:
            raise BadValue(f"the value would be larger than {MAX_ITEMS} items")


def _integers(value: Any, fewest: int, most: int) -> bool:
    return isinstance(value, list) and fewest <= len(value) <= most and all(type(item) is int for item in value)


def _size(value: Any) -> int:
    if isinstance(value, list | tuple):
        return sum(1 + _size(item) for item in value)
    if isinstance(value, dict):
        return sum(1 + _size(item) for item in value.values())
    return len(value) if isinstance(value, str | bytes | set | frozenset) else 0


def _float(_: _Expander, text: Any) -> float:
    if text not in ("inf", "-inf", "nan", "-0.0"):
        raise BadValue('$float takes "inf", "-inf", "nan" or "-0.0"')
    return float(text)


def _bytes(_: _Expander, text: Any) -> bytes:
    try:
        return bytes.fromhex(text)
    except (TypeError, ValueError) as error:
        raise BadValue("$bytes takes hexadecimal digits") from error


TAGS: dict[str, Callable[[_Expander, Any], Any]] = {
    "$tuple": _Expander._tuple,
    "$set": _Expander._set,
    "$dict": _Expander._dict,
    "$float": _float,
    "$bytes": _bytes,
    "$range": _Expander._range,
    "$repeat": _Expander._repeat,
    "$concat": _Expander._concat,
    "$zip": _Expander._zip,
    "$lcg": _Expander._lcg,
}
"""Every tag with what expands its argument."""
