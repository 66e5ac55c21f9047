"""Calls in docstrings, in the notations that occur."""

import pytest

from app.datasets.docstring_examples import example_arguments
from app.domain.codec import encode


@pytest.mark.parametrize(
    "line",
    [
        ">>> f([1, 2], ')')",
        "f([1, 2], ')') == 3",
        "f([1,2], ')') ➞ 3",
        "f([1, 2],  ')') => 3",
        "* f([1, 2], ')') returns 3 (see g(1))",
        "For example f([1, 2], ')') should be 3.",
        "f([1,\n    2], ')')",
    ],
)
def test_notations(line: str) -> None:
    assert example_arguments(line, "f") == {encode(([1, 2], ")"))}


def test_calls_of_each_example_are_found() -> None:
    assert example_arguments(">>> f(1)\n2\n>>> f(2) == f(3)", "f") == {encode((n,)) for n in (1, 2, 3)}


@pytest.mark.parametrize("line", ["f(n - 1)", "g(1)", "of(1)", "x.f(1)", "f(a=1)", "f(", "f(1", "f(1 2)", "f (1)"])
def test_what_is_no_constant_call(line: str) -> None:
    assert example_arguments(line, "f") == set()


def test_arguments_keep_their_types() -> None:
    assert example_arguments("f(1.0)", "f") != example_arguments("f(1)", "f")


def test_an_argument_too_large_to_be_a_case_is_no_example() -> None:
    assert example_arguments("f('x' * 5000000)", "f") == set()
