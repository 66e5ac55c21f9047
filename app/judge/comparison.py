"""Holding a returned value against the expected one, outside the candidate's process.

Equality is Python's `==` on decoded values, which is what HumanEval's asserts and public judges apply: 1, 1.0 and True
are equal, a list and a tuple are not, a set and a frozenset are. One exception: NaN equals NaN, because an answer of
NaN where NaN is expected is right. Values hold built-in types only, so no foreign `__eq__` can run. Nothing recurses:
depth is the codec's.
"""

import hashlib
import math
from collections import Counter
from typing import Any

from app.domain.problems import Comparison

_DEFAULT_TOLERANCE = 1e-6


def matches(actual: Any, expected: Any, comparison: Comparison, tolerance: float | None = None) -> bool:
    """Whether `actual` answers a case that expects `expected`.

    `tolerance` (absolute or relative, whichever is wider) applies to FLOAT, where 1e-6 is the default, and to the
    alternatives of ANY_OF where it is given. UNORDERED ignores the order of the outermost list or tuple only.
    """
    if comparison is Comparison.EXACT:
        return _key(actual) == _key(expected)
    if comparison is Comparison.FLOAT:
        return _close(actual, expected, _DEFAULT_TOLERANCE if tolerance is None else tolerance)
    if comparison is Comparison.UNORDERED:
        if type(actual) is not type(expected) or not isinstance(expected, (list, tuple)):
            return _key(actual) == _key(expected)
        return Counter(map(_key, actual)) == Counter(map(_key, expected))
    if tolerance is not None:
        return any(_close(actual, one, tolerance) for one in expected)
    key = _key(actual)
    return any(key == _key(one) for one in expected)


def _key(value: Any) -> str:
    """A text that two values share exactly when they are equal in the sense above.

    Sets and dicts enter as a digest of their sorted elements, so that the work is linear however deep they are nested.
    """
    out: list[str] = []
    # A frame is (elements left, tag, where its elements start in `out`).
    frames: list[tuple[Any, str, list[int]]] = []
    current = value
    while True:
        opened = _open(current)
        if opened is None:
            out.append(_scalar_key(current))
        else:
            tag, elements = opened
            out.append(f"{tag}{len(elements)}:")
            frames.append((iter(elements), tag, []))
        while frames:
            remaining, tag, starts = frames[-1]
            try:
                current = next(remaining)
            except StopIteration:
                frames.pop()
                if tag in "Sd" and starts:
                    _digest_elements(out, starts[:: 2 if tag == "d" else 1])
                continue
            starts.append(len(out))
            break
        else:
            return "".join(out)


def _open(value: Any) -> tuple[str, list[Any]] | None:
    """(tag, elements) of a container; a dict's elements are keys and values in turn."""
    if isinstance(value, list):
        return "l", value
    if isinstance(value, tuple):
        return "t", list(value)
    if isinstance(value, (set, frozenset)):
        return "S", list(value)
    if isinstance(value, dict):
        return "d", [part for pair in value.items() for part in pair]
    return None


def _digest_elements(out: list[str], starts: list[int]) -> None:
    ends = [*starts[1:], len(out)]
    digest = hashlib.sha256()
    for element in sorted("".join(out[start:end]) for start, end in zip(starts, ends, strict=True)):
        raw = element.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    del out[starts[0] :]
    out.append(digest.hexdigest())


def _scalar_key(value: Any) -> str:
    if value is None:
        return "N"
    if isinstance(value, str):
        return f"s{len(value)}:{value}"
    if isinstance(value, bytes):
        return f"b{len(value)}:{value.hex()}"
    if isinstance(value, complex):
        if value.imag == 0:
            return _scalar_key(value.real)
        return f"c{_scalar_key(value.real)}{_scalar_key(value.imag)}"
    if isinstance(value, float) and not value.is_integer():
        return f"f{value!r};"
    return f"n{int(value):x};"


def _close(actual: Any, expected: Any, tolerance: float) -> bool:
    pairs = [(actual, expected)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, (float, complex)) or isinstance(other, (float, complex)):
            if not _close_numbers(one, other, tolerance):
                return False
        elif isinstance(one, (list, tuple)):
            if type(one) is not type(other) or len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif isinstance(one, dict) and isinstance(other, dict):
            ours = {_key(key): value for key, value in one.items()}
            theirs = {_key(key): value for key, value in other.items()}
            if ours.keys() != theirs.keys():
                return False
            pairs += [(value, theirs[key]) for key, value in ours.items()]
        elif isinstance(one, (set, frozenset)) and isinstance(other, (set, frozenset)):
            if not _close_sets(one, other, tolerance):
                return False
        elif _key(one) != _key(other):
            return False
    return True


def _close_numbers(one: Any, other: Any, tolerance: float) -> bool:
    if not (isinstance(one, (int, float, complex)) and isinstance(other, (int, float, complex))):
        return False
    if _key(one) == _key(other):
        return True
    if isinstance(one, complex) or isinstance(other, complex):
        return abs(one - other) <= tolerance * max(1.0, abs(one), abs(other))
    try:
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:
        return False  # an int beyond the floats is close to none of them


def _close_sets(one: Any, other: Any, tolerance: float) -> bool:
    numbers = [*one, *other]
    if len(one) != len(other):
        return False
    # Sorted numbers can be paired; NaN cannot be sorted, and other elements have no distance.
    if all(isinstance(number, (int, float)) and number == number for number in numbers):
        return all(_close_numbers(a, b, tolerance) for a, b in zip(sorted(one), sorted(other), strict=True))
    return _key(one) == _key(other)
