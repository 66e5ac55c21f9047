"""Values of the native format."""

import math
from typing import Any

import pytest

from app.datasets.tagged_values import MAX_ITEMS, BadValue, lcg, python_value


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ([1, 2.5, "x", True, None, {"a": [1]}], [1, 2.5, "x", True, None, {"a": [1]}]),
        ({"$tuple": [1, {"$tuple": []}]}, (1, ())),
        ({"$set": [1, {"$tuple": [2]}]}, {1, (2,)}),
        ({"$dict": [[1, "a"], [{"$tuple": [2]}, {"$range": [0, 2]}]]}, {1: "a", (2,): [0, 1]}),
        ({"$float": "-inf"}, -math.inf),
        ({"$bytes": "00ff"}, b"\x00\xff"),
        ({"$range": [3, 0, -2]}, [3, 1]),
        ({"$range": [3, 0]}, []),
        ({"$repeat": [[1], 2]}, [[1], [1]]),
        ({"$repeat": ["ab", 2]}, "abab"),
        ({"$repeat": [{"$range": [0, 2]}, 0]}, []),
        ({"$concat": [[1], {"$repeat": [2, 2]}]}, [1, 2, 2]),
        ({"$concat": ["a", {"$repeat": ["b", 2]}]}, "abb"),
        ({"$concat": []}, []),
        ({"$zip": [[1, 2], [3, 4]]}, [[1, 3], [2, 4]]),
        ({"$two": 1, "keys": 2}, {"$two": 1, "keys": 2}),
    ],
)
def test_tags(written: Any, value: Any) -> None:
    assert python_value(written) == value


def test_special_floats() -> None:
    assert math.isnan(python_value({"$float": "nan"}))
    assert math.copysign(1, python_value({"$float": "-0.0"})) == -1


def test_pseudo_random_numbers_follow_the_documented_recurrence() -> None:
    # Seed 1: x1 = 6364136223846793005 + 1442695040888963407 = 7806831264735756412, and x1 >> 33 = 908834774,
    # which is 74 mod 100.
    assert 7806831264735756412 >> 33 == 908834774
    assert lcg(1, 1, 0, 99) == [74]
    assert python_value({"$lcg": [1, 3, -5, 5]}) == lcg(1, 3, -5, 5)
    assert set(lcg(7, 1000, 2, 4)) == {2, 3, 4}


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ({"$list": []}, "unknown tag \\$list; known are \\$tuple"),
        ({"$tuple": 1}, "take an array"),
        ({"$set": [[1]]}, "a member of a set"),
        ({"$dict": [[1, 2, 3]]}, "pairs"),
        ({"$dict": ["ab"]}, "pairs"),
        ({"$dict": [[[], 1]]}, "a key cannot be"),
        ({"$float": 1.5}, "\\$float takes"),
        ({"$bytes": "0"}, "hexadecimal"),
        ({"$bytes": 5}, "hexadecimal"),
        ({"$range": [1]}, "\\$range takes"),
        ({"$range": [0, 1.0]}, "\\$range takes"),
        ({"$range": [0, 1, 0]}, "step 0"),
        ({"$repeat": [1]}, "\\$repeat takes"),
        ({"$repeat": [1, -1]}, "\\$repeat takes"),
        ({"$repeat": [1, True]}, "\\$repeat takes"),
        ({"$concat": [[1], "a"]}, "\\$concat takes"),
        ({"$zip": [[1], [1, 2]]}, "one length"),
        ({"$zip": []}, "one length"),
        ({"$lcg": [1, 2, 3]}, "\\$lcg takes"),
        ({"$lcg": [1, 2, 9, 3]}, "\\$lcg takes"),
    ],
)
def test_wrong_tags(written: Any, reason: str) -> None:
    with pytest.raises(BadValue, match=reason):
        python_value(written)


@pytest.mark.parametrize(
    "written",
    [
        {"$range": [0, MAX_ITEMS + 1]},
        {"$range": [0, 10**30]},
        {"$range": [10**30, 0, -1]},
        {"$repeat": [0, MAX_ITEMS + 1]},
        {"$repeat": ["x", MAX_ITEMS + 1]},
        {"$repeat": [{"$repeat": [{"$repeat": [0, 100]}, 100]}, 1000]},
        {"$lcg": [1, MAX_ITEMS + 1, 0, 1]},
        [{"$range": [0, 1_500_000]}, {"$range": [0, 1_500_000]}],
    ],
)
def test_generated_values_are_bounded(written: Any) -> None:
    with pytest.raises(BadValue, match="larger than 2000000 items"):
        python_value(written)
