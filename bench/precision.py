"""What a score costs: a rewrite of every public item that has tests, scored in the sandbox, and the same programs bare.

The rewrite is the correct program with a comment on each line, blank ones too, so that no line of the buggy one is
left and its edits are one block. What it is held against runs the same programs one by one, each in a fresh
`python -I`, without any isolation, item by item in turn with the scores. Programs that never end are cut there after
the seconds that scoring gives them; what they would take more by their problem's own limit is reckoned. Give a number
of items to try fewer. Progress goes to stderr. The items lie in ../shared/data.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.adapters.sandbox import BubblewrapSandbox
from app.datasets.registry import read_problem_set
from app.db.migrate import migrate
from app.db.session import Database
from app.domain.ports import Sandbox
from app.domain.problems import BuggyProgram, Problem
from app.domain.programs import Program
from app.judge.judge import NEAR_LIMIT
from app.services.judge_program import CachedJudge, Judged
from app.services.score_attempt import ScoredRepair, score_attempt

DATA = Path(__file__).parents[2] / "shared" / "data" / "pdb"
ITEMS = DATA / "livecodebench_pdb_multi_part.json.gz"
TESTS = DATA / "livecodebench_tests_part.jsonl.gz"
SLOTS = 2


class Watched(CachedJudge):
    """Remembers which programs were judged by which problem, known ones too: nobody else has the cache."""

    def __init__(self, db: Database, sandbox: Sandbox) -> None:
        super().__init__(db, sandbox)
        self.asked: list[tuple[Program, Problem]] = []

    def judge(self, program: Program, problem: Problem, *, tests_hash: str, cancelled: Callable[[], bool]) -> Judged:
        found = super().judge(program, problem, tests_hash=tests_hash, cancelled=cancelled)
        if program is not problem.reference:
            self.asked.append((program, problem))
        return found


def main() -> None:
    """Print a line a figure."""
    if not DATA.is_dir():
        print("public items: ../shared/data is missing")
        return
    most = int(sys.argv[1]) if len(sys.argv) > 1 else None
    problems = read_problem_set(ITEMS.read_bytes(), format="pdb", name="pdb", tests=TESTS.read_bytes()).problems
    items = [(problem, buggy) for problem in problems for buggy in problem.buggy_programs]
    items = items[:: -(-len(items) // most)] if most else items
    harness = {}
    for line in gzip.decompress(TESTS.read_bytes()).splitlines():
        record = json.loads(line)
        harness[record["pdb_task"]] = record
    with tempfile.TemporaryDirectory() as folder:
        db = Database(f"sqlite:///{folder}/halflife.db")
        migrate(db)
        ours, theirs, scored, left = Took(), Took(), [], 0.0
        for number, item in enumerate(items, 1):
            with timed(ours), BubblewrapSandbox(SLOTS) as sandbox:
                judge = Watched(db, sandbox)
                scored.append(score(db, judge, *item))
            with timed(theirs):
                seconds = scored[-1].cpu_seconds * NEAR_LIMIT[1]
                left += bare(judge.asked, harness, seconds) * (item[0].limits.cpu_seconds - seconds)
            print(f"{number} of {len(items)}: {ours.wall:.0f} s, {theirs.wall:.0f} s", file=sys.stderr, flush=True)
        db.close()
    programs = [one.programs for one in scored]
    show("items scored", len(items), "", f"{sum(one.score.recall == 1 for one in scored)} with recall 1")
    show("precision of the rewrites", 100 * sum(one.score.precision for one in scored) / len(scored), "%")
    show("programs an item", sum(programs) / len(programs), "", f"from {min(programs)} to {max(programs)}")
    show("of them known from other items", sum(one.cached for one in scored), "", f"of {sum(programs)}")
    show(f"scored in bubblewrap, {SLOTS} slots", ours.wall, "s", f"{ours.cpu:.1f} s of CPU time")
    ratios = f"{theirs.wall / ours.wall:.1f} × longer, {theirs.cpu / ours.cpu:.1f} × the CPU time"
    show("the same programs in fresh interpreters, one by one", theirs.wall, "s", ratios)
    whole = theirs.wall + left
    show("the same, cut at their problems' own limits", whole, "s", f"{whole / ours.wall:.1f} × longer (aim ≥ 2)")


@dataclass
class Took:
    """Seconds of a stretch of work, and of CPU time with all processes that it started and ended."""

    wall: float = 0.0
    cpu: float = 0.0


@contextmanager
def timed(took: Took) -> Iterator[None]:
    """Add what a block takes."""
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    yield
    took.wall += time.perf_counter() - wall
    took.cpu += sum(os.times()[:4]) - cpu


def score(db: Database, judge: CachedJudge, problem: Problem, buggy: BuggyProgram) -> ScoredRepair:
    """The score of a rewrite of the item."""
    return score_attempt(db, judge, problem, problem.key, buggy, rewritten(problem.reference), slots=SLOTS)


def rewritten(program: Program) -> Program:
    """The same program with every line of it changed."""
    return Program.single("".join(f"{line}  # rewritten\n" for line in program.source.split("\n")))


def bare(asked: Sequence[tuple[Program, Problem]], harness: Mapping[str, Mapping[str, str]], seconds: float) -> int:
    """Run the programs one by one, each with its tests in an interpreter of its own; how many `seconds` cut."""
    cut = 0
    for program, problem in asked:
        record = harness[problem.key]
        source = f"{record['prompt']}\n{program.source}\n{record['test']}\ncheck({record['entry_point']})\n"
        command = [sys.executable, "-I", "-c", source]
        try:
            subprocess.run(command, capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            cut += 1
    return cut


def show(what: str, value: float, unit: str, note: str = "") -> None:
    """One line."""
    print(f"{what:<58}{value:>10.2f} {unit:<6}{note}", flush=True)


if __name__ == "__main__":
    main()
