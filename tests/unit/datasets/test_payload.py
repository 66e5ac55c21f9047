"""Bytes of imported files: gzip, bounds and encodings."""

import gzip
import tracemalloc

import pytest

from app.datasets import payload
from app.domain.errors import FormatError


def test_gzip_is_recognised_by_its_first_bytes() -> None:
    assert payload.text(gzip.compress(b"a line\n")) == "a line\n"
    assert payload.text(b"a line\n") == "a line\n"


def test_gzip_files_of_several_members_are_read_whole() -> None:
    assert payload.content(gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


def test_a_gzip_bomb_is_given_up_at_the_limit() -> None:
    bomb = gzip.compress(b"\0" * 20_000_000)
    tracemalloc.start()
    with pytest.raises(FormatError, match="larger than the 1000000 bytes allowed"):
        payload.content(bomb, limit=1_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A quarter of what the bomb holds would do; reading stops within a buffer of the limit.
    assert peak < 5_000_000


def test_plain_files_have_the_same_limit() -> None:
    assert payload.content(b"x" * 10, limit=10) == b"x" * 10
    with pytest.raises(FormatError, match="larger than the 10 bytes"):
        payload.content(b"x" * 11, limit=10)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (gzip.compress(b"some text")[:-9], "truncated"),
        (gzip.compress(b"some text")[:10] + b"\xff\xff\xff\xff", "damaged"),
        (b"\x1f\x8b\x00\x00" * 5, "damaged"),
        (gzip.compress(b"some text") + b"more", "damaged"),
    ],
)
def test_broken_gzip(data: bytes, reason: str) -> None:
    with pytest.raises(FormatError, match=f"the gzip stream is {reason}"):
        payload.content(data)


def test_wrong_encoding_names_the_line() -> None:
    with pytest.raises(FormatError, match=r"^line 2: the file is not UTF-8 text \(byte 0xe9\)$"):
        payload.text("first\ncafé\n".encode("latin-1"))


@pytest.mark.parametrize("data", [b"", b" \n\n", gzip.compress(b""), b"\xef\xbb\xbf"])
def test_empty_file(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"^the file is empty$"):
        payload.text(data)


def test_a_byte_order_mark_is_no_content() -> None:
    assert payload.text(b"\xef\xbb\xbf{}") == "{}"
