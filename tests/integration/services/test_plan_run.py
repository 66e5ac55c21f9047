"""What a run will use, before it is started."""

from dataclasses import replace

import pytest
from sqlalchemy import select

from app.db.models import ModelEndpoint, ProblemRow, Run, RunStatus, Trajectory
from app.db.session import Database
from app.domain.errors import InputError
from app.domain.protocol.policy import History, Protocol, Start
from app.services.plan_run import Basis, RunPlan, plan_run
from app.services.submit_run import RunRequest
from tests.fixtures.example_data import store_model, store_problem_set, store_run


@pytest.fixture
def request_(database: Database) -> RunRequest:
    """Ten problems, a model at $1 and $3 a million tokens, and an earlier run of six problems."""
    with database.write() as session:
        problem_set, problems = store_problem_set(session, "Ten", 10)
        model = store_model(session, "priced", price=1.0)
        store_run(session, problem_set, problems, model, [("A",)] * 3 + [("W", "A")] * 3)
        return RunRequest(problem_set.id, model.id, Protocol(attempts=4))


def plan(database: Database, request: RunRequest, shown: str | None = None) -> RunPlan:
    with database.read() as session:
        return plan_run(session, request, shown)


def test_earlier_runs_are_the_basis_where_there_are_any(database: Database, request_: RunRequest) -> None:
    estimate = plan(database, request_).estimate
    assert (estimate.basis, estimate.runs, estimate.measured, estimate.trajectories) == (
        Basis.EARLIER_RUNS,
        (1,),
        6,
        10,
    )
    # Requests 1, 1, 1, 2, 2, 2: mean 1.5, s² = 6·0.25/5 = 0.3, t = 2.5706 for five degrees of freedom.
    # 15 ± 2.5706·√0.3·√(10 + 100/6) = 15 ± 7.271, and each of the ten is asked at least once.
    assert estimate.requests.low == 10
    assert estimate.requests.high == pytest.approx(22.271, abs=2e-3)
    with database.read() as session:
        spent = session.scalars(select(Run.tokens_spent)).one()
    # The interval has the scaled mean at its middle.
    assert (estimate.tokens.low + estimate.tokens.high) / 2 == pytest.approx(spent / 6 * 10)
    assert estimate.cost is not None
    assert 0 < estimate.cost.low < estimate.cost.high


@pytest.mark.parametrize(
    "change",
    [{"attempts": 7}, {"history": History.LAST}, {"start": Start.DEBUG}],
)
def test_a_run_under_another_protocol_is_no_basis(
    database: Database, request_: RunRequest, change: dict[str, object]
) -> None:
    asked = replace(request_, protocol=replace(request_.protocol, **change))
    estimate = plan(database, asked).estimate
    assert (estimate.basis, estimate.measured) == (Basis.PROMPTS, 10)
    assert (estimate.requests.low, estimate.requests.high) == (10, 10 * asked.protocol.attempts)


def test_a_run_under_way_is_no_basis(database: Database, request_: RunRequest) -> None:
    with database.write() as session:
        session.scalars(select(Run)).one().status = RunStatus.RUNNING
    assert plan(database, request_).estimate.basis is Basis.PROMPTS


def test_a_run_that_was_cut_short_is_no_basis(database: Database, request_: RunRequest) -> None:
    # What is left of it are the problems that were solved soon.
    with database.write() as session:
        cut = session.scalars(select(Trajectory).where(Trajectory.attempts_judged == 2)).first()
        cut.outcome, cut.attempts_judged = "infrastructure", 1
    assert plan(database, request_).estimate.basis is Basis.PROMPTS


def test_without_earlier_runs_lengths_and_limits_are_the_basis(database: Database, request_: RunRequest) -> None:
    with database.write() as session:
        session.scalars(select(Run)).one().dry_run = True
        definition = session.scalars(select(ProblemRow.definition)).first()
    alone = replace(request_, problems=["Ten/0"], protocol=Protocol(attempts=2))
    found = plan(database, alone)
    characters = sum(len(message.content) for message in found.messages)
    reference = len(definition.reference.source)
    assert [message.role for message in found.messages] == ["system", "user"]
    # At least: one answer as long as the reference, 4 characters a token.
    least = round(characters / 4) + round(reference / 4)
    # At most: two prompts at 3 characters a token and 10 for each message, the second with one answer (1,024), its
    # feedback (200) and 10 for each of these two messages; two answers.
    most = round(2 * (characters / 3 + 20) + 1024 + 200 + 20) + 2 * 1024
    assert (found.estimate.tokens.low, found.estimate.tokens.high) == (least, most)


def test_an_unknown_price_makes_an_unknown_cost(database: Database, request_: RunRequest) -> None:
    with database.write() as session:
        session.get_one(ModelEndpoint, request_.endpoint_id).price_output = None
    assert plan(database, request_).estimate.cost is None
    assert plan(database, replace(request_, protocol=Protocol(attempts=9))).estimate.cost is None


def test_the_messages_of_any_chosen_problem_are_shown(database: Database, request_: RunRequest) -> None:
    asked = replace(request_, first=3, protocol=Protocol(system_prompt="Be brief."))
    found = plan(database, asked, "Ten/2")
    assert found.labels == ("Ten/0", "Ten/1", "Ten/2")
    assert (found.shown, found.messages[0].content) == ("Ten/2", "Be brief.")
    with pytest.raises(InputError, match="shown problem: Ten/3 is not among those chosen"):
        plan(database, asked, "Ten/3")


def test_repair_search_costs_nothing_and_reads_no_prompt(database: Database, request_: RunRequest) -> None:
    with database.write() as session:
        search = store_model(session, "repair-search", kind="repair-search", price=0.0).id
    asked = replace(request_, endpoint_id=search, protocol=Protocol(start=Start.DEBUG, attempts=3))
    found = plan(database, asked)
    assert (found.estimate.basis, found.estimate.tokens.high, found.messages) == (Basis.LOCAL, 0, ())
    with pytest.raises(InputError, match="system prompt: repair-search reads none"):
        plan(database, replace(asked, protocol=replace(asked.protocol, system_prompt="Be brief.")))
