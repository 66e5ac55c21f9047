"""The New run form, and the buttons of a run."""

import re

import pytest
from sqlalchemy import func, select

from app.db.models import ProblemRow, Run, RunStatus, Trajectory
from app.domain.protocol.policy import Disclosure, Protocol, Start
from app.domain.protocol.presets import PRESETS
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
        ({"first": "0"}, "first", "Must be between 1 and 1,000,000,000,000."),
        ({"difficulty": "hard"}, "difficulty", "No problem chosen of Small is rated hard."),
        ({"system_prompt": "\x07"}, "system_prompt", "Must not hold control characters."),
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


def test_problems_are_chosen_by_difficulty_and_number(workshop: Workshop) -> None:
    with workshop.database.write() as session:
        for problem, difficulty in zip(session.scalars(select(ProblemRow)), ("medium", "hard", "easy"), strict=True):
            problem.difficulty = difficulty
    offered = re.findall(r'name="difficulty" value="(\w+)"', workshop.client.get("/runs/new").text)
    assert offered == ["easy", "medium", "hard"]
    answer = workshop.client.post("/runs", data=form(workshop, difficulty="hard", first="1"))
    assert answer.status_code == 303
    with workshop.database.read() as session:
        assert session.scalars(select(Run)).one().subset == ["Small/1"]


def test_a_preview_says_what_will_be_sent_and_used_and_starts_nothing(workshop: Workshop) -> None:
    answer = workshop.client.post(
        "/runs/preview", data=form(workshop, attempts="2", system_prompt="Be brief.\r\nUse Python.", shown="Small/1")
    )
    assert answer.status_code == 200
    shown = words(answer.text)
    assert "Problems3 Requests3 – 6" in shown
    assert "What is sent first, for Small/1" in shown
    assert "Be brief. Use Python. user" in shown
    assert "Complete this function:" in shown
    assert "own system prompt" in shown
    assert "There is no earlier run to go by." in shown
    with workshop.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Run)) == 0
    assert workshop.wakes() == []


def test_a_preset_fills_in_the_protocol_and_keeps_what_was_typed(workshop: Workshop) -> None:
    answer = workshop.client.post("/runs/preview", data=form(workshop, preset="iterative", seed="41", attempts="3"))
    assert re.search(r'name="attempts"[^>]* value="10"', answer.text)
    assert re.search(r'name="disclosure" value="all" checked', answer.text)
    assert re.search(r'name="seed"[^>]* value="41"', answer.text)
    assert re.search(r'value="iterative"[^>]*aria-pressed="true"', answer.text)


def test_a_mode_of_precise_debugging_is_filled_in_previewed_and_started(workshop: Workshop) -> None:
    chosen = form(workshop, preset="precise_agentic_minimal", items_per_k="2")
    preview = workshop.client.post("/runs/preview", data=chosen).text
    assert re.search(r'value="precise_agentic_minimal"[^>]*aria-pressed="true"', preview)
    sent = dict(re.findall(r'<input type="text" id="\w+" name="(\w+)"[^>]*? value="([^"]*)"', preview))
    sent |= dict(re.findall(r'<input type="radio" name="(\w+)" value="(\w+)" checked', preview))
    shown = words(workshop.client.post("/runs/preview", data=form(workshop, **sent)).text)
    assert "fix only them" in shown
    assert "Tests that it must pass" in shown
    path = workshop.client.post("/runs", data=form(workshop, **sent)).headers["location"]
    with workshop.database.read() as session:
        run = session.scalars(select(Run)).one()
    assert run.protocol == PRESETS["precise_agentic_minimal"].protocol
    # Every buggy program of the set has one bug.
    assert (len(run.items or ()), run.items_per_k, run.trajectories_total) == (2, 2, 2)
    page = words(workshop.client.get(path).text)
    assert "--history appended" in page
    assert "--prompts minimal" in page
    assert "--items-per-k 2" in page
    assert "minimal, as the paper on precise debugging" in page
    assert "to be scored" not in page
    with workshop.database.write() as session:
        session.get_one(Run, run.id).scores_waiting = 2
    assert "2 repairs to be scored" in words(workshop.client.get(path).text)


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"start": "debug", "items": "nothing"}, "items", "What is chosen of Small has no nothing."),
        ({"items_per_k": "2"}, "items", "They are buggy programs"),
        ({"start": "debug", "items_per_k": "0"}, "items_per_k", "Must be between 1"),
        ({"prompts": "minimal"}, "prompts", "The minimal one asks for a repair"),
    ],
)
def test_items_that_cannot_be_chosen(workshop: Workshop, changes: dict[str, str], field: str, message: str) -> None:
    answer = workshop.client.post("/runs", data=form(workshop, **changes))
    assert answer.status_code == 422
    assert f'id="{field}-error"' in answer.text
    assert message in words(answer.text)


def test_a_dry_run_is_one_problem_with_one_attempt_and_says_so(workshop: Workshop) -> None:
    answer = workshop.client.post("/runs", data=form(workshop, attempts="6", problems="Small/2 Small/1", dry_run="1"))
    with workshop.database.read() as session:
        run = session.scalars(select(Run)).one()
    assert (run.dry_run, run.subset, run.protocol.attempts, run.trajectories_total) == (True, ["Small/1"], 1, 1)
    assert "It is on no board." in words(workshop.client.get(answer.headers["location"]).text)
    assert "dry run" in words(workshop.client.get("/runs").text)


def test_a_cloned_form_starts_the_same_run_again(workshop: Workshop) -> None:
    typed = form(
        workshop, attempts="3", disclosure="all", history="last", stop_on="visible", seed="7", cpu_seconds="1.5",
        memory_mb="256", system_prompt="Be brief.", problems="Small/2", budget_cost="0.5", in_flight="2",
    )  # fmt: skip
    workshop.client.post("/runs", data=typed)
    with workshop.database.read() as session:
        first = session.scalars(select(Run)).one()
    cloned = workshop.client.get(f"/runs/new?clone={first.id}").text
    sent = dict(re.findall(r'<input type="text" id="\w+" name="(\w+)"[^>]*? value="([^"]*)"', cloned))
    sent |= dict(re.findall(r'<input type="radio" name="(\w+)" value="(\w+)" checked', cloned))
    sent |= dict(re.findall(r'<textarea id="\w+" name="(\w+)"[^>]*>\n([^<]*)<', cloned))
    sent |= {"problem_set": str(first.problem_set_id), "model": str(first.endpoint_id)}
    assert workshop.client.post("/runs", data=sent).status_code == 303
    with workshop.database.read() as session:
        again = session.get_one(Run, first.id + 1)
    for name in ("protocol", "subset", "budget_tokens", "budget_cost", "max_in_flight", "problem_set_id"):
        assert getattr(again, name) == getattr(first, name)


def test_pausing_keeps_the_run_from_going_on(workshop: Workshop) -> None:
    path = workshop.client.post("/runs", data=form(workshop)).headers["location"]
    assert workshop.client.post(f"{path}/pause").status_code == 303
    shown = words(workshop.client.get(path).text)
    assert "Paused: paused by hand." in shown
    assert workshop.client.post(f"{path}/pause").status_code == 409
    assert workshop.client.post(f"{path}/retry").status_code == 409
