"""Figures of ended runs, stored by the workers' sweep."""

from pathlib import Path

import pytest
from sqlalchemy import select

from app.adapters.queue import Queue, make_celery
from app.config import Settings
from app.db.models import RunMetrics
from app.db.session import Database
from app.domain.protocol.policy import Protocol
from app.domain.work import WorkerKind
from tests.fixtures.example_data import store_model, store_problem_set, store_run
from workers.base import Worker


@pytest.mark.parametrize("kind", list(WorkerKind))
def test_a_generate_workers_sweep_stores_them(database: Database, tmp_path: Path, kind: WorkerKind) -> None:
    with database.write() as session:
        problem_set, problems = store_problem_set(session, "Hand", 4)
        trajectories = [("A",), ("W", "A"), ("W", "W", "W"), ("W", "budget")]
        run = store_run(session, problem_set, problems, store_model(session, "m"), trajectories,
                        protocol=Protocol(attempts=3))  # fmt: skip
        run_id = run.id
    queue = Queue(make_celery(Settings(home=tmp_path)))
    worker = Worker(kind, database, queue, {}, concurrency=1, lease_seconds=30, sweep_seconds=5)
    worker._sweep()
    with database.read() as session:
        stored = session.scalars(select(RunMetrics)).all()
    if kind is WorkerKind.EXECUTE:
        assert stored == []
        return
    (row,) = stored
    figures = row.figures
    assert row.run_id == run_id
    assert figures.solved == (1, 1, 0)
    assert (figures.decay.n, figures.cut_short, figures.excluded, figures.left_unfinished) == (4, 1, 0, 1)
    # Debugging attempts: one of the second problem, two of the third.
    assert (figures.repeats.successes, figures.repeats.n) == (0, 3)
    assert figures.sandboxes == {"bubblewrap": 7}
    assert figures.decay.final_accuracy.estimate == 0.5
