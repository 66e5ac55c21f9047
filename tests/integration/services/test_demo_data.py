"""The starter problems as they are shipped, and the demo runs on them."""

import gzip
import json
from dataclasses import replace

from sqlalchemy import func, select
from sqlalchemy.orm import undefer

from app.datasets.demo import demo_runs
from app.datasets.starter import starter_set
from app.db.models import Attempt, ModelEndpoint, ProblemRow, Recording, Run, Trajectory
from app.db.queries.decay_counts import decay_counts
from app.db.session import Database
from app.services.demo_data import load_demo, remove_demo
from app.services.import_problem_set import store_problem_set


def test_the_starter_with_its_large_cases_and_the_demo_runs(database: Database) -> None:
    starter = starter_set()
    # That all of it is sound, the tests of the command line see.
    report = store_problem_set(database, starter, weak=())
    assert (report.problems, report.buggy_programs) == (36, 36)
    with database.read() as session:
        rows = session.scalars(
            select(ProblemRow)
            .where(ProblemRow.problem_set_id == report.problem_set_id)
            .order_by(ProblemRow.position)
            .options(undefer(ProblemRow.definition))
        )
        assert [row.definition for row in rows] == [replace(one, buggy_programs=()) for one in starter.problems]

    runs = load_demo(database)
    shipped = demo_runs()
    assert len(set(runs)) == len(shipped)
    # A second time they are there already.
    assert load_demo(database) == runs
    by_file = dict(zip((one.file for one in shipped), runs, strict=True))
    with database.read() as session:
        for one in shipped:
            run = session.get_one(Run, by_file[one.file])
            assert (run.demo, run.status, run.problem_set_id) == (True, "completed", report.problem_set_id)
            assert run.baseline_run_id == (None if one.baseline is None else by_file[one.baseline])
            _, *lines = map(json.loads, gzip.decompress(one.content).splitlines())
            solved = [line["solved_at"] for line in lines if line["solved_at"] is not None]
            expected = tuple(solved.count(attempt) for attempt in range(run.protocol.attempts))
            assert decay_counts(session, run.id).solved == expected

    assert remove_demo(database) == len(shipped)
    with database.read() as session:
        for table in (Run, Trajectory, Attempt, Recording, ModelEndpoint):
            assert session.scalar(select(func.count()).select_from(table)) == 0, table
    assert remove_demo(database) == 0
