import math

import pytest

from app.domain.problems import Comparison
from app.judge.comparison import matches

NAN = math.nan


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (1, 1.0),
        (True, 1),
        (0.0, -0.0),
        (2 + 0j, 2),
        (10**400, 10**400),
        (NAN, NAN),
        ([NAN, (NAN,)], [NAN, (NAN,)]),
        ({1, 2}, frozenset({2, 1})),
        ({"a": [1], "b": 2}, {"b": 2, "a": [1.0]}),
        ({(1, NAN): 3}, {(1.0, NAN): 3}),
        ("\ud800", "\ud800"),
    ],
)
def test_equal(actual, expected):
    assert matches(actual, expected, Comparison.EXACT)
    assert matches(actual, expected, Comparison.FLOAT, 0.0)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        ([1], (1,)),
        ("1", 1),
        (b"a", "a"),
        (None, 0),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ({1: 2}, {1: 3}),
        ({1: 2}, {2: 2}),
        ({1}, [1]),
        (0.1 + 0.2, 0.3),
        (NAN, 0.0),
        (math.inf, -math.inf),
        (10**400, math.inf),
        ("n1;", 1),
        (["a", "b"], ["a,b"]),
        ({"ab", "c"}, {"a", "bc"}),
    ],
)
def test_different(actual, expected):
    assert not matches(actual, expected, Comparison.EXACT)


def test_float_tolerance_is_absolute_or_relative():
    # |a - b| <= max(tol * max(|a|, |b|), tol)
    assert matches([1e9 + 1], [1e9], Comparison.FLOAT, 1e-8)
    assert matches(1e-9, 0.0, Comparison.FLOAT, 1e-8)
    assert not matches(1.001, 1.0, Comparison.FLOAT, 1e-4)
    assert matches({"k": (0.1 + 0.2, "s")}, {"k": (0.3, "s")}, Comparison.FLOAT)
    assert matches({0.1 + 0.2, 5}, {5, 0.3}, Comparison.FLOAT)
    assert not matches([0.3, 1], [0.3], Comparison.FLOAT)
    assert matches(3, 3.0000001, Comparison.FLOAT)
    assert not matches(3, 4, Comparison.FLOAT, 10.0), "ints have no tolerance"
    assert not matches(10**400, 1.0, Comparison.FLOAT)
    assert not matches("a", 1.0, Comparison.FLOAT)
    assert matches(math.inf, math.inf, Comparison.FLOAT)


def test_unordered_compares_multisets_of_the_outermost_sequence():
    assert matches([[1], [2], [1]], [[2], [1], [1]], Comparison.UNORDERED)
    assert not matches([[1], [2]], [[1], [2], [2]], Comparison.UNORDERED)
    assert not matches([[1, 2]], [[2, 1]], Comparison.UNORDERED)
    assert not matches((1, 2), [2, 1], Comparison.UNORDERED)
    assert matches([NAN, 1], [1, NAN], Comparison.UNORDERED)


def test_any_of():
    assert matches("b", ["a", "b"], Comparison.ANY_OF)
    assert not matches("c", ["a", "b"], Comparison.ANY_OF)
    assert matches(0.3000001, [1.0, 0.3], Comparison.ANY_OF, 1e-3)


@pytest.mark.parametrize("comparison", [Comparison.EXACT, Comparison.FLOAT, Comparison.UNORDERED])
def test_depth_does_not_matter(comparison):
    def nested(inner):
        value = inner
        for n in range(15_000):
            value = [value] if n % 2 else (value,)
        return value

    assert matches(nested(1), nested(1.0), comparison)
    assert not matches(nested(1), nested(2), comparison)


def test_nested_sets_take_linear_time():
    def nested(leaf):
        value = frozenset({leaf, "x" * 100_000})
        for n in range(3000):
            value = frozenset({value, n})
        return value

    # Joined instead of digested, this would copy 100 kB three thousand times.
    assert matches(nested("a"), nested("a"), Comparison.EXACT)
    assert not matches(nested("a"), nested("b"), Comparison.EXACT)
