"""The demo data on the list of runs: offered where there is nothing, marked, and removed by one button."""

from sqlalchemy import select, update

from app.db.models import ModelEndpoint, ProblemRow, ProblemSetRow, Run
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
