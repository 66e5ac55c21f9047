import collections
import enum
import math
import re
import sys

import pytest

from app.domain.codec import MAX_DEPTH, CodecError, decode, encode, readable

ROUND_TRIPS = [
    None,
    True,
    False,
    0,
    -31,
    10**5000,
    -(10**5000),
    0.1,
    1e300,
    5e-324,
    math.inf,
    -math.inf,
    1 + 2j,
    complex(-0.0, math.inf),
    "",
    "plain",
    "back\\slash \\n literal",
    "line\nfeed\ttab\rreturn",
    "NUL \0 and DEL \x7f",
    "é λ 𝄞",
    "lone \ud800 and \udfff",
    "\ud83d\ude00",
    "semi;colon:5:",
    b"",
    b"\0\xff;",
    [],
    (),
    {},
    set(),
    frozenset(),
    [1, [2, (3,)], {"k": [4]}],
    {1: "a", "1": "b", (1, 2): None, frozenset({1}): 2},
    {1, "1", None, (1, 2)},
    frozenset({frozenset({1}), frozenset({2})}),
]


@pytest.mark.parametrize("value", ROUND_TRIPS, ids=range(len(ROUND_TRIPS)))
def test_a_value_comes_back_as_itself_with_its_type(value):
    text = encode(value)
    assert text.isascii()
    assert text.isprintable()
    back = decode(text)
    assert back == value
    assert type(back) is type(value)


def test_the_format_is_what_the_docstring_says():
    assert (
        encode((None, True, -31, -0.0, "a\n", b"\x01", {"k": [1.5]})) == "t7:NTi-1f;f-0.0;s3:a\\nb1:01d1:s1:kl1:f1.5;"
    )


def test_zero_keeps_its_sign_and_nan_stays_nan():
    assert math.copysign(1, decode(encode(-0.0))) == -1
    assert math.isnan(decode(encode(math.nan)))


def test_elements_of_a_set_are_written_in_one_order():
    # Strings hash differently in every process; the text must not.
    assert encode({"b", "a", "c"}) == "S3:s1:as1:bs1:c"


def test_two_lone_surrogates_do_not_merge():
    assert len(decode(encode("\ud83d\ude00"))) == 2


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: (v,), lambda v: {"k": v}, lambda v: frozenset({v})])
def test_depth_ten_thousand(wrap):
    value = 7
    for _ in range(10_000):
        value = wrap(value)
    text = encode(value)
    # Equality of such a value recurses in C, so the texts are compared.
    assert encode(decode(text)) == text


def test_subclasses_are_reduced_without_calling_their_methods():
    class Liar(list):
        def __iter__(self):
            raise AssertionError("called")

        def __len__(self):
            raise AssertionError("called")

    class Shade(enum.IntEnum):
        DARK = 3

    Point = collections.namedtuple("Point", "x y")

    class Text(str):
        def __str__(self):
            return "other"

    class Number(float):
        def __repr__(self):
            return "0.0"

    assert encode(Liar([1])) == "l1:i1;"
    assert encode(Shade.DARK) == "i3;"
    assert encode(Point(1, 2)) == "t2:i1;i2;"
    assert encode(collections.Counter("aa")) == "d1:s1:ai2;"
    assert encode(Text("own")) == "s3:own"
    assert encode(Number(1.5)) == "f1.5;"


@pytest.mark.parametrize(
    ("value", "name"),
    [(lambda: 0, "function"), (iter([]), "list_iterator"), (object(), "object"), (range(3), "range")],
)
def test_other_types_are_refused_by_name(value, name):
    with pytest.raises(CodecError, match=name):
        encode([value])


def test_an_object_that_claims_to_be_a_list_is_refused():
    class Fake:
        @property
        def __class__(self):
            return list

    with pytest.raises(CodecError, match="Fake"):
        encode(Fake())


def test_cycles_are_refused_and_shared_values_are_not():
    cycle: list = []
    cycle.append([cycle])
    with pytest.raises(CodecError, match="contains itself"):
        encode(cycle)
    shared = [1]
    assert decode(encode([shared, shared])) == [[1], [1]]


def test_a_value_that_doubles_at_every_level_meets_the_size_cap():
    value: list = []
    for _ in range(100):
        value = [value, value]
    with pytest.raises(CodecError, match="larger than 10000 characters"):
        encode(value, 10_000)


def test_the_size_cap_is_exact():
    assert encode("abc", 6) == "s3:abc"
    with pytest.raises(CodecError, match="larger than 5"):
        encode("abc", 5)


HOSTILE = [
    "",
    "Q",
    "i;",
    "i1",
    "i1_0;",
    "i 1;",
    "iZ;",
    "f;",
    "f1_0;",
    "fNaN;",
    "f" + "1" * 100 + ";",
    "c1;",
    "s5:abc",
    "s-1:",
    "s:",
    "s99999999999999999999999:",
    "s1:\n",
    "s2:\\q",
    "s4:\\101",
    "s10:\\N{DIGIT}",
    "s10:\\U00110000",
    "s1:\\",
    "b1:0",
    "b2:0 0 ",
    "l1:",
    "l999999999:N",
    "d1:N",
    "d1:l0:N",
    "S1:l0:",
    "S2:i1;i1;",
    "d2:NTNT",
    "NN",
    "l1:" * (MAX_DEPTH + 1) + "N",
    "l²:",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_encode_would_not_write_is_refused(text):
    with pytest.raises(CodecError):
        decode(text)


def test_numbers_with_one_hash_are_refused_before_they_take_quadratic_time():
    # hash(k * (2**61 - 1)) is 0 for every k.
    modulus = sys.hash_info.modulus
    text = "S100000:" + "".join(f"i{k * modulus:x};" for k in range(100_000))
    with pytest.raises(CodecError, match="share a hash"):
        decode(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "None"),
        ((1,), "(1,)"),
        ((), "()"),
        ([1, "a", {"k": (1.5, b"x")}], "[1, 'a', {'k': (1.5, b'x')}]"),
        ({1: [], 2: {}}, "{1: [], 2: {}}"),
        (set(), "set()"),
        ({3}, "{3}"),
        (frozenset({1}), "frozenset({1})"),
        ([[], [[]]], "[[], [[]]]"),
        (math.nan, "float('nan')"),
        ([-math.inf], "[float('-inf')]"),
    ],
)
def test_readable_is_the_python_literal(value, expected):
    assert readable(encode(value)) == expected


def test_readable_is_cut_to_its_limit():
    assert readable(encode(list(range(1000))), 10) == "[0, 1, 2,…"
    assert len(readable(encode("λ" * 10**5), 50)) == 50
    assert readable(encode([b"\x00" * 10**6]), 12) == "[b'\\x00\\x00…"
    assert re.fullmatch(r"\[{99}…", readable("l1:" * 9999 + "N", 100))
    assert readable(encode(10**5000), 100).startswith("0x")
