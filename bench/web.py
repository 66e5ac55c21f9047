"""What pages cost a server full of results: 10,000 runs and 1,000,000 attempts, on SQLite and on PostgreSQL.

The runs of the tests' example are copied inside the database. Each page is asked for again and again through the
whole application; its time is the server's, and the size is what goes over the wire. Both are compared with the
budgets: 300 ms for lists, 400 ms for a run, at the 95th percentile, and 100 kB. The same pages are measured at a
hundredth of the size first, which shows what grows with the number of results.
"""

# ruff: noqa: S608 — statements are made of our own names and ids

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from fastapi.testclient import TestClient
from sqlalchemy import Connection, text

from app.config import Settings
from app.db.migrate import migrate
from app.db.models import Attempt, Run, RunMetrics, Trajectory, Transcript
from app.db.session import Database
from app.main import create_app
from app.services.measure_runs import measure_unmeasured
from tests.fixtures.example_data import Example, store_example
from tests.fixtures.measured_pages import Measured, databases, header, line, measured

LIST_MS, RUN_MS = 300.0, 400.0
SIZES = ((100, 10_000), (10_000, 1_000_000))
"""Runs and attempts, about."""


@dataclass(frozen=True)
class Page:
    """A page, and what its 95th percentile may take in milliseconds."""

    name: str
    path: str
    budget: float


def main() -> int:
    """Print a table for each database; 1 where a budget does not hold."""
    kept = [_bench(name, settings) for name, settings in databases()]
    return 0 if all(kept) else 1


def _bench(name: str, settings: Settings) -> bool:
    db = Database(settings.database)
    migrate(db)
    example = store_example(db)
    while measure_unmeasured(db):
        pass
    pages = _pages(example)
    results: list[dict[str, Measured]] = []
    for runs, attempts in SIZES:
        started = time.monotonic()
        _fill(db, example, runs, attempts)
        with db.query() as connection:
            counts = [f"{_count(connection, table):,} {table}" for table in ("runs", "attempts")]
        print(f"{name}: {' and '.join(counts)}, filled in {time.monotonic() - started:.0f} s")
        sys.stdout.flush()
        with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as client:
            results.append({page.name: measured(client, page.path) for page in pages})
    db.close()
    small, large = results
    print(header("p95 in ms", "small", "large"))
    kept = True
    for page in pages:
        said, within = line(page.name, small[page.name], large[page.name], page.budget)
        kept &= within
        print(said)
        sys.stdout.flush()
    return kept


def _pages(example: Example) -> list[Page]:
    run = f"/runs/{example.completed}"
    return [
        Page("runs", "/runs", LIST_MS),
        Page("runs, completed", "/runs?status=completed", LIST_MS),
        Page("runs, of a model", f"/runs?model={example.model}", LIST_MS),
        Page("runs, of a set", "/runs?problem_set=HumanEval", LIST_MS),
        Page("runs, searched and sorted", "/runs?search=code&sort=solved&direction=up", LIST_MS),
        Page("runs by tokens, further on", "/runs?sort=tokens&after=9999~20000", LIST_MS),
        Page("runs over the API", "/api/runs", LIST_MS),
        Page("leaderboard", "/leaderboard", LIST_MS),
        Page("leaderboard by λ, further on", "/leaderboard?sort=lambda&page=20", LIST_MS),
        Page("leaderboard, alike", "/leaderboard?alike=1", LIST_MS),
        Page("two runs compared", f"/compare?runs={example.completed},{example.cancelled}", RUN_MS),
        Page("leaderboard over the API", "/api/leaderboard", LIST_MS),
        Page("shared links", "/share", LIST_MS),
        Page("models", "/models", LIST_MS),
        Page("models over the API", "/api/models", LIST_MS),
        Page("problem sets", "/problem-sets", LIST_MS),
        Page("problem sets over the API", "/api/problem-sets", LIST_MS),
        Page("a problem set", f"/problem-sets/{example.problem_set}", LIST_MS),
        Page("a problem set, searched", f"/problem-sets/{example.problem_set}?q=eval/1", LIST_MS),
        Page("new run", "/runs/new", LIST_MS),
        Page("a run", run, RUN_MS),
        Page("a run, unsolved problems", f"{run}?outcome=exhausted", RUN_MS),
        Page("a run over the API", f"/api{run}", RUN_MS),
        Page("a run's problems over the API", f"/api{run}/trajectories?after=99", LIST_MS),
        Page("a run under way", f"/runs/{example.running}", RUN_MS),
        Page("a trajectory", f"{run}/trajectories/{example.repaired_trajectory}", LIST_MS),
    ]


def _fill(db: Database, example: Example, runs: int, attempts: int) -> None:
    """Copy the example's completed, cancelled and waiting runs until there are about so many runs and attempts."""
    with db.transaction() as connection:
        missing = runs - _count(connection, "runs")
        large = len(_ids(connection, f"{_ATTEMPTS_OF_RUN} = {example.completed}"))
        small = len(_ids(connection, f"{_ATTEMPTS_OF_RUN} = {example.cancelled}"))
        of_large = (attempts - _count(connection, "attempts") - small * missing // 2) // (large - small // 2)
        of_small = (missing - of_large) // 2
        _copy(connection, example.completed, of_large)
        _copy(connection, example.cancelled, of_small)
        _copy(connection, example.waiting, missing - of_large - of_small)
        if not db.sqlite:
            connection.execute(text("ANALYZE"))  # which a PostgreSQL server does by itself after a while


_ATTEMPTS_OF_RUN = "SELECT a.id FROM attempts a JOIN trajectories t ON t.id = a.trajectory_id WHERE t.run_id"


def _copy(connection: Connection, run_id: int, copies: int) -> None:
    """Copy one run with all it has: ids are moved behind the last ones, and each copy's behind the one before."""
    moves = {
        "run": _move(connection, "runs", [run_id]),
        "trajectory": _move(
            connection, "trajectories", _ids(connection, f"SELECT id FROM trajectories WHERE run_id = {run_id}")
        ),
        "attempt": _move(connection, "attempts", _ids(connection, f"{_ATTEMPTS_OF_RUN} = {run_id}")),
    }
    for model, keys, condition in (
        (Run, {"id": "run"}, f"id = {run_id}"),
        (RunMetrics, {"run_id": "run"}, f"run_id = {run_id}"),
        (Trajectory, {"id": "trajectory", "run_id": "run"}, f"run_id = {run_id}"),
        (
            Attempt,
            {"id": "attempt", "trajectory_id": "trajectory"},
            f"trajectory_id IN (SELECT id FROM trajectories WHERE run_id = {run_id})",
        ),
        (Transcript, {"attempt_id": "attempt"}, f"attempt_id IN ({_ATTEMPTS_OF_RUN} = {run_id})"),
    ):
        names = [column.name for column in model.__table__.columns]
        values = [f"{name} + {moves[keys[name]]}" if name in keys else name for name in names]
        connection.execute(
            text(
                f"INSERT INTO {model.__tablename__} ({', '.join(names)}) "
                f"WITH RECURSIVE numbers(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM numbers WHERE k < {copies}) "
                f"SELECT {', '.join(values)} FROM {model.__tablename__} CROSS JOIN numbers WHERE {condition}"
            )
        )


def _move(connection: Connection, table: str, ids: Sequence[int]) -> str:
    """What is added to an id of the k-th copy."""
    if not ids:
        return "0"
    last = connection.scalar(text(f"SELECT max(id) FROM {table}"))
    return f"{last} - {min(ids) - 1} + (k - 1) * {max(ids) - min(ids) + 1}"


def _ids(connection: Connection, query: str) -> Sequence[int]:
    return connection.scalars(text(query)).all()


def _count(connection: Connection, table: str) -> int:
    return connection.scalar(text(f"SELECT count(*) FROM {table}")) or 0


if __name__ == "__main__":
    sys.exit(main())
