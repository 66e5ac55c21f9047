"""Test code to cases: each rule, and each thing that must stay code."""

import ast

import pytest

from app.datasets.literal_calls import NotConvertible, literal_cases
from app.domain.codec import encode
from app.domain.problems import Case, Comparison


def cases(*lines: str) -> list[Case]:
    body = "\n".join(f"    {line}" for line in lines)
    (check,) = ast.parse(f"def check(candidate):\n{body}\n").body
    assert isinstance(check, ast.FunctionDef)
    return literal_cases(check)


def case(arguments: tuple[object, ...], expected: object) -> Case:
    return Case(encode(arguments), encode(expected))


def test_equality_either_way_round() -> None:
    assert cases("assert candidate(1, [2]) == (3,), 'message'", "assert 4 == candidate('x')") == [
        case((1, [2]), (3,)),
        case(("x",), 4),
    ]


def test_identity_with_the_three_singletons() -> None:
    assert cases("assert candidate(1) is True", "assert candidate(2) is False", "assert candidate(3) is None") == [
        case((1,), True),
        case((2,), False),
        case((3,), None),
    ]


def test_membership_accepts_any_of_the_values() -> None:
    (only,) = cases("assert candidate(1) in [2, 3]")
    assert only == Case(encode((1,)), encode([2, 3]), comparison=Comparison.ANY_OF)


def test_tolerance_of_small_values_is_the_bound() -> None:
    # |x| <= 1: an absolute tolerance of 1e-6 is the wider of the two, and is what the test says.
    (only,) = cases("assert abs(candidate(1.33) - 0.33) < 1e-6")
    assert only == Case(encode((1.33,)), encode(0.33), comparison=Comparison.FLOAT, tolerance=1e-6)


def test_tolerance_of_large_values_keeps_the_absolute_bound() -> None:
    # The judge also allows tolerance * |x|; 1e-6 / 50 times 50 is the test's 1e-6 again.
    (only,) = cases("assert abs(candidate(1) - 50) <= 1e-6")
    assert only == Case(encode((1,)), encode(50.0), comparison=Comparison.FLOAT, tolerance=2e-8)


def test_constants_loops_and_tables() -> None:
    assert cases(
        "'''A docstring.'''",
        "base = 2 ** 3",
        "for x in range(1, 3):",
        "    assert candidate(x, base) == str(x + 1)",
        "for arguments, expected in [((1, 2), 3), ((4, 5), 9)]:",
        "    assert candidate(arguments) == expected",
        "assert True, 'nothing is checked here'",
        "print",
        "pass",
    ) == [case((1, 8), "2"), case((2, 8), "3"), case(((1, 2),), 3), case(((4, 5),), 9)]


def test_repeated_calls_stay() -> None:
    assert cases("assert candidate(1) == 2", "assert candidate(1) == 2") == [case((1,), 2)] * 2


def test_a_list_built_before_the_call_may_be_passed_once() -> None:
    assert cases("xs = [1, 2]", "total = sum(xs)", "assert candidate(xs) == total") == [case(([1, 2],), 3)]


@pytest.mark.parametrize(
    "lines",
    [
        ["xs = [1]", "assert candidate(xs) == 1", "assert candidate(xs) == 1"],
        ["xs = [1]", "assert candidate(xs) == xs"],
        ["xs = [1]", "assert xs == candidate(xs)"],
        ["xs = [1]", "ys = [xs]", "assert candidate(xs) == 1", "assert candidate(ys) == 1"],
        ["for x in [[1]] * 2:", "    assert candidate(x) == 1"],
    ],
)
def test_values_the_candidate_may_have_changed_are_not_trusted(lines: list[str]) -> None:
    with pytest.raises(NotConvertible, match="a value that the candidate may have changed"):
        cases(*lines)


@pytest.mark.parametrize(
    ("lines", "obstacle"),
    [
        # Any true value passes these, so that no single expected value says the same.
        (["assert candidate(1)"], r"the assertion `candidate\(1\)`"),
        (["assert not candidate(1)"], "the assertion `not candidate"),
        (["assert candidate(1) == True and candidate(2) == True"], "the assertion"),
        (["assert candidate(1) != 2"], "the assertion"),
        (["assert tuple(candidate([1])) == (1,)"], "in the assertion `tuple"),
        (["assert round(candidate(1), 2) == 1.5"], "in the assertion `round"),
        (["assert candidate(1) is 5"], "the assertion"),
        (["assert candidate(1) == candidate(2)"], "the expression candidate"),
        (["assert candidate(helper(1)) == 2"], "the expression helper"),
        (["assert candidate(x=1) == 2"], "keyword arguments"),
        (["assert candidate(*[1]) == 2"], "in the assertion"),
        (["assert candidate(1) == float('nan')"], "compares with NaN"),
        (["assert candidate(1) == [float('nan')]"], "compares with NaN"),
        (["assert abs(candidate(1) - 2) > 0.5"], "the assertion"),
        (["assert abs(candidate(1) - [2]) < 0.5"], "the assertion"),
        (["abs = 1", "assert abs(candidate(1) - 2) < 0.5"], "the assertion"),
        (["assert abs(candidate(1) - float('inf')) < 0.5"], "the assertion"),
        (["assert abs(candidate(1) - 2) < 0"], "the assertion"),
        (["assert abs(candidate(1) - 10 ** 400) < 1"], "the assertion"),
        (["import random", "assert candidate(1) == 1"], "the statement `import random`"),
        (["candidate = 1"], "the statement `candidate = 1`"),
        (["x = [1]", "x[0] = 2", "assert candidate(x) == 1"], "the statement"),
        (["for x in {1, 2}:", "    assert candidate(x) == 1"], "the loop over"),
        (["for x, y in [1]:", "    assert candidate(x) == 1"], "the loop variable"),
        (["if True:", "    assert candidate(1) == 1"], "the statement `if True:`"),
        (["candidate(1)"], "the statement"),
        (["assert True"], "asserts nothing"),
        (["pass"], "asserts nothing"),
        (["for x in range(21):", " for y in range(1000):", "  assert candidate(x) == 1"], "asserts too much"),
        (["assert candidate('x' * 5000000) == 1"], "value is larger than"),
    ],
)
def test_what_cannot_be_said_exactly_stays_code(lines: list[str], obstacle: str) -> None:
    with pytest.raises(NotConvertible, match=obstacle):
        cases(*lines)


@pytest.mark.parametrize("signature", ["(f)", "()", "(candidate, other)"])
def test_check_takes_the_candidate_alone(signature: str) -> None:
    (check,) = ast.parse(f"def check{signature}: assert candidate(1) == 1").body
    assert isinstance(check, ast.FunctionDef)
    with pytest.raises(NotConvertible, match="does not take just `candidate`"):
        literal_cases(check)
