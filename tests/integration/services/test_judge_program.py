"""Judgements kept and given back: the same question is executed once, another question is executed again."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import func, select

from app.db.models import ExecutionResult
from app.db.session import Database
from app.domain import codec
from app.domain.errors import SandboxError
from app.domain.ports import Execution, ExecutionOutcome, Sandbox
from app.domain.problems import Case, CaseTests, Problem
from app.domain.programs import Program
from app.domain.verdicts import Judgement, MemoryTier, Verdict
from app.services.judge_program import CachedJudge
from tests.fixtures.engine import addition

MINUS = Program.single("def add(a, b):\n    return a - b\n")
SPIN = Program.single("def add(a, b):\n    while True:\n        pass\n")
HOSTILE = Program.single(
    "import sys\n"
    "def add(a, b):\n"
    "    sys.stdout.buffer.write(b'\\x00\\xff</script>')\n"
    "    sys.stdout.flush()\n"
    "    raise ValueError('\\x00\\ud800</script>')\n"
)


class Counting:
    """The real sandbox, with what it was asked. `before` is called ahead of each execution."""

    def __init__(
        self,
        real: Sandbox,
        name: str | None = None,
        before: Callable[[], object] = lambda: None,
        tier: MemoryTier | None = None,
    ) -> None:
        self._real = real
        self._before = before
        self.name = name or real.name
        self.memory_tier = tier or real.memory_tier
        self.executions: list[Execution] = []

    def run(
        self, execution: Execution, *, cancelled: Callable[[], bool] = lambda: False, alone: bool = False
    ) -> ExecutionOutcome:
        self.executions.append(execution)
        self._before()
        return self._real.run(execution, cancelled=cancelled, alone=alone)

    def close(self) -> None:
        """Leave the real one open: it is the whole suite's."""


def judge(
    database: Database, sandbox: Counting, program: Program, problem: Problem, tests_hash: str = "1"
) -> Judgement:
    """One question, as a new worker would ask it and keep the answer."""
    cached = CachedJudge(database, sandbox)
    judged = cached.judge(program, problem, tests_hash=tests_hash, cancelled=lambda: False)
    with database.write() as session:
        judged.keep(session)
    return judged.judgement


def kept(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(ExecutionResult)) or 0


def test_a_repeated_program_is_answered_from_the_cache(database: Database, sandbox: Sandbox) -> None:
    counting, problem = Counting(sandbox), addition("a")
    first = judge(database, counting, MINUS, problem)
    assert (first.verdict, first.cases_passed, first.cases_total) == (Verdict.WA, 1, 3)
    assert first.first_failure is not None
    again = judge(database, counting, MINUS, problem)
    assert len(counting.executions) == 1
    # Every field, with its type: times are the first execution's.
    assert again == first
    assert [type(getattr(again, name)) for name in again.__slots__] == [
        type(getattr(first, name)) for name in first.__slots__
    ]


def test_what_the_model_is_told_about_the_problem_does_not_matter(database: Database, sandbox: Sandbox) -> None:
    counting = Counting(sandbox)
    judge(database, counting, MINUS, addition("a"))
    judge(database, counting, MINUS, replace(addition("b"), statement="Other words.", buggy_programs=()))
    assert len(counting.executions) == 1


def test_another_program_other_tests_and_other_limits_are_judged_anew(database: Database, sandbox: Sandbox) -> None:
    counting, problem = Counting(sandbox), addition("a")
    judge(database, counting, MINUS, problem)
    # The comment changes nothing that a program does, but nobody can know that without running it.
    judge(database, counting, Program.single(f"{MINUS.source}# again\n"), problem)
    judge(database, counting, MINUS, problem, tests_hash="2")
    for limits in (
        replace(problem.limits, cpu_seconds=2.5),
        replace(problem.limits, memory_mb=129),
        replace(problem.limits, output_bytes=1000),
    ):
        judge(database, counting, MINUS, replace(problem, limits=limits))
    assert len(counting.executions) == 6
    assert kept(database) == 6


def test_another_isolation_is_judged_anew(database: Database, sandbox: Sandbox) -> None:
    problem = addition("a")
    isolated, bare = Counting(sandbox, "bubblewrap"), Counting(sandbox, "none")
    judge(database, isolated, MINUS, problem)
    judge(database, bare, MINUS, problem)
    assert (len(isolated.executions), len(bare.executions)) == (1, 1)


def test_another_memory_tier_is_judged_anew(database: Database, sandbox: Sandbox) -> None:
    problem = addition("a")
    exact, each = Counting(sandbox, tier=MemoryTier.CGROUP), Counting(sandbox, tier=MemoryTier.RLIMIT)
    judge(database, exact, MINUS, problem)
    judge(database, each, MINUS, problem)
    assert (len(exact.executions), len(each.executions)) == (1, 1)


def test_other_rules_are_judged_anew(database: Database, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting(sandbox)
    judge(database, counting, MINUS, addition("a"))
    monkeypatch.setattr("app.services.judge_program.JUDGE_VERSION", 1000)
    judge(database, counting, MINUS, addition("a"))
    assert len(counting.executions) == 2


def test_a_program_that_ran_out_of_time_is_tried_again(database: Database, sandbox: Sandbox) -> None:
    counting = Counting(sandbox)
    problem = replace(addition("a"), limits=replace(addition("a").limits, cpu_seconds=0.2))
    for _ in range(2):
        assert judge(database, counting, SPIN, problem).verdict is Verdict.TLE
    assert len(counting.executions) == 2
    assert kept(database) == 0


def test_a_program_near_its_time_limit_is_tried_again(database: Database, sandbox: Sandbox) -> None:
    counting = Counting(sandbox)
    problem = replace(addition("a"), limits=replace(addition("a").limits, cpu_seconds=0.5))
    # 0.4 s of the 0.5 allowed, by the program's own CPU clock: between 0.6 and 1.5 times the limit.
    slow = Program.single("import time\nwhile time.process_time() < 0.4:\n    pass\ndef add(a, b):\n    return a + b\n")
    for _ in range(2):
        found = judge(database, counting, slow, problem)
        assert (found.verdict, found.near_limit) == (Verdict.AC, True)
    assert len(counting.executions) == 2
    assert kept(database) == 0


def test_an_execution_that_failed_is_not_kept(database: Database, sandbox: Sandbox) -> None:
    def fail() -> None:
        raise SandboxError("the machine is out of processes")

    with pytest.raises(SandboxError):
        judge(database, Counting(sandbox, before=fail), MINUS, addition("a"))
    assert kept(database) == 0
    assert judge(database, Counting(sandbox), MINUS, addition("a")).verdict is Verdict.WA


def test_hostile_output_comes_back_as_it_was(database: Database, sandbox: Sandbox) -> None:
    counting = Counting(sandbox)
    odd = codec.encode(("\x00\ud800", 0))
    problem = replace(addition("a"), tests=CaseTests((Case(odd, codec.encode("\ud801")),)))
    first = judge(database, counting, HOSTILE, problem)
    assert first.verdict is Verdict.RE
    # The sandbox escapes what is no text.
    assert first.stdout == r"\x00\xff</script>"
    assert first.first_failure is not None
    assert "</script>" in (first.first_failure.error or "")
    assert judge(database, counting, HOSTILE, problem) == first
    assert len(counting.executions) == 1


def test_output_that_no_sandbox_escaped_comes_back_as_it_was(database: Database, sandbox: Sandbox) -> None:
    class Raw(Counting):
        def run(
            self, execution: Execution, *, cancelled: Callable[[], bool] = lambda: False, alone: bool = False
        ) -> ExecutionOutcome:
            return replace(
                super().run(execution, cancelled=cancelled, alone=alone), stdout="\x00\ud800", stderr="\U0001f600\udfff"
            )

    counting = Raw(sandbox)
    first, again = (judge(database, counting, MINUS, addition("a")) for _ in range(2))
    assert (again.stdout, again.stderr) == ("\x00\ud800", "\U0001f600\udfff")
    assert again == first
    assert len(counting.executions) == 1


def test_two_threads_with_the_same_program(database: Database, sandbox: Sandbox) -> None:
    # Both have missed the cache by the time either runs.
    both = threading.Barrier(2, timeout=20)
    counting = Counting(sandbox, before=both.wait)
    cached = CachedJudge(database, counting)
    problem = addition("a")
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(cached.judge, MINUS, problem, tests_hash="1", cancelled=lambda: False) for _ in range(2)]
        judged = [one.result() for one in asked]
    for one in judged:
        with database.write() as session:
            one.keep(session)
    judgements = [one.judgement for one in judged]
    assert len(counting.executions) == 2
    assert [judgement.verdict for judgement in judgements] == [Verdict.WA, Verdict.WA]
    assert kept(database) == 1
    assert judge(database, Counting(sandbox), MINUS, problem) in judgements
