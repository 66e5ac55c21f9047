"""Values as text, so that they can leave an untrusted process, be stored and be compared elsewhere.

The format is printable ASCII. Every value starts with a tag:

    N T F                None, True, False
    i<hex>;              int of any size, e.g. `i-1f;`
    f<repr>;             float, e.g. `f-0.0;` `fnan;` `finf;`
    c<repr>,<repr>;      complex
    s<n>:<n characters>  str, escaped as Python's unicode_escape does
    b<n>:<2n hex digits> bytes
    l<n>: t<n>:          list, tuple, followed by n values
    S<n>: z<n>:          set, frozenset, followed by n values in the order of their text
    d<n>:                dict, followed by n keys and values in insertion order

Nothing here recurses: a list nested 10,000 deep is an ordinary value. Nothing is ever executed while decoding,
which is why neither pickle nor marshal is used. This file needs the standard library only and runs inside the
sandbox as well.
"""

import re
from typing import Any

MAX_SIZE = 4 * 1024 * 1024
"""Characters an encoded value may have unless the caller says otherwise."""

MAX_DEPTH = 20_000
"""Levels of nesting. Hashing a nested tuple recurses in C; this keeps it far from the end of the stack."""

_CROWDED = 256
"""Sets and dicts smaller than this are not checked for colliding hashes."""

_ESCAPES = re.compile(r"(?:[ -\[\]-~]|\\(?:[\\nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U00[01][0-9a-f]{5}))*", re.ASCII)
_HEX_INT = re.compile(r"-?[0-9a-f]+", re.ASCII)
_FLOAT = re.compile(r"-?(?:inf|nan|[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)", re.ASCII)
_NUMBER_END = 64
"""Longest text of one float; repr() never gives more than 25 characters."""

_CONTAINERS = "ltSzd"
_SCALARS = {None: "N", True: "T", False: "F"}


class CodecError(ValueError):
    """A value cannot be encoded, or a text is not an encoded value. The message says which type or where."""


def encode(value: Any, max_size: int = MAX_SIZE) -> str:
    """Encode a value.

    Subclasses of built-in types are reduced to their base (Counter to dict, IntEnum to int, namedtuple to tuple)
    without calling any method they override.

    Raises CodecError for any other type (named in the message), for cycles, for nesting deeper than `MAX_DEPTH`
    and for a text longer than `max_size` characters.
    """
    out: list[str] = []
    size = 0
    # A frame is (iterator over what is left, id of the container, tag, where its elements start in `out`).
    frames: list[tuple[Any, int, str, list[int]]] = []
    open_ids: set[int] = set()
    current: Any = value
    while True:
        part, elements, tag = _encode_one(current)
        out.append(part)
        size += len(part)
        if size > max_size:
            raise CodecError(f"value is larger than {max_size} characters")
        if elements is not None:
            if id(current) in open_ids:
                raise CodecError("value contains itself")
            if len(frames) >= MAX_DEPTH:
                raise CodecError(f"value is nested more than {MAX_DEPTH} deep")
            open_ids.add(id(current))
            # The frame keeps the container alive, so that its id stays its own.
            frames.append(((iter(elements), current), id(current), tag, []))
        while frames:
            (remaining, _owner), identity, tag, starts = frames[-1]
            try:
                current = next(remaining)
            except StopIteration:
                frames.pop()
                open_ids.discard(identity)
                if tag in "Sz":
                    _sort_elements(out, starts)
                continue
            starts.append(len(out))
            break
        else:
            return "".join(out)


def _encode_one(value: Any) -> tuple[str, Any, str]:
    """(text, elements still to encode or None, tag) for one value. Overridden methods are never called."""
    kind = type(value)
    if value is None or kind is bool:
        return _SCALARS[value], None, ""
    if issubclass(kind, int):
        return f"i{int.__index__(value):x};", None, ""
    if issubclass(kind, str):
        text = str.__str__(value)
        if not (text.isascii() and text.isprintable()) or "\\" in text:
            text = text.encode("unicode_escape").decode("ascii")
        return f"s{len(text)}:{text}", None, ""
    if issubclass(kind, float):
        return f"f{float.__repr__(value)};", None, ""
    if issubclass(kind, list):
        items: Any = list.copy(value)
        return f"l{len(items)}:", items, "l"
    if issubclass(kind, tuple):
        items = list(tuple.__iter__(value))
        return f"t{len(items)}:", items, "t"
    if issubclass(kind, dict):
        items = [part for pair in list(dict.items(value)) for part in pair]
        return f"d{len(items) // 2}:", items, "d"
    if issubclass(kind, set):
        items = list(set.__iter__(value))
        return f"S{len(items)}:", items, "S"
    if issubclass(kind, frozenset):
        items = list(frozenset.__iter__(value))
        return f"z{len(items)}:", items, "z"
    if issubclass(kind, bytes):
        raw = bytes.__getitem__(value, slice(None))
        return f"b{len(raw)}:{raw.hex()}", None, ""
    if issubclass(kind, complex):
        number = complex.__complex__(value)
        return f"c{number.real!r},{number.imag!r};", None, ""
    raise CodecError(f"a value of type {type.__getattribute__(kind, '__name__')} cannot leave its process")


def _sort_elements(out: list[str], starts: list[int]) -> None:
    """Put the elements of a set that was just written into the order of their text."""
    if not starts:
        return
    ends = [*starts[1:], len(out)]
    elements = sorted("".join(out[start:end]) for start, end in zip(starts, ends, strict=True))
    del out[starts[0] :]
    out.extend(elements)


def decode(text: str) -> Any:
    """Decode a text written by `encode`.

    Safe on hostile text: time and memory are proportional to its length.
    Raises CodecError (a ValueError) for anything `encode` would not have written.
    """
    # A frame is (tag, how many values are missing, values so far).
    frames: list[tuple[str, int, list[Any]]] = []
    position = 0
    while True:
        tag, value, count, position = _token(text, position)
        if count is not None:
            if len(frames) >= MAX_DEPTH:
                raise CodecError(f"nested more than {MAX_DEPTH} deep")
            missing = 2 * count if tag == "d" else count
            # Every value takes a character, so a count beyond the rest of the text is a lie.
            if missing > len(text) - position:
                raise CodecError(f"count {count} at {position} is larger than the text")
            frames.append((tag, missing, []))
        while frames:
            tag, missing, values = frames[-1]
            if count is None:
                values.append(value)
            if len(values) < missing:
                break
            frames.pop()
            value, count = _build(tag, values), None
        else:
            if position != len(text):
                raise CodecError(f"text goes on after the value, at {position}")
            return value


def _token(text: str, start: int) -> tuple[str, Any, int | None, int]:
    """(tag, scalar value, element count for containers, position after it) of the token at `start`."""
    tag = text[start : start + 1]
    if tag in ("N", "T", "F"):
        return tag, {"N": None, "T": True, "F": False}[tag], None, start + 1
    if tag == "i":
        body, end = _until_semicolon(text, start, len(text))
        if not _HEX_INT.fullmatch(body):
            raise CodecError(f"not an int at {start}")
        return tag, int(body, 16), None, end
    if tag == "f":
        body, end = _until_semicolon(text, start, start + _NUMBER_END)
        return tag, _float(body, start), None, end
    if tag == "c":
        body, end = _until_semicolon(text, start, start + 2 * _NUMBER_END)
        real, comma, imaginary = body.partition(",")
        if not comma:
            raise CodecError(f"not a complex number at {start}")
        return tag, complex(_float(real, start), _float(imaginary, start)), None, end
    if tag and tag in "sb" + _CONTAINERS:
        colon = text.find(":", start, start + 22)
        digits = text[start + 1 : colon]
        if colon < 0 or not (digits.isascii() and digits.isdigit()):
            raise CodecError(f"no length at {start}")
        count = int(digits)
        if tag in _CONTAINERS:
            return tag, None, count, colon + 1
        end = colon + 1 + (count if tag == "s" else 2 * count)
        if end > len(text):
            raise CodecError(f"text ends within the value at {start}")
        body = text[colon + 1 : end]
        return tag, _unescape(body, start) if tag == "s" else _unhex(body, start), None, end
    raise CodecError(f"unknown tag at {start}")


def _until_semicolon(text: str, start: int, limit: int) -> tuple[str, int]:
    end = text.find(";", start, limit)
    if end < 0:
        raise CodecError(f"unfinished number at {start}")
    return text[start + 1 : end], end + 1


def _float(body: str, start: int) -> float:
    if not _FLOAT.fullmatch(body):
        raise CodecError(f"not a float at {start}")
    return float(body)


def _unescape(body: str, start: int) -> str:
    if "\\" not in body:
        if not (body.isascii() and body.isprintable()):
            raise CodecError(f"unescaped character in the str at {start}")
        return body
    # unicode_escape also reads octal and named escapes, and only warns about unknown ones.
    if not _ESCAPES.fullmatch(body):
        raise CodecError(f"wrong escape in the str at {start}")
    try:
        return body.encode("ascii").decode("unicode_escape")
    except UnicodeError as error:
        raise CodecError(f"wrong escape in the str at {start}") from error


def _unhex(body: str, start: int) -> bytes:
    # bytes.fromhex() would skip white space.
    if body and not _HEX_INT.fullmatch(body):
        raise CodecError(f"not hexadecimal at {start}")
    try:
        return bytes.fromhex(body)
    except ValueError as error:
        raise CodecError(f"not hexadecimal at {start}") from error


def _build(tag: str, values: list[Any]) -> Any:
    if tag == "l":
        return values
    if tag == "t":
        return tuple(values)
    keys = values[::2] if tag == "d" else values
    try:
        if len(keys) > _CROWDED and 4 * len({hash(key) for key in keys}) < len(keys):
            # Numbers chosen to share a hash would make building the table take quadratic time.
            raise CodecError("too many keys share a hash")
        built: Any
        if tag == "d":
            built = dict(zip(keys, values[1::2], strict=True))
        elif tag == "S":
            # The order a set gives its elements in hangs on how it was filled: this is how a literal is.
            built = set()
            built.update(frozenset(keys))
        else:
            built = frozenset(keys)
    except (TypeError, RecursionError) as error:
        raise CodecError(f"not a key or set element: {error}") from error
    if len(built) != len(keys):
        raise CodecError("a key or set element appears twice")
    return built


_OPEN = {"l": "[", "t": "(", "S": "{", "z": "frozenset({", "d": "{"}
_CLOSE = {"l": "]", "t": ")", "S": "}", "z": "})", "d": "}"}
_EMPTY = {"S": "set()", "z": "frozenset()"}
_LONGEST_DECIMAL = 14_000
"""Bits beyond which an int is shown in hexadecimal: Python refuses decimal forms of more than 4,300 digits."""


def readable(text: str, limit: int = 2000) -> str:
    """Render an encoded value as a Python literal of at most `limit` characters, ending in `…` where it was cut.

    NaN and the infinities appear as `float('nan')`, very large ints in hexadecimal.
    Raises CodecError where the part that is shown is not an encoded value.
    """
    out: list[str] = []
    size = 0
    position = 0
    # A frame is [tag, values still missing, values written].
    frames: list[list[Any]] = []
    while size <= limit:
        tag, value, count, position = _shallow_token(text, position, limit)
        if count:
            frames.append([tag, 2 * count if tag == "d" else count, 0])
            piece = _OPEN[tag]
        elif count == 0:
            piece = _EMPTY.get(tag, _OPEN[tag] + _CLOSE[tag])
        else:
            piece = _literal(tag, value)
        out.append(piece)
        size += len(piece)
        if count:
            continue
        while frames:
            frame = frames[-1]
            frame[1] -= 1
            frame[2] += 1
            if frame[1]:
                out.append(": " if frame[0] == "d" and frame[2] % 2 else ", ")
                size += 2
                break
            out.append(",)" if frame[0] == "t" and frame[2] == 1 else _CLOSE[frame[0]])
            size += 1
            frames.pop()
        if not frames:
            break
    rendered = "".join(out)
    return rendered if len(rendered) <= limit else rendered[: max(limit - 1, 0)] + "…"


def _shallow_token(text: str, position: int, limit: int) -> tuple[str, Any, int | None, int]:
    """As `_token`, but a long str or bytes is cut to what can be shown before it is decoded."""
    tag = text[position : position + 1]
    if tag in ("s", "b"):
        colon = text.find(":", position, position + 22)
        digits = text[position + 1 : colon]
        if colon >= 0 and digits.isascii() and digits.isdigit() and int(digits) > 16 * limit + 64:
            width = 16 * limit if tag == "s" else 2 * limit
            body = text[colon + 1 : colon + 1 + width]
            if tag == "s" and (cut := re.search(r"(?<!\\)(?:\\\\)*(\\[^\\]?[0-9a-f]{0,8})\Z", body)):
                # The cut may have gone through an escape.
                body = body[: cut.start(1)]
            end = colon + 1 + int(digits) * (1 if tag == "s" else 2)
            return tag, _unescape(body, position) if tag == "s" else _unhex(body, position), None, end
    return _token(text, position)


def _literal(tag: str, value: Any) -> str:
    if tag == "i" and value.bit_length() > _LONGEST_DECIMAL:
        return hex(value)
    if tag == "f" and (value != value or value in (float("inf"), float("-inf"))):
        return f"float('{value}')"
    return repr(value)
