"""The evaluator of constant expressions."""

import ast
from typing import Any

import pytest

from app.datasets.literals import Evaluator, NotConstant


def evaluate(source: str) -> Any:
    return Evaluator().value(ast.parse(source, mode="eval").body)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("-7", -7),
        ("2 ** 10", 1024),
        ("2.0 / 3.0", 2.0 / 3.0),
        ("7 // 2 % 2", 1),
        ("[1] * 3", [1, 1, 1]),
        ("'ab' + 'c' * 2", "abcc"),
        ("(1, [2, {3: {4}}], None)", (1, [2, {3: {4}}], None)),
        ("float('inf')", float("inf")),
        ("list(range(-3, 4, 3))", [-3, 0, 3]),
        ("sum([i ** 2 for i in [1, 2, 3] if i % 2 != 0 and i > 0])", 10),
        ("str(12)", "12"),
        ("sorted([3, 1, 2])[0]", 1),
        ("set()", set()),
        ("not 0", True),
        ("1 < 2", True),
        ("b'x'", b"x"),
    ],
)
def test_constants(source: str, value: Any) -> None:
    result = evaluate(source)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x", "the name x"),
        ("open('f')", "the expression open"),
        ("__import__('os')", "the expression __import__"),
        ("(1).__class__", "the expression"),
        ("[1, 2][0:1]", "the expression"),
        ("f'{1}'", "the expression"),
        ("lambda: 1", "the expression"),
        ("'%s' % 1", "the expression"),
        ("...", "the expression"),
        ("2j", "the expression"),
        ("[*[1]]", "the expression"),
        ("{**{}}", "the expression"),
        ("sum([[1], [2]])", "the expression sum"),
        ("str([1])", "the expression str"),
        ("1 / 0", "1 / 0 raises ZeroDivisionError"),
        ("int('x')", "raises ValueError"),
        ("[1][5]", "raises IndexError"),
        ("{[]: 1}", "raises TypeError"),
        ("10 ** 400 * 1.0", "raises OverflowError"),
    ],
)
def test_everything_else_is_refused(source: str, reason: str) -> None:
    with pytest.raises(NotConstant, match=reason.replace("(", r"\(").replace("[", r"\[")):
        evaluate(source)


@pytest.mark.parametrize(
    "source",
    [
        "10 ** 10 ** 10",
        "(2 ** 16000) * (2 ** 16000)",
        "[0] * 10 ** 9",
        "'x' * (10 ** 10)",
        "list(range(10 ** 9))",
        # Little memory, but comparing or encoding it would take 10^12 steps.
        "[[[0] * 10000] * 10000] * 10000",
        "[[0] * 1000 for i in range(100000)]",
        "[sum(range(1000000)) for i in range(1000000)]",
        "+".join(["1"] * 500),
    ],
)
def test_large_values_are_refused_quickly(source: str) -> None:
    with pytest.raises(NotConstant, match=r"too (large|many|deep)"):
        evaluate(source)
