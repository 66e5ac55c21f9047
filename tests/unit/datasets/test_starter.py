"""The starter problems against brute force written independently of their references.

The programs are our own, which is why they may run in this process.
"""

import ast
import itertools
import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from app.datasets.starter import starter_set
from app.domain.codec import decode
from app.domain.edits.diff import apply_script
from app.domain.edits.ground_truth import fault
from app.domain.problems import Case, CaseTests, Comparison, Problem

SET = starter_set()
PROBLEMS = {problem.key: problem for problem in SET.problems}
LARGE = 10_000
"""Characters of encoded arguments above which a case is not for brute force."""


def cases(problem: Problem) -> tuple[Case, ...]:
    assert isinstance(problem.tests, CaseTests)
    return problem.tests.cases


def function(problem: Problem, source: str) -> Callable[..., Any]:
    names: dict[str, Any] = {}
    exec(compile(source, problem.key, "exec"), names)  # noqa: S102  our own programs
    entry: Callable[..., Any] = names[problem.entry_point]
    return entry


def same(case: Case, actual: object) -> bool:
    expected = decode(case.expected)
    if case.comparison is Comparison.FLOAT:
        assert case.tolerance is not None
        return len(actual) == len(expected) and all(  # type: ignore[arg-type]
            math.isclose(a, b, rel_tol=case.tolerance, abs_tol=case.tolerance)
            for a, b in zip(actual, expected, strict=True)  # type: ignore[call-overload]
        )
    return type(actual) is type(expected) and actual == expected


def passes(case: Case, program: Callable[..., Any]) -> bool:
    try:
        return same(case, program(*decode(case.arguments)))
    except IndexError:  # the only exception that a buggy program is known to raise
        return False


def shelf_gaps(tags: list[int]) -> list[tuple[int, int]]:
    missing = sorted(set(range(min(tags, default=0), max(tags, default=-1) + 1)) - set(tags))
    firsts = [number for number in missing if number - 1 not in missing]
    lasts = [number for number in missing if number + 1 not in missing]
    return list(zip(firsts, lasts, strict=True))


def second_sightings(rings: list[int]) -> list[int]:
    return [ring for place, ring in enumerate(rings) if rings[:place].count(ring) == 1]


def smooth_readings(readings: list[float], weight: float) -> list[float]:
    """The closed form: each reading's weight has decayed by (1 - weight) once for each reading since."""
    smoothed = []
    for last in range(len(readings)):
        value = readings[0] * (1 - weight) ** last
        value += sum(weight * (1 - weight) ** (last - place) * readings[place] for place in range(1, last + 1))
        smoothed.append(value)
    return smoothed


def beacon_overlap(first_period: int, second_period: int, seconds: int) -> int:
    return sum(second % first_period == 0 == second % second_period for second in range(seconds))


def wristband_pairs(numbers: list[int], group: int) -> int:
    return sum((a + b) % group == 0 for a, b in itertools.combinations(numbers, 2))


def rung_orders(height: int, strides: list[int], broken: list[int]) -> int:
    def climb(rung: int) -> int:
        if rung == height:
            return 1
        return sum(
            climb(rung + stride) for stride in strides if rung + stride <= height and rung + stride not in broken
        )

    return climb(0)


def carousel_seat(next_seat: list[int], start: int, songs: int) -> int:
    seat = start
    for _ in range(songs):
        seat = next_seat[seat]
    return seat


def seed_order(order: str) -> dict[str, int]:
    """Writes the order out in full, innermost groups first."""
    while "(" in order:
        close = order.index(")")
        opening = order.rindex("(", 0, close)
        digits = opening
        while digits and order[digits - 1].isdigit():
            digits -= 1
        times = int(order[digits:opening] or "1")
        order = order[:digits] + order[opening + 1 : close] * times + order[close + 1 :]
    packets: Counter[str] = Counter()
    number = ""
    for symbol in order:
        if symbol.isdigit():
            number += symbol
        else:
            packets[symbol] += int(number or "1")
            number = ""
    return dict(packets)


def quiet_spells(levels: list[int], tolerance: int, days: int) -> int:
    return sum(
        max(levels[start:end]) - min(levels[start:end]) <= tolerance
        for start in range(len(levels))
        for end in range(start + days, len(levels) + 1)
    )


def hall_bookings(bookings: list[list[int]], cleaning: int) -> int:
    best = 0
    for size in range(len(bookings) + 1):
        for chosen in itertools.combinations(sorted(bookings), size):
            if all(before[1] + cleaning <= after[0] for before, after in itertools.pairwise(chosen)):
                best = max(best, sum(fee for _, _, fee in chosen))
    return best


def race_overtakes(started: list[int], finished: list[int]) -> int:
    return sum(finished.index(a) > finished.index(b) for a, b in itertools.combinations(started, 2))


def voucher_trip(stops: int, rides: list[list[int]], origin: int, goal: int) -> int:
    """Bellman-Ford with each ride made free in turn."""

    def price(free: int | None) -> float:
        cost = [math.inf] * stops
        cost[origin] = 0
        for _ in range(stops):
            for place, (departure, arrival, fare) in enumerate(rides):
                cost[arrival] = min(cost[arrival], cost[departure] + (0 if place == free else fare))
        return cost[goal]

    # A voucher may be used once. No cheapest trip takes the same ride twice, as prices are not negative.
    cheapest = min(map(price, [None, *range(len(rides))]))
    return -1 if cheapest == math.inf else int(cheapest)


def _orders(rng: random.Random, depth: int = 0) -> str:
    parts = []
    for _ in range(rng.randrange(4)):
        times = rng.choice(["", "", "2", "3", "11"])
        group = depth < 3 and rng.random() < 0.4
        parts.append(times + (f"({_orders(rng, depth + 1)})" if group else rng.choice("ABCa")))
    return "".join(parts)


def _bookings(rng: random.Random) -> list[list[int]]:
    starts = [rng.randrange(20) for _ in range(rng.randrange(8))]
    return [[start, start + rng.randint(1, 8), rng.randint(0, 9)] for start in starts]


def _rides(rng: random.Random, stops: int) -> list[list[int]]:
    return [[rng.randrange(stops), rng.randrange(stops), rng.randint(0, 9)] for _ in range(rng.randrange(12))]


def _race(rng: random.Random) -> tuple[list[int], list[int]]:
    runners = rng.sample(range(50), rng.randrange(10))
    return runners, rng.sample(runners, len(runners))


def _carousel(rng: random.Random) -> tuple[list[int], int, int]:
    seats = rng.randint(1, 9)
    return [rng.randrange(seats) for _ in range(seats)], rng.randrange(seats), rng.randrange(40)


def _trip(rng: random.Random) -> tuple[int, list[list[int]], int, int]:
    stops = rng.randint(1, 6)
    return stops, _rides(rng, stops), rng.randrange(stops), rng.randrange(stops)


def _ints(rng: random.Random, low: int, high: int, most: int) -> list[int]:
    return [rng.randint(low, high) for _ in range(rng.randint(0, most))]


# For each problem a brute force, and a maker of small random arguments.
INDEPENDENT: dict[str, tuple[Callable[..., Any], Callable[[random.Random], tuple[Any, ...]]]] = {
    "shelf_gaps": (shelf_gaps, lambda rng: (sorted(set(_ints(rng, -20, 20, 15))),)),
    "second_sightings": (second_sightings, lambda rng: (_ints(rng, 0, 5, 12),)),
    "smooth_readings": (
        smooth_readings,
        lambda rng: ([rng.uniform(-9, 9) for _ in range(rng.randrange(9))], rng.uniform(0.01, 1)),
    ),
    "beacon_overlap": (beacon_overlap, lambda rng: (rng.randint(1, 12), rng.randint(1, 12), rng.randrange(200))),
    "wristband_pairs": (wristband_pairs, lambda rng: (_ints(rng, -9, 9, 12), rng.randint(1, 7))),
    "rung_orders": (
        rung_orders,
        lambda rng: (rng.randrange(12), rng.sample(range(1, 14), rng.randrange(4)), _ints(rng, 1, 12, 3)),
    ),
    "carousel_seat": (carousel_seat, _carousel),
    "seed_order": (seed_order, lambda rng: (_orders(rng),)),
    "quiet_spells": (quiet_spells, lambda rng: (_ints(rng, -5, 5, 12), rng.randrange(8), rng.randint(1, 4))),
    "hall_bookings": (hall_bookings, lambda rng: (_bookings(rng), rng.randrange(4))),
    "race_overtakes": (race_overtakes, _race),
    "voucher_trip": (voucher_trip, _trip),
}


def test_the_set() -> None:
    assert (SET.name, SET.licence, SET.notes) == ("starter", "Apache-2.0", ())
    assert [problem.difficulty for problem in SET.problems] == ["easy"] * 4 + ["medium"] * 4 + ["hard"] * 4
    assert set(PROBLEMS) == set(INDEPENDENT)
    kinds = {program.bugs[0].odc_subclass for problem in SET.problems for program in problem.buggy_programs}
    assert len(kinds) >= 8


@pytest.mark.parametrize("problem", SET.problems, ids=lambda problem: problem.key)
def test_what_a_problem_needs(problem: Problem) -> None:
    assert problem.statement
    assert len(cases(problem)) >= 15
    assert 2 <= sum(case.visible for case in cases(problem)) <= 3
    assert problem.limits.cpu_seconds == 2
    # A case that fits into a message is what a model gets to see.
    assert all(len(case.arguments) < 200 for case in cases(problem) if case.visible)
    assert problem.signature.startswith(f"def {problem.entry_point}(")
    (definition,) = ast.parse(problem.signature).body
    assert isinstance(definition, ast.FunctionDef)
    assert definition.returns is not None
    assert all(argument.annotation is not None for argument in definition.args.args)


@pytest.mark.parametrize("problem", SET.problems, ids=lambda problem: problem.key)
def test_the_reference_passes_every_case(problem: Problem) -> None:
    reference = function(problem, problem.reference.source)
    assert [number for number, case in enumerate(cases(problem), start=1) if not passes(case, reference)] == []


@pytest.mark.parametrize("problem", SET.problems, ids=lambda problem: problem.key)
def test_a_buggy_program_fails_some_cases_and_passes_others(problem: Problem) -> None:
    (program,) = problem.buggy_programs
    buggy = function(problem, program.program.source)
    passed = {case for case in cases(problem) if passes(case, buggy)}
    assert passed
    # One that a model can see, so that feedback has something to say from the start.
    assert [case for case in cases(problem) if case.visible and case not in passed]
    (bug,) = program.bugs
    assert bug.description
    assert bug.odc_class


@pytest.mark.parametrize("problem", SET.problems, ids=lambda problem: problem.key)
def test_the_edits_repair_the_buggy_program(problem: Problem) -> None:
    (program,) = problem.buggy_programs
    assert apply_script(program.program, program.bugs[0].edits) == problem.reference
    assert fault(program.program, problem.reference, program.truth) is None


# What brute force can do of the cases: the large ones are out by size, and these by their numbers. Their values are
# derived in the comments of test_large_values.
BEYOND_BRUTE_FORCE = {
    "shelf_gaps": [[[0, 10**12]]],
    "beacon_overlap": [[6, 10, 3 * 10**16], [10**9 + 7, 10**9 + 9, 1000000016000000064]],
    "rung_orders": [[90, [1, 2], []], [20000, [1], []], [301, [1, 2, 3], list(range(3, 301, 3))]],
    "seed_order": [[("9(" * 60) + "A" + ")" * 60]],
}


@pytest.mark.parametrize("problem", SET.problems, ids=lambda problem: problem.key)
def test_brute_force_agrees_with_every_small_case(problem: Problem) -> None:
    brute_force, _ = INDEPENDENT[problem.key]
    small = 0
    for case in cases(problem):
        arguments = list(decode(case.arguments))
        beyond = arguments in BEYOND_BRUTE_FORCE.get(problem.key, [])
        if len(case.arguments) < LARGE and not beyond:
            assert same(case, brute_force(*arguments)), arguments
            small += 1
    assert small >= 15


@pytest.mark.parametrize("problem", SET.problems, ids=lambda problem: problem.key)
def test_brute_force_agrees_with_the_reference_on_random_arguments(problem: Problem) -> None:
    brute_force, make = INDEPENDENT[problem.key]
    reference = function(problem, problem.reference.source)
    rng = random.Random(problem.key)  # noqa: S311  reproducible, not secret
    for _ in range(300):
        arguments = make(rng)
        expected, actual = brute_force(*arguments), reference(*arguments)
        if problem.key == "smooth_readings":
            assert actual == pytest.approx(expected, rel=1e-9, abs=1e-9), arguments
        else:
            assert actual == expected, arguments


# The expected values of the last cases of each problem, from closed forms; "large" cases are those that end the list.
FIBONACCI = [0, 1]
while len(FIBONACCI) <= 202:
    FIBONACCI.append(FIBONACCI[-1] + FIBONACCI[-2])
LARGE_VALUES: dict[str, list[object]] = {
    # 0..29999 and 30010..60009.
    "shelf_gaps": [[(30000, 30009)]],
    # 0, 1, ..., 19999 and then back: each is seen again on the way back.
    "second_sightings": [list(range(19999, -1, -1))],
    # With weight 1 nothing is smoothed; and constants stay.
    "smooth_readings": [[0.0] + [20.0] * 20000, [-7.25] * 20000],
    # Multiples of lcm(6, 10) = 30; the second pair is coprime, and meets at 0 and at the product, the last second.
    "beacon_overlap": [3 * 10**16 // 30, 2],
    # Twice the pairs among 20,000 even (odd) numbers; r pairs with 40000 - r, for r = 1..19999.
    "wristband_pairs": [2 * math.comb(20000, 2), 19999],
    # Strides of 1 and 2 give Fibonacci numbers. Rungs of the last: with a(k), b(k) the ways to rungs 3k + 1 and 3k + 2
    # and every third rung broken, a(k + 1) = a(k) + b(k) and b(k + 1) = a(k + 1) + b(k), a(0) = 1, b(0) = 2: again
    # Fibonacci numbers, of which a(100) = F(202).
    "rung_orders": [FIBONACCI[91], 1, 1, FIBONACCI[202]],
    # A lap of 50,000, which divides 10^18. Then a lead-in of 20,000 and a lap of 30,000: 10^18 mod 30,000 = 10,000
    # (10^14 mod 3 = 1), so the place in the lap is (10,000 - 20,000) mod 30,000 = 20,000, at seat 40,000.
    "carousel_seat": [12345, 40000],
    "seed_order": [{"A": 9**60}, {"A": 20000, "B": 20000}],
    # Spells ending on day e (from 0) number min(e + 1, 20000); of length 20,000 there are 20,001; equal days all.
    "quiet_spells": [math.comb(20001, 2) + 20000 * 20000, 20001, math.comb(40001, 2)],
    # Back to back all 12,000 fit; with cleaning every other one.
    "hall_bookings": [12000, 6000],
    # Reversed: every pair; unchanged: none; the last first: all others are overtaken.
    "race_overtakes": [math.comb(12000, 2), 0, 11999],
    # Every trip covers 9,999 at price 1 a stop, of which the voucher saves at most the 2 of a double ride.
    "voucher_trip": [9997],
}


@pytest.mark.parametrize("problem", SET.problems, ids=lambda problem: problem.key)
def test_large_values(problem: Problem) -> None:
    known = LARGE_VALUES[problem.key]
    assert [decode(case.expected) for case in cases(problem)[-len(known) :]] == known
