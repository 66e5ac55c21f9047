"""The files of an imported zip archive, read in memory. Nothing is ever written to a disk.

Pure. Archives come from people and from the internet: whatever is odd about one is refused.
"""

import io
import lzma
import stat
import zipfile
import zlib

from app.datasets.payload import MAX_BYTES
from app.domain.errors import FormatError

MAX_ENTRIES = 20_000

_ENCRYPTED = 0x1
"""Bit of an entry's flags."""


def files(data: bytes, *, limit: int = MAX_BYTES) -> dict[str, bytes]:
    """The archive's files by path; folders are left out.

    `limit` is in bytes of all files together; reading stops there, whatever the archive says about their sizes. Raises
    FormatError for what is no zip archive, damaged, encrypted or too large, and for entries that are links, appear
    twice or have a path that leads out of the archive.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
            if len(entries) > MAX_ENTRIES:
                raise FormatError(f"the archive holds more than the {MAX_ENTRIES} files allowed")
            found: dict[str, bytes] = {}
            for entry in entries:
                _check(entry, found)
                with archive.open(entry) as stream:
                    content = stream.read(limit + 1)
                limit -= len(content)
                if limit < 0:
                    raise FormatError("the archive's content is larger than allowed")
                found[entry.filename] = content
            return found
    except zipfile.BadZipFile as error:
        raise FormatError(f"not a sound zip archive: {error}") from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError, RuntimeError) as error:
        # RuntimeError has NotImplementedError below it, which unknown compression raises.
        raise FormatError(f"the zip archive is damaged: {error}") from error


def _check(entry: zipfile.ZipInfo, found: dict[str, bytes]) -> None:
    # The name as stored: zipfile cuts it at a NUL.
    name = entry.orig_filename
    if entry.flag_bits & _ENCRYPTED:
        raise FormatError(f"{name!r} in the archive is encrypted")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise FormatError(f"{name!r} in the archive is a link")
    if not name.isprintable() or "\\" in name or ":" in name or {"", ".", ".."} & set(name.split("/")):
        raise FormatError(f"{name!r} in the archive is not a plain relative path")
    if entry.filename in found:
        raise FormatError(f"{name!r} is in the archive twice")
