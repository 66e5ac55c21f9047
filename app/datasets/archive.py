"""The files of an imported zip or tar archive, read in memory. Nothing is ever written to a disk.

Pure. Archives come from people and from the internet: whatever is odd about one is refused.
"""

import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from typing import IO

from app.datasets.payload import MAX_BYTES
from app.domain.errors import FormatError

MAX_ENTRIES = 20_000

_ZIP_MAGIC = b"PK"
_ENCRYPTED = 0x1
"""Bit of an entry's flags."""
_TOO_LARGE = "the archive's content is larger than allowed"


def files(data: bytes, *, limit: int = MAX_BYTES) -> dict[str, bytes]:
    """The archive's files by path; folders are left out. A tar archive may be compressed as a whole.

    `limit` is in bytes of all files together; reading stops there, whatever the archive says about their sizes. Raises
    FormatError for what is no archive, damaged, encrypted or too large, and for entries that are links or devices,
    appear twice or have a path that leads out of the archive.
    """
    try:
        if data.startswith(_ZIP_MAGIC):
            return _zip_files(data, limit)
        return _tar_files(data, limit)
    except (zipfile.BadZipFile, tarfile.ReadError) as error:
        raise FormatError(f"not a sound zip or tar archive: {error}") from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError, RuntimeError, tarfile.TarError) as error:
        # RuntimeError has NotImplementedError below it, which unknown compression raises.
        raise FormatError(f"the archive is damaged: {error}") from error


def _zip_files(data: bytes, limit: int) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
        _check_number(len(entries))
        found: dict[str, bytes] = {}
        for entry in entries:
            # The name as stored: zipfile cuts it at a NUL.
            name = entry.orig_filename
            if entry.flag_bits & _ENCRYPTED:
                raise FormatError(f"{name!r} in the archive is encrypted")
            if stat.S_ISLNK(entry.external_attr >> 16):
                raise FormatError(f"{name!r} in the archive is a link")
            _check_path(name, entry.filename, found)
            with archive.open(entry) as stream:
                found[entry.filename] = _bounded(stream, limit)
            limit -= len(found[entry.filename])
        return found


def _tar_files(data: bytes, limit: int) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as archive:
        for entry in archive:
            if entry.isdir():
                continue
            name = entry.name.removeprefix("./")
            stream = archive.extractfile(entry) if entry.isreg() else None
            if stream is None:
                raise FormatError(f"{name!r} in the archive is a link or no file")
            _check_path(name, name, found)
            _check_number(len(found) + 1)
            if entry.size > limit:  # going past it would decompress all of it
                raise FormatError(_TOO_LARGE)
            found[name] = _bounded(stream, limit)
            limit -= len(found[name])
    return found


def _bounded(stream: IO[bytes], limit: int) -> bytes:
    content = stream.read(limit + 1)
    if len(content) > limit:
        raise FormatError(_TOO_LARGE)
    return content


def _check_number(entries: int) -> None:
    if entries > MAX_ENTRIES:
        raise FormatError(f"the archive holds more than the {MAX_ENTRIES} files allowed")


def _check_path(name: str, path: str, found: dict[str, bytes]) -> None:
    if not name.isprintable() or "\\" in name or ":" in name or {"", ".", ".."} & set(name.split("/")):
        raise FormatError(f"{name!r} in the archive is not a plain relative path")
    if path in found:
        raise FormatError(f"{name!r} is in the archive twice")
