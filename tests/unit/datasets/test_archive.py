"""Zip archives of imported files: what is taken, and what is refused."""

import io
import stat
import tarfile
import tracemalloc
import warnings
import zipfile

import pytest

from app.datasets import archive
from app.domain.errors import FormatError


def zipped(*entries: tuple[str | zipfile.ZipInfo, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that appears twice
        for name, content in entries:
            made.writestr(name, content)
    return stream.getvalue()


def tarred(*entries: tuple[str, bytes], kind: bytes = tarfile.REGTYPE, mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as made:  # type: ignore[call-overload]
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.size = kind, len(content)
            made.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_archive_however_it_is_compressed(mode: str) -> None:
    assert archive.files(tarred(("./a/b.py", b"x = 1\n"), ("c", b""), mode=mode)) == {"a/b.py": b"x = 1\n", "c": b""}


@pytest.mark.parametrize("name", ["../a", "/etc/passwd", "a/../../b", "a\\b"])
def test_paths_of_a_tar_archive_that_are_not_plain(name: str) -> None:
    with pytest.raises(FormatError, match=r"is not a plain relative path$"):
        archive.files(tarred((name, b"x")))


def test_what_is_no_file_and_what_comes_twice_in_a_tar_archive() -> None:
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
        with pytest.raises(FormatError, match=r"^'a' in the archive is a link or no file$"):
            archive.files(tarred(("a", b""), kind=kind))
    with pytest.raises(FormatError, match=r"^'a' is in the archive twice$"):
        archive.files(tarred(("a", b"1"), ("a", b"2")))


def test_a_tar_bomb_is_given_up_at_the_limit() -> None:
    bomb = tarred(*((str(number), b"\0" * 5_000_000) for number in range(4)))
    assert len(bomb) < 40_000
    with pytest.raises(FormatError, match=r"^the archive's content is larger than allowed$"):
        archive.files(bomb, limit=6_000_000)
    with pytest.raises(FormatError, match=r"^(not a sound zip or tar archive|the archive is damaged): "):
        archive.files(bomb[:-200])


def test_files_by_path_without_folders() -> None:
    data = zipped(("a/", b""), ("a/b.py", b"x = 1\n"), ("c.txt", b""))
    assert archive.files(data) == {"a/b.py": b"x = 1\n", "c.txt": b""}


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions(compression: int) -> None:
    assert archive.files(zipped(("a", b"aa" * 500), compression=compression)) == {"a": b"aa" * 500}


@pytest.mark.parametrize(
    "name", ["../a", "a/../../b", "/etc/passwd", "a//b", "./a", "a\\b", "C:/a", "a\nb", "\u202egpj.py"]
)
def test_paths_that_are_not_plain(name: str) -> None:
    with pytest.raises(FormatError, match=r"is not a plain relative path$"):
        archive.files(zipped(("good", b""), (name, b"x")))


@pytest.mark.parametrize("name", [b"good.py\0hidden", b"\0hidden"])
def test_a_name_that_goes_on_after_a_nul(name: bytes) -> None:
    data = zipped(("q" * len(name), b"x")).replace(b"q" * len(name), name)
    with pytest.raises(FormatError, match=r"hidden' in the archive is not a plain relative path$"):
        archive.files(data)


def test_links() -> None:
    link = zipfile.ZipInfo("link")
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(FormatError, match=r"^'link' in the archive is a link$"):
        archive.files(zipped((link, b"/etc/passwd")))


def test_two_files_of_one_name() -> None:
    with pytest.raises(FormatError, match=r"^'a' is in the archive twice$"):
        archive.files(zipped(("a", b"1"), ("a", b"2")))


def test_encrypted_files() -> None:
    data = bytearray(zipped(("a", b"secret")))
    # The flags of the local header and of the central directory: bit 0 says that the content is encrypted.
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(FormatError, match=r"^'a' in the archive is encrypted$"):
        archive.files(bytes(data))


def test_a_bomb_is_given_up_at_the_limit() -> None:
    bomb = zipped(*((str(number), b"\0" * 5_000_000) for number in range(4)))
    assert len(bomb) < 30_000
    tracemalloc.start()
    with pytest.raises(FormatError, match=r"^the archive's content is larger than allowed$"):
        archive.files(bomb, limit=6_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


def test_a_size_that_is_a_lie_does_not_pass_the_limit() -> None:
    data = bytearray(zipped(("a", b"\0" * 100_000)))
    central = data.index(b"PK\x01\x02")
    data[central + 24 : central + 28] = (10).to_bytes(4, "little")
    with pytest.raises(FormatError):
        archive.files(bytes(data), limit=1_000)


def test_too_many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_ENTRIES", 2)
    assert len(archive.files(zipped(("a", b""), ("b", b"")))) == 2
    with pytest.raises(FormatError, match=r"^the archive holds more than the 2 files allowed$"):
        archive.files(zipped(("a", b""), ("b", b""), ("c", b"")))


SOUND = zipped(("a", b"some text that is long enough to be compressed, compressed, compressed"))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK",
        b"no archive at all",
        SOUND[:-30],
        SOUND[:40] + b"\xff\xff\xff" + SOUND[43:],
        SOUND.replace(b"\x08\x00", b"\x63\x00"),  # a compression that nobody knows
    ],
    ids=["empty", "two bytes", "text", "cut", "damaged", "unknown compression"],
)
def test_what_is_no_sound_archive(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"^(not a sound zip or tar archive|the archive is damaged): "):
        archive.files(data)
