"""Every program of four published debugging runs, judged again: 2,561 attempts at 664 problems.

Recorded are, for the last attempt of a trajectory, whether it passed the hidden test, and for every attempt which of
the asserts shown to the model it failed. tests/golden/ldb_exceptions.json lists where the judge says otherwise, and
why: each was looked into by running program and test in one namespace, as the recorded runs did.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.sandbox import BubblewrapSandbox, SlotSandbox
from app.datasets.registry import read_problem_set
from app.domain.ports import Sandbox
from app.domain.problems import Limits, Problem
from app.domain.programs import Program
from app.domain.verdicts import Judgement, Verdict
from app.judge import Judge
from app.recordings import ldb
from app.recordings.recording import ReadOptions, Recording
from tests.fixtures.slots import running_slots

DATA = Path(__file__).parents[3].parent / "shared" / "data"
EXCEPTIONS = Path(__file__).parents[2] / "golden" / "ldb_exceptions.json"
SETS = {"humaneval": "humaneval/HumanEval.jsonl.gz", "mbpp": "mbpp/mbpp500.jsonl.gz"}
# Attempts in each file, as counted with `zcat | jq '.implementations | length'`.
ATTEMPTS = {
    "humaneval_codellama.jsonl.gz": 714,
    "humaneval_gpt-3.5-turbo-0613.jsonl.gz": 413,
    "humaneval_gpt-4-seed.jsonl.gz": 276,
    "mbpp_gpt-3.5-turbo-0613.jsonl.gz": 1158,
}
SLOTS = 2

LIMITS = Limits(cpu_seconds=2)
"""Ten times what any program needs but these two, so that those which never end cost little."""
SLOW = {
    "HumanEval/129": Limits(cpu_seconds=20),  # one program walks all paths of twelve steps, in about five seconds
    "MBPP/123": Limits(cpu_seconds=20),
}


@pytest.fixture(scope="module", params=["bubblewrap", "slot"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    if request.param == "bubblewrap":
        with BubblewrapSandbox(SLOTS) as opened:
            yield opened
        return
    engine = request.getfixturevalue("slot_image")
    with running_slots(engine, SLOTS, HALFLIFE_SLOT_MEMORY="1g") as slots, SlotSandbox(slots.sockets()) as opened:
        yield opened


@pytest.fixture(scope="module")
def verdicts_of_homes() -> dict[str, dict[tuple[str, str], Verdict]]:
    """The verdicts of the homes tried so far."""
    return {}


@pytest.fixture(scope="module")
def runs() -> dict[str, Recording]:
    if not DATA.is_dir():
        pytest.skip("the public data folder is not beside the repository: ../shared/data is missing")
    return {file: ldb.read({file: (DATA / "ldb" / file).read_bytes()}, ReadOptions()) for file in ATTEMPTS}


def problems() -> dict[str, Problem]:
    sets = [read_problem_set((DATA / path).read_bytes(), format=name, name=name) for name, path in SETS.items()]
    return {problem.key: problem for one in sets for problem in one.problems}


def judge_all(sandbox: Sandbox, runs: dict[str, Recording]) -> dict[tuple[str, str], Judgement]:
    """The judgement of every program, once where several attempts are the same."""
    of = problems()
    programs = {
        (trajectory.problem_key, attempt.program.source): attempt.program
        for run in runs.values()
        for trajectory in run.trajectories
        for attempt in trajectory.attempts
        if attempt.program is not None
    }

    def judged(key: str, program: Program) -> Judgement:
        problem = replace(of[key], limits=SLOW.get(key, LIMITS))
        return Judge(sandbox).judge(
            program, tests=problem.tests, entry_point=problem.entry_point, limits=problem.limits
        )

    with ThreadPoolExecutor(SLOTS) as pool:
        results = pool.map(lambda item: judged(item[0][0], item[1]), programs.items())
        return dict(zip(programs, results, strict=True))


@pytest.mark.shared_data
def test_recorded_verdicts_are_reached_again(
    sandbox: Sandbox,
    runs: dict[str, Recording],
    verdicts_of_homes: dict[str, dict[tuple[str, str], Verdict]],
) -> None:
    assert {
        file: sum(len(trajectory.attempts) for trajectory in run.trajectories) for file, run in runs.items()
    } == ATTEMPTS
    judgements = judge_all(sandbox, runs)
    verdicts_of_homes[sandbox.name] = {one: judgement.verdict for one, judgement in judgements.items()}
    for other in verdicts_of_homes.values():
        assert verdicts_of_homes[sandbox.name] == other
    otherwise = set()
    for file, run in runs.items():
        for trajectory in run.trajectories:
            for number, attempt in enumerate(trajectory.attempts):
                assert attempt.program is not None
                judgement = judgements[trajectory.problem_key, attempt.program.source]
                last = number == len(trajectory.attempts) - 1
                assert last is (attempt.verdict is not None)
                if last and (judgement.verdict is Verdict.AC) is not (attempt.verdict is Verdict.AC):
                    otherwise.add((file, trajectory.problem_key, number, "solved"))
                # MBPP's shown assert is one of the hidden test's; HumanEval's shown asserts are tests of their own.
                passes = judgement.visible_passed == judgement.visible_total
                shown_passes = attempt.facts["visible_passed"] == attempt.facts["visible_total"]
                if file.startswith("mbpp") and passes is not shown_passes:
                    otherwise.add((file, trajectory.problem_key, number, "visible"))
    exceptions = json.loads(EXCEPTIONS.read_text())
    assert all(one["reason"] for one in exceptions)
    assert otherwise == {(one["file"], one["key"], one["attempt"], one["what"]) for one in exceptions}
