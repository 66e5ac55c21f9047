"""A crowded machine changes no verdict but that of a program close to its time limit, which then runs alone."""

import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from os import cpu_count
from pathlib import Path

import pytest

from app.adapters.sandbox import BubblewrapSandbox
from app.datasets.registry import read_problem_set
from app.domain.codec import encode
from app.domain.ports import Execution, ExecutionOutcome, Sandbox
from app.domain.problems import Case, CaseTests, Limits, Problem
from app.domain.programs import Program
from app.domain.verdicts import Judgement, Verdict
from app.judge import Judge
from app.recordings import ldb
from app.recordings.recording import ReadOptions

DATA = Path(__file__).parents[3].parent / "shared" / "data"
PROGRAMS = 500
LIMITS = Limits(cpu_seconds=1.0, memory_mb=256)
ONE = CaseTests((Case(encode((1,)), encode(2)),))


def burning(seconds: float) -> Program:
    """A right answer after so much CPU time of its own process."""
    return Program.single(
        f"import time\ndef f(x):\n    while time.process_time() < {seconds}: pass\n    return x + 1\n"
    )


def judge(sandbox: Sandbox, program: Program, limits: Limits = LIMITS) -> Judgement:
    return Judge(sandbox).judge(program, tests=ONE, entry_point="f", limits=limits)


class Watching:
    """The real sandbox, with what it was asked."""

    def __init__(self, real: BubblewrapSandbox) -> None:
        self._real = real
        self.name, self.memory_tier = real.name, real.memory_tier
        self.alone: list[bool] = []

    def run(self, execution: Execution, *, cancelled=lambda: False, alone: bool = False) -> ExecutionOutcome:
        self.alone.append(alone)
        return self._real.run(execution, cancelled=cancelled, alone=alone)

    def close(self) -> None:
        self._real.close()


@pytest.fixture(scope="module")
def two_slots() -> Iterator[BubblewrapSandbox]:
    with BubblewrapSandbox(2) as sandbox:
        yield sandbox


@contextmanager
def busy_processors() -> Iterator[None]:
    """A process for every processor that never rests."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cpu_count() or 1)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


@pytest.mark.parametrize(
    ("seconds", "verdict", "near_limit", "runs"),
    [
        (0.1, Verdict.AC, False, [False]),
        (0.8, Verdict.AC, True, [False]),  # within the limit: a second look could only find it faster
        (1.2, Verdict.TLE, True, [False, True]),
        (60, Verdict.TLE, False, [False]),  # too slow on any machine
    ],
)
def test_37_near_the_limit_a_program_is_run_once_more_alone(two_slots, seconds, verdict, near_limit, runs):
    watching = Watching(two_slots)
    result = judge(watching, burning(seconds))
    assert (result.verdict, result.near_limit, watching.alone) == (verdict, near_limit, runs)


def test_a_program_run_alone_has_no_neighbour(two_slots):
    stop = threading.Event()
    overlaps = []

    def others() -> None:
        while not stop.is_set():
            began = time.monotonic()
            judge(two_slots, burning(0.02))
            overlaps.append((began, time.monotonic()))

    neighbour = threading.Thread(target=others)
    neighbour.start()
    try:
        execution = Execution(burning(0.5), "f", LIMITS, calls=(encode((1,)),))
        outcome = two_slots.run(execution, alone=True)
    finally:
        stop.set()
        neighbour.join()
    assert outcome.answers[0].value == encode(2)
    # A neighbour waits for as long as the other runs: some judging of 20 ms took half a second.
    assert max(end - began for began, end in overlaps) > 0.45


@pytest.mark.shared_data
def test_five_hundred_programs_get_the_same_verdicts_alone_and_on_a_busy_machine(two_slots):
    if not DATA.is_dir():
        pytest.skip("the public data folder is not beside the repository: ../shared/data is missing")
    programs = recorded_programs()
    assert len(programs) == PROGRAMS

    def all_of_them() -> list[Judgement]:
        with ThreadPoolExecutor(2) as threads:
            return list(threads.map(lambda one: judge_problem(two_slots, *one), programs))

    alone = all_of_them()
    with busy_processors():
        crowded = all_of_them()
    changed = [
        (problem.key, one.verdict, other.verdict)
        for (problem, _), one, other in zip(programs, alone, crowded, strict=True)
        if one.verdict is not other.verdict and not (one.near_limit or other.near_limit)
    ]
    assert changed == []
    # The sample would prove little if everything in it were accepted.
    assert {one.verdict for one in alone} >= {Verdict.AC, Verdict.WA, Verdict.RE}


def judge_problem(sandbox: Sandbox, problem: Problem, program: Program) -> Judgement:
    return Judge(sandbox).judge(program, tests=problem.tests, entry_point=problem.entry_point, limits=problem.limits)


def recorded_programs() -> list[tuple[Problem, Program]]:
    """Different programs of the recorded runs, evenly over all of them."""
    of = {
        problem.key: replace(problem, limits=LIMITS)
        for name, path in (("humaneval", "humaneval/HumanEval.jsonl.gz"), ("mbpp", "mbpp/mbpp500.jsonl.gz"))
        for problem in read_problem_set((DATA / path).read_bytes(), format=name, name=name).problems
    }
    programs = {
        (trajectory.problem_key, attempt.program.source): (of[trajectory.problem_key], attempt.program)
        for path in sorted((DATA / "ldb").glob("*.jsonl.gz"))
        for trajectory in ldb.read({path.name: path.read_bytes()}, ReadOptions()).trajectories
        for attempt in trajectory.attempts
    }
    step = len(programs) // PROGRAMS
    return list(itertools.islice(programs.values(), 0, step * PROGRAMS, step))
