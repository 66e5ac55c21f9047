"""The bytes of an imported file: decompression with a bound, and text.

Pure functions. Files come from people and from the internet, so nothing about their size or encoding is taken
on trust.
"""

import gzip
import io
import zlib

from app.domain.errors import FormatError

GZIP_MAGIC = b"\x1f\x8b"

MAX_BYTES = 256 * 1024 * 1024
"""Largest content read, in bytes after decompression. The largest public set of this kind (LeetCode-style problems with
their tests) is about 100 MiB; parsing takes several times the size in memory, which a small machine still has."""


def content(data: bytes, *, limit: int = MAX_BYTES) -> bytes:
    """The file's content, decompressed where it starts with gzip's magic bytes (the name does not matter).

    `limit` is in bytes of content. Raises FormatError for larger content (decompression stops there, so a gzip bomb
    costs no more memory than an honest file) and for a damaged or truncated gzip stream.
    """
    if not data.startswith(GZIP_MAGIC):
        raw = data
    else:
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
                raw = stream.read(limit + 1)
        except EOFError as error:
            raise FormatError("the gzip stream is truncated") from error
        except (OSError, zlib.error) as error:
            raise FormatError(f"the gzip stream is damaged: {error}") from error
    if len(raw) > limit:
        raise FormatError(f"the content is larger than the {limit} bytes allowed")
    return raw


def text(data: bytes) -> str:
    """The file's content as UTF-8 text, without a byte-order mark.

    Raises FormatError with the line of the first byte that is not UTF-8, for content over the limit, and for an empty
    file.
    """
    raw = content(data)
    try:
        decoded = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FormatError(f"the file is not UTF-8 text (byte 0x{raw[error.start]:02x})", line=line) from error
    if not decoded.strip():
        raise FormatError("the file is empty")
    return decoded
