"""A leaderboard of 1,000 runs: how long the server takes for its page, on both databases. The aim is 300 ms (p95).

The runs are measured first, as the workers' sweep does once a run ends; what that takes is shown too.
"""

import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import insert

from app.config import Settings
from app.db.migrate import migrate
from app.db.models import Attempt, ModelEndpoint, ProblemRow, Run, RunStatus, Trajectory, TrajectoryOutcome
from app.db.session import Database
from app.domain.protocol.policy import Protocol
from app.domain.verdicts import Verdict
from app.judge.judge import JUDGE_VERSION
from app.main import create_app
from app.services.measure_runs import measure_unmeasured
from tests.fixtures.example_data import EPOCH, store_model, store_problem_set
from tests.fixtures.services import running_postgres

RUNS, PROBLEMS, ATTEMPTS = 1000, 20, 6
ADDRESSES = ("/leaderboard", "/leaderboard?sort=lambda&page=20", "/leaderboard?alike=1", "/api/leaderboard/csv")


def main() -> None:
    """Print a table, one line an address and database."""
    print(f"{RUNS} runs of {PROBLEMS} problems and up to {ATTEMPTS} attempts; milliseconds of server time")
    for name, opened in (("SQLite", _sqlite), ("PostgreSQL", _postgres)):
        with opened() as settings:
            database = Database(settings.database)
            migrate(database)
            _fill(database)
            started = time.perf_counter()
            while measure_unmeasured(database):
                pass
            print(f"{name:12} measuring a run: {1000 * (time.perf_counter() - started) / RUNS:.1f}")
            database.close()
            with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as client:
                for address in ADDRESSES:
                    times = sorted(_timed(client, address) for _ in range(21))
                    cores = time.process_time()
                    _timed(client, address)
                    cores = 1000 * (time.process_time() - cores)
                    median, p95 = statistics.median(times), times[19]
                    print(f"{name:12} {address:36} median {median:6.0f}   p95 {p95:6.0f}   of a core {cores:6.0f}")


def _timed(client: TestClient, address: str) -> float:
    started = time.perf_counter()
    answer = client.get(address)
    assert answer.status_code == 200
    return 1000 * (time.perf_counter() - started)


def _fill(database: Database) -> None:
    rng = random.Random(11)  # noqa: S311 — example figures, not secrets
    with database.write() as session:
        problem_set, problems = store_problem_set(session, "Bench", PROBLEMS)
        models = [store_model(session, f"model-{number}", price=0.2) for number in range(20)]
        for number in range(RUNS):
            run = _run(problem_set.id, models[number % len(models)], attempts=10 if number % 9 == 0 else ATTEMPTS)
            session.add(run)
            session.flush()
            trajectories, attempts = _rows(run.id, problems, rng)
            session.execute(insert(Trajectory), trajectories)
            session.execute(insert(Attempt), attempts)


def _run(problem_set_id: int, model: ModelEndpoint, attempts: int) -> Run:
    return Run(
        problem_set_id=problem_set_id,
        endpoint_id=model.id,
        protocol=Protocol(attempts=attempts),
        prompts_version=1,
        judge_version=JUDGE_VERSION,
        subset=None,
        status=RunStatus.COMPLETED,
        created_at=EPOCH,
        finished_at=EPOCH,
        trajectories_total=PROBLEMS,
        trajectories_ended=PROBLEMS,
        max_in_flight=8,
        tokens_spent=10_000,
    )


def _rows(
    run_id: int, problems: list[ProblemRow], rng: random.Random
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    trajectories: list[dict[str, Any]] = []
    attempts: list[dict[str, Any]] = []
    for position, problem in enumerate(problems):
        verdicts: list[Verdict] = []
        while len(verdicts) < ATTEMPTS and Verdict.AC not in verdicts:
            verdicts.append(Verdict.AC if rng.random() < 0.5 / (1 + len(verdicts)) else Verdict.WA)
        solved = verdicts[-1] is Verdict.AC
        trajectory_id = (run_id - 1) * PROBLEMS + position + 1
        trajectories.append(
            {
                "id": trajectory_id,
                "run_id": run_id,
                "problem_id": problem.id,
                "position": position,
                "outcome": TrajectoryOutcome.SOLVED if solved else TrajectoryOutcome.EXHAUSTED,
                "solved_at": len(verdicts) - 1 if solved else None,
                "attempts_judged": len(verdicts),
            }
        )
        for index, verdict in enumerate(verdicts):
            passed = 7 if verdict is Verdict.AC else 3
            attempts.append(
                {
                    "trajectory_id": trajectory_id,
                    "attempt_index": index,
                    "segment": 0,
                    "answered_at": EPOCH,
                    "prompt_tokens": 200,
                    "completion_tokens": 100,
                    "cost": 0.001,
                    "truncated": False,
                    "latency_ms": 900.0,
                    "extraction": "fenced",
                    "judged_at": EPOCH,
                    "verdict": verdict,
                    "weak": False,
                    "near_limit": False,
                    "cases_passed": passed,
                    "cases_run": 7,
                    "cases_total": 7,
                    "visible_passed": 2,
                    "visible_total": 2,
                    "memory_tier": "cgroup",
                    "sandbox": "bubblewrap",
                    "judge_version": JUDGE_VERSION,
                }
            )
    return trajectories, attempts


@contextmanager
def _sqlite() -> Iterator[Settings]:
    with tempfile.TemporaryDirectory() as home:
        yield Settings(home=Path(home))


@contextmanager
def _postgres() -> Iterator[Settings]:
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running_postgres())
        yield Settings(home=home, database_url=server.url(server.create()))


if __name__ == "__main__":
    main()
