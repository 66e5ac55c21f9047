"""Which buggy programs a run starts from: all, those that are named, or so many for each number of bugs."""

from collections import Counter

import pytest
from sqlalchemy import select
from sqlalchemy.orm import undefer

from app.db.models import BuggyProgramRow, ProblemRow, Run, Trajectory
from app.db.session import Database
from app.domain.errors import InputError
from app.domain.protocol.policy import Protocol, Start
from app.domain.protocol.restart import FreshStart
from app.services.add_arms import ArmRequest
from app.services.submit_run import RunRequest, submit_run
from tests.fixtures.example_data import store_model, store_problem_set

DEBUG = Protocol(start=Start.DEBUG, attempts=1)


@pytest.fixture
def request_(database: Database) -> RunRequest:
    """Two problems with nine items each, 1 to 3 bugs in three of them; `x1` is a key of both, all others of one."""
    with database.write() as session:
        problem_set, problems = store_problem_set(session, "Items", 2)
        model = store_model(session, "scripted")
        given = session.scalars(select(BuggyProgramRow).options(undefer(BuggyProgramRow.definition))).all()
        for problem, row in zip(problems, given, strict=True):
            session.delete(row)
            session.flush()
            for number in range(9):
                key = "x1" if number == 1 else f"{problem.position}-{number}"
                bugs = number % 3 + 1
                session.add(
                    BuggyProgramRow(
                        problem_id=problem.id, key=key, bug_count=bugs, odc_classes=[None] * bugs,
                        edits_needed=bugs, definition=row.definition,
                    )
                )  # fmt: skip
        return RunRequest(problem_set.id, model.id, DEBUG)


def chosen(database: Database, request: RunRequest, **fields: object) -> tuple[Run, list[tuple[str, int]]]:
    """The run, and of each trajectory its item and the item's number of bugs."""
    asked = RunRequest(request.problem_set_id, request.endpoint_id, **{"protocol": DEBUG, **fields})  # type: ignore[arg-type]
    run_id = submit_run(database, asked)
    with database.read() as session:
        rows = session.execute(
            select(ProblemRow.key, BuggyProgramRow.key, BuggyProgramRow.bug_count)
            .select_from(Trajectory)
            .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
            .join(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
            .where(Trajectory.run_id == run_id)
            .order_by(Trajectory.position)
        )
        return session.get_one(Run, run_id), [(f"{problem}/{key}", bugs) for problem, key, bugs in rows]


def test_all_of_them_where_none_is_chosen(database: Database, request_: RunRequest) -> None:
    run, items = chosen(database, request_)
    assert (len(items), run.items, run.items_per_k) == (18, None, None)


def test_named_ones_in_the_order_of_the_set(database: Database, request_: RunRequest) -> None:
    run, items = chosen(database, request_, items=["1-0", "Items/1/x1", "0-8"])
    assert items == [("Items/0/0-8", 3), ("Items/1/1-0", 1), ("Items/1/x1", 2)]
    assert (run.items, run.trajectories_total) == (["Items/0/0-8", "Items/1/1-0", "Items/1/x1"], 3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"items": ["x1"]}, "items: 2 problems of Items have a x1; say which, as Items/0/x1"),
        ({"items": ["0-0", "7-7"]}, "items: what is chosen of Items has no 7-7"),
        ({"items": ["1-0"], "problems": ["Items/0"]}, "items: what is chosen of Items has no 1-0"),
        ({"items": []}, "items: choose at least one"),
        ({"items_per_k": 0}, "items for each number of bugs: must be at least 1"),
        ({"items_per_k": 2, "protocol": Protocol()}, "items: they are buggy programs"),
    ],
)
def test_what_cannot_be_chosen_is_refused(
    database: Database, request_: RunRequest, fields: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        chosen(database, request_, **fields)


def test_as_many_are_drawn_for_each_number_of_bugs(database: Database, request_: RunRequest) -> None:
    run, items = chosen(database, request_, items_per_k=2)
    assert Counter(bugs for _, bugs in items) == {1: 2, 2: 2, 3: 2}
    assert (run.items, run.items_per_k) == ([name for name, _ in items], 2)
    # Each number of bugs has six items; asking for more takes all.
    assert len(chosen(database, request_, items_per_k=7)[1]) == 18
    # The same seed draws the same, and a larger draw holds the smaller one.
    assert chosen(database, request_, items_per_k=2)[1] == items
    assert set(items) < set(chosen(database, request_, items_per_k=3)[1])
    others = {
        tuple(chosen(database, request_, items_per_k=2, protocol=Protocol(start=Start.DEBUG, seed=seed))[1])
        for seed in range(1, 6)
    }
    assert len(others) > 1


def test_arms_start_from_the_same_items(database: Database, request_: RunRequest) -> None:
    arm = (ArmRequest(policy=FreshStart.parse("once:1")),)
    run, items = chosen(database, request_, items_per_k=1, arms=arm, protocol=Protocol(start=Start.DEBUG, attempts=3))
    with database.read() as session:
        beside = session.get_one(Run, run.id + 1)
        assert (beside.items, beside.items_per_k, beside.trajectories_total) == (run.items, 1, len(items))
