"""Messages between host, runner and candidate: a length, then a kind and text fields.

A message is read as data with limits; a message that breaks them raises FrameError.
"""

import os
import socket
import struct
from collections.abc import Callable, Iterator

_LENGTH = struct.Struct(">I")

MAX_REQUEST = 256 * 1024 * 1024
"""Bytes of a request, which the host wrote."""
MAX_MESSAGE = 5 * 1024 * 1024
"""Bytes of one message from a candidate: one value and its tags."""
MAX_ANSWERS = 16 * 1024 * 1024
"""Bytes of all messages from one execution's candidates together."""
MAX_OUTCOME = 128 * 1024 * 1024
"""Bytes of an outcome: answers, output and the tester's report, JSON-escaped."""


class FrameError(ValueError):
    """The other side does not keep to the protocol."""


class ChannelClosed(Exception):
    """The other side is gone."""


def frame(payload: bytes) -> bytes:
    """Prefix a payload with its length."""
    return _LENGTH.pack(len(payload)) + payload


def pack(kind: str, *fields: str) -> bytes:
    """A message of one letter and any number of text fields, framed."""
    parts = [kind.encode("ascii")]
    for field in fields:
        raw = field.encode("utf-8", "surrogatepass")
        parts += (_LENGTH.pack(len(raw)), raw)
    return frame(b"".join(parts))


def unpack(payload: bytes) -> tuple[str, list[str]]:
    """The kind and fields of a message. Raises FrameError."""
    fields = []
    position = 1
    while position < len(payload):
        if position + 4 > len(payload):
            raise FrameError("a field ends early")
        (length,) = _LENGTH.unpack_from(payload, position)
        position += 4
        if position + length > len(payload):
            raise FrameError("a field is longer than its message")
        try:
            fields.append(payload[position : position + length].decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError as error:
            raise FrameError("a field is not text") from error
        position += length
    return payload[:1].decode("latin-1"), fields


def read_exactly(read: Callable[[int], bytes], count: int) -> bytes:
    """`count` bytes. Raises ChannelClosed where the other side ends before that."""
    parts = []
    while count:
        part = read(min(count, 1 << 20))
        if not part:
            raise ChannelClosed
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def read_frame(read: Callable[[int], bytes], limit: int) -> bytes:
    """The payload of the next frame. Reads not a byte beyond it. Raises ChannelClosed and FrameError."""
    (length,) = _LENGTH.unpack(read_exactly(read, _LENGTH.size))
    if length > limit:
        raise FrameError(f"a message of {length} bytes")
    return read_exactly(read, length)


class FrameBuffer:
    """Frames out of chunks of bytes as they come."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The payloads completed by this chunk; those before a broken frame come before its FrameError."""
        self._data += chunk
        position = 0
        while len(self._data) - position >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data, position)
            if length > self._limit:
                raise FrameError(f"a message of {length} bytes")
            end = position + _LENGTH.size + length
            if len(self._data) < end:
                break
            yield bytes(self._data[position + _LENGTH.size : end])
            position = end
        del self._data[:position]


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything to a blocking descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def receive_descriptors(channel: socket.socket, count: int) -> list[int]:
    """Descriptors sent with one byte by `socket.send_fds`."""
    data, descriptors, _flags, _address = socket.recv_fds(channel, 1, count)
    if not data:
        raise ChannelClosed
    if len(descriptors) != count:
        raise FrameError("descriptors are missing")
    return list(descriptors)
