"""A leaderboard of 1,000 and of 10,000 runs: how long the server takes for a page of it, on both databases.

The aim is 300 ms (p95), hardly more for ten times the runs, and 100 kB. The first thousand runs are measured, as the
workers' sweep does once a run ends; what that takes is shown too. The others are copies of these.
"""

# ruff: noqa: S608 — statements are made of our own names

import random
import sys
import time
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import insert, text

from app.config import Settings
from app.db.migrate import migrate
from app.db.models import Attempt, ModelEndpoint, ProblemRow, Run, RunMetrics, RunStatus, Trajectory, TrajectoryOutcome
from app.db.session import Database
from app.domain.protocol.policy import Protocol
from app.domain.verdicts import Verdict
from app.judge.judge import JUDGE_VERSION
from app.main import create_app
from app.services.measure_runs import measure_unmeasured
from tests.fixtures.example_data import EPOCH, store_model, store_problem_set
from tests.fixtures.measured_pages import Measured, databases, header, line, measured

RUNS, COPIES, PROBLEMS, ATTEMPTS = 1000, 9, 20, 6
ADDRESSES = (
    "/leaderboard",
    "/leaderboard?sort=lambda&page=20",
    "/leaderboard?sort=tokens&order=asc&attempts=6",
    "/leaderboard?alike=1",
    "/api/leaderboard",
)
BUDGET_MS = 300.0


def main() -> int:
    """Print a table, one line an address and database; 1 where a budget does not hold."""
    print(f"runs of {PROBLEMS} problems and up to {ATTEMPTS} attempts; p95 of the server's time in ms")
    kept = [_bench(name, settings) for name, settings in databases()]
    return 0 if all(kept) else 1


def _bench(name: str, settings: Settings) -> bool:
    database = Database(settings.database)
    migrate(database)
    _fill(database)
    started = time.perf_counter()
    while measure_unmeasured(database):
        pass
    print(f"{name}: measuring a run takes {1000 * (time.perf_counter() - started) / RUNS:.1f} ms")
    small = _measured(settings)
    _copy(database)
    large = _measured(settings)
    database.close()
    print(header("", f"{RUNS:,}", f"{RUNS * (COPIES + 1):,}"))
    kept = True
    for address in ADDRESSES:
        said, within = line(address, small[address], large[address], BUDGET_MS)
        kept &= within
        print(said)
    sys.stdout.flush()
    return kept


def _measured(settings: Settings) -> dict[str, Measured]:
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as client:
        return {address: measured(client, address) for address in ADDRESSES}


def _copy(database: Database) -> None:
    """Copies of every run with its stored figures: all that a board reads."""
    with database.transaction() as connection:
        for model, key in ((Run, "id"), (RunMetrics, "run_id")):
            names = [column.name for column in model.__table__.columns]
            moved = [f"{name} + k * {RUNS}" if name == key else name for name in names]
            connection.execute(
                text(
                    f"INSERT INTO {model.__tablename__} ({', '.join(names)}) "
                    f"WITH RECURSIVE numbers(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM numbers WHERE k < {COPIES}) "
                    f"SELECT {', '.join(moved)} FROM {model.__tablename__} CROSS JOIN numbers"
                )
            )
        if not database.sqlite:
            connection.execute(text("ANALYZE"))  # which a PostgreSQL server does by itself after a while


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


if __name__ == "__main__":
    sys.exit(main())
