"""What the engine itself costs: time an attempt beside the model's answer and the program's run, on both stacks.

Real worker processes, the scripted model without latency, the real sandbox. One run is served one trajectory at a
time, which shows the latency of a whole attempt; one with many in flight shows what that costs a busy installation.

Machines differ: the start of a bare interpreter is measured in the same run, and everything also given as a multiple of
it. The aim, 15 ms an attempt, was set on a machine where that start takes 8 ms: 1.9 starts.
"""

import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from app.adapters.processes import Group
from app.adapters.queue import Queue, make_celery
from app.adapters.sandbox.opening import open_sandbox
from app.adapters.vault import Vault
from app.cli.serve import worker_children
from app.config import Settings
from app.db.migrate import migrate
from app.db.models import Attempt, EndpointKind, Run, RunStatus, Trajectory
from app.db.session import Database
from app.domain.ports import Sandbox
from app.domain.problems import ProblemSet
from app.domain.protocol.policy import Protocol
from app.domain.work import WorkerKind
from app.judge.judge import Judge
from app.services.import_problem_set import import_problem_set
from app.services.manage_endpoints import EndpointRequest, add_endpoint
from app.services.submit_run import RunRequest, submit_run
from tests.fixtures.engine import addition
from tests.fixtures.services import running_postgres, running_redis

PROBLEMS = 60
ATTEMPTS = 2


@dataclass(frozen=True)
class Result:
    """Milliseconds: beside model and sandbox for each attempt, an execution, an attempt of the busy run."""

    overhead: list[float]
    sandbox: float
    busy: float


def main() -> None:
    """Print a table, one line a stack."""
    start = _interpreter_ms()
    print(f"{PROBLEMS} problems, {ATTEMPTS} attempts each; milliseconds an attempt beside model and sandbox")
    print(f"a bare interpreter starts in {start:.1f} ms")
    print(f"{'stack':<26}{'median':>8}{'starts':>8}{'p95':>8}{'sandbox':>9}{'32 in flight, all of it':>25}")
    for name, stack in (("SQLite, filesystem queue", embedded), ("PostgreSQL, Redis", team)):
        with tempfile.TemporaryDirectory() as home, stack(Path(home)) as settings:
            result = measure(settings)
        p95 = statistics.quantiles(result.overhead, n=20)[-1]
        median = statistics.median(result.overhead)
        print(f"{name:<26}{median:>8.1f}{median / start:>8.2f}{p95:>8.1f}{result.sandbox:>9.1f}{result.busy:>25.1f}")
        sys.stdout.flush()


@contextmanager
def embedded(home: Path) -> Iterator[Settings]:
    """The default of one machine."""
    yield Settings(home=home)


@contextmanager
def team(home: Path) -> Iterator[Settings]:
    """Servers of our own; the workers get their addresses by the environment."""
    with ExitStack() as services:
        postgres = services.enter_context(running_postgres())
        redis = services.enter_context(running_redis(home))
        yield Settings(home=home, database_url=postgres.url(postgres.create()), broker_url=redis.url())


def measure(settings: Settings) -> Result:
    """Run both runs on fresh workers."""
    db = Database(settings.database)
    migrate(db)
    queue = Queue(make_celery(settings))
    sandbox = open_sandbox(settings)
    problems = tuple(addition(f"p{i}") for i in range(PROBLEMS))
    host_ms = _host_ms(sandbox)
    stored = import_problem_set(
        db, sandbox, ProblemSet("bench", "native", problems), slots=2, progress=lambda _done, _total: None
    )
    sandbox.close()
    with Group(worker_children(settings), settings.home / "logs") as group:
        group.wait_ready(30)
        sequential = _run(group, db, queue, settings, stored.problem_set_id, in_flight=1)
        with db.read() as session:
            rows = session.execute(
                select(Attempt.judged_at, Attempt.latency_ms, Attempt.wall_ms)
                .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
                .where(Trajectory.run_id == sequential)
                .order_by(Attempt.judged_at)
            ).all()
        overhead = [
            (row.judged_at - before.judged_at).total_seconds() * 1000 - row.latency_ms - row.wall_ms - host_ms
            for before, row in itertools.pairwise(rows)
        ]
        busy = _run(group, db, queue, settings, stored.problem_set_id, in_flight=32)
        with db.read() as session:
            run = session.get_one(Run, busy)
        if run.finished_at is None:
            raise KeyboardInterrupt  # the group stopped watching because somebody pressed Ctrl-C
        total = (run.finished_at - run.created_at).total_seconds() * 1000
    db.close()
    return Result(overhead, host_ms + statistics.median(row.wall_ms for row in rows), total / (PROBLEMS * ATTEMPTS))


def _interpreter_ms() -> float:
    """Median time of `python -I -c pass`."""
    times = []
    for _ in range(30):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def _host_ms(sandbox: Sandbox) -> float:
    """Median time that judging takes beside the execution itself (`wall_ms`): preparing, sending, comparing."""
    problem = addition("alone")
    judge = Judge(sandbox)
    beside = []
    for _ in range(50):
        started = time.perf_counter()
        judgement = judge.judge(
            problem.reference, tests=problem.tests, entry_point=problem.entry_point, limits=problem.limits
        )
        beside.append((time.perf_counter() - started) * 1000 - judgement.wall_ms)
    return statistics.median(beside)


def _run(group: Group, db: Database, queue: Queue, settings: Settings, problem_set: int, in_flight: int) -> int:
    """A run whose programs are all different, so that none is answered from the cache; its id, once completed."""
    replies = {
        f"p{i}": [f"```python\n# {in_flight} {i}\ndef add(a, b):\n    return a {sign} b\n```" for sign in "-+"]
        for i in range(PROBLEMS)
    }
    request = EndpointRequest(
        name=f"scripted {in_flight}", kind=EndpointKind.SCRIPTED, script={"replies": replies}, concurrency=32
    )
    endpoint = add_endpoint(db, Vault.of(settings.home, None), request)
    protocol = Protocol(attempts=ATTEMPTS)
    run_id = submit_run(db, RunRequest(problem_set, endpoint, protocol, max_in_flight=in_flight))
    queue.wake(WorkerKind.GENERATE, in_flight)

    def ended() -> bool:
        with db.query() as connection:  # the machine's cores are few: looking must cost next to nothing
            return connection.scalar(select(Run.status).where(Run.id == run_id)) == RunStatus.COMPLETED

    group.watch(until=ended)
    return run_id


if __name__ == "__main__":
    main()
