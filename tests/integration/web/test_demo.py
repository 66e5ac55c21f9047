"""The demo data on the list of runs: offered where there is nothing, marked, and removed by one button."""

from dataclasses import replace

from sqlalchemy import select, update

from app.db.models import ModelEndpoint, ProblemRow, ProblemSetRow, Run
from app.domain.protocol.restart import FreshStart
from tests.fixtures.example_data import store_problem_set, store_run
from tests.integration.web.conftest import Workshop

OFFER = 'action="/demo/load"'
REMOVAL = 'action="/demo/remove"'


def test_it_is_offered_where_there_are_the_problems_for_it_and_no_run(workshop: Workshop) -> None:
    assert OFFER not in workshop.client.get("/runs").text
    with workshop.database.write() as session:
        store_problem_set(session, "starter", 3)
    page = workshop.client.get("/runs").text
    assert OFFER in page
    assert REMOVAL not in page
    # Not where a search finds nothing.
    assert OFFER not in workshop.client.get("/runs?search=x").text


def test_other_problems_than_those_it_was_recorded_on_are_refused(workshop: Workshop) -> None:
    answer = workshop.client.post("/demo/load")
    assert answer.status_code == 404
    assert "which are not here" in answer.text


def test_recorded_arms_are_found_from_their_baseline_and_get_no_more(workshop: Workshop) -> None:
    client, shown = workshop.client, "/runs/{}/fresh-starts"
    with workshop.database.write() as session:
        problem_set = session.get_one(ProblemSetRow, workshop.problem_set)
        problems = session.scalars(select(ProblemRow).where(ProblemRow.problem_set_id == problem_set.id)).all()
        model = session.get_one(ModelEndpoint, workshop.model)
        alone, baseline, arm = (
            store_run(session, problem_set, problems, model, [("A",), ("W", "A"), ("W", "W")]).id for _ in range(3)
        )
        session.execute(update(Run).where(Run.id.in_([alone, baseline, arm])).values(imported_from="halflife"))
        session.execute(update(Run).where(Run.id == arm).values(baseline_run_id=baseline))
        protocol = replace(session.get_one(Run, arm).protocol, fresh_start=FreshStart.parse("every:3"))
        session.execute(update(Run).where(Run.id == arm).values(protocol=protocol))
    assert f'href="{shown.format(baseline)}"' in client.get(f"/runs/{baseline}").text
    assert f'href="{shown.format(baseline)}"' in client.get(f"/runs/{arm}").text
    assert shown.format(alone) not in client.get(f"/runs/{alone}").text
    page = client.get(shown.format(baseline)).text
    assert "after every 3 debugging attempts" in page
    assert "Start arms" not in page


def test_it_is_marked_and_removed_and_nothing_else_is(workshop: Workshop) -> None:
    with workshop.database.write() as session:
        problem_set = session.get_one(ProblemSetRow, workshop.problem_set)
        problems = session.scalars(select(ProblemRow).where(ProblemRow.problem_set_id == problem_set.id)).all()
        model = session.get_one(ModelEndpoint, workshop.model)
        own = store_run(session, problem_set, problems, model, [("A",), ("W", "A"), ("W", "W")]).id
        assert REMOVAL not in workshop.client.get("/runs").text
        demo = store_run(session, problem_set, problems, model, [("A",), ("A",), ("A",)]).id
        session.execute(update(Run).where(Run.id == demo).values(demo=True, imported_from="halflife"))
    page = workshop.client.get("/runs").text
    assert REMOVAL in page
    assert page.count("demo data</span>") == 1, "the mark of the one run"

    answer = workshop.client.post("/demo/remove")
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs")
    assert workshop.client.get(f"/runs/{demo}").status_code == 404
    assert workshop.client.get(f"/runs/{own}").status_code == 200
    assert REMOVAL not in workshop.client.get("/runs").text
