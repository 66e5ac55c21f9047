"""The New run form, and the buttons of a run."""

import pytest
from sqlalchemy import func, select

from app.db.models import Run, RunStatus, Trajectory
from app.domain.protocol.policy import Disclosure, Protocol, Start
from tests.integration.web.conftest import Workshop
from tests.integration.web.test_pages import words


def form(workshop: Workshop, **changes: str) -> dict[str, str]:
    return {"problem_set": str(workshop.problem_set), "model": str(workshop.model), **changes}


def test_a_run_is_stored_announced_and_shown(workshop: Workshop) -> None:
    answer = workshop.client.post(
        "/runs",
        data=form(
            workshop, attempts="3", disclosure="all", seed="7", problems="Small/2, Small/0", budget_tokens="50,000"
        ),
    )
    assert answer.status_code == 303
    run_id = int(answer.headers["location"].removeprefix("/runs/"))
    with workshop.database.read() as session:
        run = session.get_one(Run, run_id)
    assert run.protocol == Protocol(attempts=3, disclosure=Disclosure.ALL, seed=7)
    assert run.subset == ["Small/0", "Small/2"]
    assert run.budget_tokens == 50_000
    # One wake-up a trajectory.
    assert ["generate" in name for name in workshop.wakes()] == [True, True]
    shown = words(workshop.client.get(f"/runs/{run_id}").text)
    assert "--problem Small/0 --problem Small/2 --budget-tokens 50000" in shown


def test_repair_search_wakes_the_workers_that_hold_the_sandbox(workshop: Workshop) -> None:
    answer = workshop.client.post("/runs", data=form(workshop, model=str(workshop.search), start="debug"))
    assert answer.status_code == 303
    assert all("execute" in name for name in workshop.wakes())
    with workshop.database.read() as session:
        assert session.scalars(select(Run)).one().protocol.start is Start.DEBUG


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"problem_set": ""}, "problem_set", "Choose a problem set."),
        ({"model": "999"}, "form", "there is no model 999"),
        ({"attempts": "0"}, "attempts", "Must be between 1 and 50."),
        ({"attempts": "six"}, "attempts", "Enter a whole number."),
        ({"seed": "1e9"}, "seed", "Enter a whole number."),
        ({"disclosure": "everything"}, "disclosure", "Choose one of the options."),
        ({"problems": "Small/9"}, "problems", "Small has no Small/9."),
        ({"budget_cost": "nan"}, "budget_cost", "Enter a number, such as 0.5."),
        ({"budget_cost": "-1"}, "budget_cost", "Cost must be a positive amount."),
        ({"budget_tokens": "0"}, "budget_tokens", "Must be between 1 and 1,000,000,000,000."),
    ],
)
def test_an_error_stands_at_its_field_and_nothing_typed_is_lost(
    workshop: Workshop, changes: dict[str, str], field: str, message: str
) -> None:
    kept = {"seed": "41"} | changes
    answer = workshop.client.post("/runs", data=form(workshop, **kept))
    assert answer.status_code == 422
    assert message in words(answer.text)
    if field != "form":
        assert f'id="{field}-error"' in answer.text
    if "seed" not in changes:
        assert 'value="41"' in answer.text
    with workshop.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Run)) == 0
    assert workshop.wakes() == []


def test_repair_search_cannot_generate(workshop: Workshop) -> None:
    answer = workshop.client.post("/runs", data=form(workshop, model=str(workshop.search)))
    assert answer.status_code == 422
    assert 'id="start-error"' in answer.text
    assert "Repair-search repairs a given buggy program" in words(answer.text)


def test_cancel_keeps_what_there_is_and_cannot_be_done_twice(workshop: Workshop) -> None:
    path = workshop.client.post("/runs", data=form(workshop)).headers["location"]
    assert workshop.client.post(f"{path}/cancel").status_code == 303
    with workshop.database.read() as session:
        assert session.scalars(select(Run)).one().status == RunStatus.CANCELLED
        assert set(session.scalars(select(Trajectory.outcome))) == {"cancelled"}
    again = workshop.client.post(f"{path}/cancel")
    assert again.status_code == 409
    assert "is cancelled already" in words(again.text)


def test_resume_wakes_the_workers(workshop: Workshop) -> None:
    path = workshop.client.post("/runs", data=form(workshop)).headers["location"]
    with workshop.database.write() as session:
        run = session.scalars(select(Run)).one()
        run.status, run.status_reason = RunStatus.PAUSED, "the key was refused"
    before = len(workshop.wakes())
    assert workshop.client.post(f"{path}/resume").status_code == 303
    # One a trajectory for the model, one for the judge.
    assert len(workshop.wakes()) == before + 3 + 1
    with workshop.database.read() as session:
        assert session.scalars(select(Run)).one().status == RunStatus.RUNNING
