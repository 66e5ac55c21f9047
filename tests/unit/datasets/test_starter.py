"""The starter problems against brute force written independently of their references.

The programs are our own, which is why they may run in this process.
"""

import ast
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from app.datasets.starter import starter_set
from app.domain.bugs.taxonomy import TAXONOMY, known
from app.domain.codec import decode
from app.domain.edits.diff import apply_script
from app.domain.edits.ground_truth import fault
from app.domain.edits.matching import revision
from app.domain.problems import Case, CaseTests, Comparison, Problem
from tests.fixtures.starter_brute_force import INDEPENDENT

SET = starter_set()
PROBLEMS = {problem.key: problem for problem in SET.problems}
LARGE = 10_000
"""Characters of encoded arguments above which a case is not for brute force."""
RAISED = (IndexError, NameError, RecursionError, TypeError, ZeroDivisionError)
"""What buggy programs are known to raise."""


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
        return actual == pytest.approx(expected, rel=case.tolerance, abs=case.tolerance)
    return type(actual) is type(expected) and actual == expected


def passes(case: Case, program: Callable[..., Any]) -> bool:
    try:
        return same(case, program(*decode(case.arguments)))
    except RAISED:
        return False


def test_the_set() -> None:
    assert (SET.name, SET.licence, SET.notes) == ("starter", "Apache-2.0", ())
    assert [problem.difficulty for problem in SET.problems] == ["easy"] * 12 + ["medium"] * 12 + ["hard"] * 12
    assert set(PROBLEMS) == set(INDEPENDENT)
    bugs = [bug for problem in SET.problems for program in problem.buggy_programs for bug in program.bugs]
    # One program has three bugs, and three have two.
    assert len(bugs) == 32 + 3 * 2 + 3
    assert all(known(bug.odc_class, bug.odc_subclass) for bug in bugs)
    assert {bug.odc_class for bug in bugs} == set(TAXONOMY)
    assert len({(bug.odc_class, bug.odc_subclass) for bug in bugs}) == 20


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
    assert all(bug.description for bug in program.bugs)


@pytest.mark.parametrize("problem", SET.problems, ids=lambda problem: problem.key)
def test_each_bug_is_one_of_its_own(problem: Problem) -> None:
    (program,) = problem.buggy_programs
    assert fault(program.program, problem.reference, program.truth) is None
    edits = tuple(edit for bug in program.bugs for edit in bug.edits)
    assert apply_script(program.program, edits) == problem.reference
    for bug in range(len(program.bugs)):
        alone = function(problem, revision(program.program, program.truth, (), withheld=(bug,)).source)
        assert not all(passes(case, alone) for case in cases(problem))


# What brute force can do of the cases: the large ones are out by size, and these by their numbers. Their values are
# derived in the comments of test_large_values.
BEYOND_BRUTE_FORCE = {
    "beacon_overlap": [[6, 10, 3 * 10**16], [10**9 + 7, 10**9 + 9, 1000000016000000064]],
    "bell_rows": [[60, [[place] for place in range(59)], 59 * 10**15], [2, [[0]], 10**18 + 1]],
    "bench_orders": [[13, []], [12, [[3, 8]]]],
    "flat_pack": [[[[], [[0, 1]], *([[kit - 1, 1], [kit - 2, 1]] for kit in range(2, 301))], 300]],
    "juice_presses": [[[3, 5], [0, 0], 8 * 10**12]],
    "orchard_trees": [
        [[[0, 0], [10**9, 0], [0, 10**9]]],
        [[[0, 10**8], [10**9, 10**8], [10**9, 0], [0, 0]]],
    ],
    "rung_orders": [[90, [1, 2], []], [20000, [1], []], [301, [1, 2, 3], list(range(3, 301, 3))]],
    "safe_plates": [["ab", 300, ["aa"]], ["abcdefghijklmnopqrstuvwxyz", 100, ["z"]], ["ab", 400, ["a" * 200, "b"]]],
    "seed_order": [[("9(" * 60) + "A" + ")" * 60]],
    "shelf_gaps": [[[0, 10**12]]],
    "square_tents": [[[[x, y] for y in (0, 7) for x in range(300)]]],
    "stair_light": [[[0, 10**15], 10**12]],
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
        if cases(problem)[0].comparison is Comparison.FLOAT:
            assert actual == pytest.approx(expected, rel=1e-9, abs=1e-9), arguments
        else:
            assert actual == expected, arguments


# The expected values of the last cases of each problem, from closed forms; "large" cases are those that end the list.
FIBONACCI = [0, 1]
while len(FIBONACCI) <= 302:
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
    # Two presses far apart; and light from 0 to the last press, 59,997, and for 1,000 seconds more.
    "stair_light": [2 * 10**12, 59997 + 1000],
    # The tools stay where they were taken; and all go to house 7.
    "tool_library": [[[n] for n in range(8000)], [list(range(8000)) if n == 7 else [] for n in range(8000)]],
    # As many at the top as at the bottom.
    "contest_mark": [5.0],
    # No a is in the box, and all b are.
    "porch_sign": ["a" * 100000],
    # All kinds differ; and each comes again after 10,000 places.
    "planting_row": [0, 10000],
    "post_round": [[*range(1, 24000, 2), *range(24000, 0, -2)]],
    # Up all the way; and up to 5,000, down to 0, and up 7,999.
    "hike_climb": [(11999, 11999), (5000 + 7999, 7999)],
    # Every tenth coffee, which is in place 9 first.
    "free_coffee": [list(range(9, 30000, 10))],
    # Level ground.
    "wet_meadow": [200 * 200],
    # All lockers are emptied from the last on, and filled again from the first on.
    "parcel_lockers": [[*range(1, 15001), *range(1, 15001)]],
    # Two rows of pegs 7 apart: only upright squares of side 7, from x = 0..292.
    "square_tents": [300 - 7],
    # 59 changes carry the first bell to the end: a turn by one place, of which 10^15 mod 60 = 40 (0 mod 20, 1 mod 3)
    # count.
    "bell_rows": [[*range(41, 61), *range(1, 41)], [2, 1]],
    # 5 + 3 bottles in 15 minutes, of which the last fills one of each; and 2,000 presses with 7 minutes for a bottle.
    "juice_presses": [15 * 10**12, 100 + 7 * 10**9],
    # parts(k) = parts(k - 1) + parts(k - 2), and both are 1 at first: Fibonacci numbers.
    "flat_pack": [FIBONACCI[301]],
    # One leaves every 10^9 minutes, the 4,001st down to 3,999; and alternately one visitor and none.
    "crowded_minutes": [4001 * 10**9, 2000],
    # 10 % of 999,999 rounded down are 99,999; half of 1,000,000.
    "till_discounts": [[999999 - 99999] * 5000 + [500000] * 5000],
    # A line of houses of which the storm always takes the last.
    "storm_damage": [list(range(9999, -1, -1))],
    # 13!; and 12! less the 2 · 11! orders in which two of them sit together.
    "bench_orders": [math.factorial(13), math.factorial(12) - 2 * math.factorial(11)],
    # Time for all 20,000 short ones, and then for half of the long ones.
    "cake_orders": [20000 + 10000],
    # Texts of n letters without "aa": Fibonacci numbers, 2 for n = 1 and 3 for n = 2. 25 letters are left; none is.
    "safe_plates": [FIBONACCI[302], 25**100, 0],
    # One of every three thousand million metres, 10,000 times; and then all of them.
    "wet_road": [[k * 10**9 for k in range(1, 10001)] + [3 * 10**13]],
    # Whole points inside a right triangle of legs n: 1 + 2 + ... + (n - 2); of a rectangle those off its sides.
    "orchard_trees": [math.comb(10**9 - 1, 2), (10**9 - 1) * (10**8 - 1)],
    # One call after the other; each calls the next; and the first of 10,000 calls goes to the one who has 10,000 below.
    "phone_tree": [19999, 19999, 10001],
    # The one 0 is last; and 30,001 ones are longer than the run of any other start.
    "necklace_start": [59999, 15001],
}


@pytest.mark.parametrize("problem", SET.problems, ids=lambda problem: problem.key)
def test_large_values(problem: Problem) -> None:
    known = LARGE_VALUES[problem.key]
    assert [decode(case.expected) for case in cases(problem)[-len(known) :]] == known
