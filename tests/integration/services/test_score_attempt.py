"""Repairs scored in the sandbox: what is judged, what is known from before, and under which limits."""

from dataclasses import replace

import pytest

from app.db.session import Database
from app.domain.edits.matching import Rule, Rules
from app.domain.errors import SandboxError
from app.domain.ports import Sandbox
from app.domain.problems import Limits, Problem
from app.domain.programs import Program
from app.services.judge_program import CachedJudge
from app.services.score_attempt import ScoredRepair, score_attempt
from tests.fixtures.engine import addition

LONGER = Program.single("def add(a, b):\n    c = a\n    c = c + b\n    return c\n")


def scored(
    database: Database, sandbox: Sandbox, repaired: Program, problem: Problem | None = None, **options: object
) -> ScoredRepair:
    problem = problem or addition("a")
    return score_attempt(
        database,
        CachedJudge(database, sandbox),
        problem,
        "tests",
        problem.buggy_programs[0],
        repaired,
        slots=2,
        **options,  # type: ignore[arg-type]
    )


def test_a_longer_repair(database: Database, sandbox: Sandbox) -> None:
    found = scored(database, sandbox, LONGER)
    # Line 2 is changed and two lines are added: no slice of one or two entries passes, so all three are essential.
    # Credit min(3, 1 + 2) of 3. Judged: the repaired program, which is all there is to verify, three slices of one
    # entry and two of two.
    (bug,) = found.score.bugs
    assert (found.score.precision, found.score.recall, found.score.unit_pass) == (1.0, 1.0, True)
    assert (bug.rule, bug.essential, bug.credit) == (Rule.WRAP, 3, 3)
    assert (found.programs, found.cached, found.near_limit, found.weak) == (6, 0, 0, False)
    again = scored(database, sandbox, LONGER)
    assert (again.score, again.programs, again.cached) == (found.score, 6, 6)
    assert scored(database, sandbox, LONGER, epsilon=0).score.precision == pytest.approx(1 / 3)


def test_a_repair_that_does_not_parse(database: Database, sandbox: Sandbox) -> None:
    found = scored(database, sandbox, Program.single("def add(a, b):\n    return (a + b\n"))
    assert (found.score.precision, found.score.recall, found.score.unit_pass) == (0.0, 0.0, False)
    assert found.programs == 1


def test_slices_that_never_end_are_cut_by_the_references_time(database: Database, sandbox: Sandbox) -> None:
    slow = replace(addition("a"), limits=Limits(cpu_seconds=60, memory_mb=128))
    # Without the last of its three lines the loop never ends.
    repaired = Program.single("def add(a, b):\n    while True:\n        pass\n        return a + b\n")
    found = scored(database, sandbox, repaired, slow)
    assert (found.cpu_seconds, found.score.precision, found.programs) == (2.0, 1.0, 2)
    # No verdict by a time limit is kept.
    assert scored(database, sandbox, repaired, slow).cached == 1
    short = replace(slow, limits=Limits(cpu_seconds=0.5, memory_mb=128))
    assert scored(database, sandbox, repaired, short).cpu_seconds == 0.5


def test_the_published_codes_rules(database: Database, sandbox: Sandbox) -> None:
    repaired = Program.single("def add(a, b):\n    c = a + b\n    return c\n")
    # Two entries, essential together. There the rest of the program is repaired, so that the line added after its
    # return does no harm, and nothing is credited beyond the bug's own edit.
    assert scored(database, sandbox, repaired).score.precision == 1.0
    assert scored(database, sandbox, repaired, rules=Rules.PUBLISHED_CODE).score.precision == 0.5


def test_without_an_accepted_reference_there_is_no_score(database: Database, sandbox: Sandbox) -> None:
    broken = replace(addition("a"), reference=Program.single("def add(a, b):\n    return 0\n"))
    with pytest.raises(SandboxError, match="the reference of a is not accepted here: WA"):
        scored(database, sandbox, LONGER, broken)
