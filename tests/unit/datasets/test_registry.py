"""Formats by name."""

import re

import pytest

from app.config import ROOT
from app.datasets.registry import FORMATS, KNOWN, read_problem_set
from app.domain.errors import FormatError, InputError


def test_unknown_formats_are_refused_with_the_known_ones() -> None:
    with pytest.raises(
        InputError, match=r"^unknown format 'csv'; known are humaneval, leetcode, mbpp, native, pdb, quixbugs$"
    ):
        read_problem_set(b"", format="csv", name="x")


def test_every_format_is_documented() -> None:
    page = (ROOT / "docs" / "problem-sets.md").read_text()
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == sorted(KNOWN)


@pytest.mark.parametrize("format_name", sorted(FORMATS.keys() - {"quixbugs"}))
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"\xff\xfe{", "not UTF-8"),
        (b"\x1f\x8b\x08", "gzip stream"),
        (b"[]", "expected an object"),
        (b'{"a": 1, "a": 2}', "key 'a' appears twice"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": ', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
    ],
)
def test_every_text_format_refuses_what_no_reader_can_use(format_name: str, data: bytes, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        read_problem_set(data, format=format_name, name="x")
