"""From stored trajectories to figures, on both databases."""

import pytest

from app.db.models import Attempt, Trajectory
from app.db.queries.decay_counts import decay_counts
from app.db.queries.figures import computed_figures
from app.db.queries.outcomes import run_outcomes
from app.db.queries.run import run_evidence
from app.db.session import Database
from app.domain.errors import NotFoundError
from app.domain.protocol.policy import Protocol
from app.judge.judge import JUDGE_VERSION
from app.web.measures import left_out, measures_document, measures_text
from tests.fixtures.example_data import store_model, store_problem_set, store_run
from tests.integration.web.conftest import Site

WAYS = [
    ("A",),
    ("W", "A"),
    ("N", "C", "A"),
    ("W", "W", "W"),
    ("R", "T", "M"),
    ("W", "budget"),
    ("W", "W", "cancelled"),
    ("W", "visible"),
    ("infrastructure",),
    ("running",),
]


def test_outcomes_of_a_run_made_by_hand(database: Database) -> None:
    with database.write() as session:
        problem_set, problems = store_problem_set(session, "Hand", len(WAYS))
        model = store_model(session, "m", price=1.0)
        run = store_run(session, problem_set, problems, model, WAYS, protocol=Protocol(attempts=3))
        # The last attempt of the fourth repeats its first; its second is behind a re-judged end, as surplus is.
        fourth = session.query(Trajectory).filter_by(run_id=run.id, position=3).one()
        attempts = session.query(Attempt).filter_by(trajectory_id=fourth.id).order_by(Attempt.attempt_index).all()
        attempts[2].repeats_attempt = 0
        second = session.query(Trajectory).filter_by(run_id=run.id, position=6).one()
        second.attempts_judged = 1
        run_id, spent = run.id, run.tokens_spent
        surplus = session.query(Attempt).filter_by(trajectory_id=second.id, attempt_index=1).one()
        surplus.repeats_attempt = 0
        spent -= (surplus.prompt_tokens or 0) + (surplus.completion_tokens or 0)
    with database.read() as session:
        found, counts = run_outcomes(session, run_id), decay_counts(session, run_id)
        stored = computed_figures(session, run_id, JUDGE_VERSION).repeats
        evidence = run_evidence(session, run_id, JUDGE_VERSION)
    # In the order of problems; the two without a verdict are not there.
    assert found.solved_at.tolist() == [0, 1, 2, -1, -1, -1, -1, -1]
    assert found.judged.tolist() == [1, 2, 3, 3, 3, 1, 1, 1]
    assert found.finished.tolist() == [True] * 5 + [False, False, True]
    assert (found.units, found.simple) == (8, True)
    assert found.trajectory.tolist() == [0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 6, 7]
    assert float(found.tokens.sum()) == spent
    assert found.repeats.tolist().index(True) == 8
    # What the hazard is of agrees with the counts of the page.
    assert found.solved_by_attempt().tolist() == list(counts.solved)
    document = measures_document(found, left_out(counts))
    flows = {(one["from"], one["to"]): one["count"] for one in document["verdict_flow"]}
    assert flows == {
        ("WA", "AC"): 1, ("no_code", "CE"): 1, ("CE", "AC"): 1, ("WA", "WA"): 2, ("RE", "TLE"): 1, ("TLE", "MLE"): 1,
    }  # fmt: skip
    values = {figure["slug"]: figure["values"] for figure in document["figures"]}
    assert values["e0"][""]["estimate"] == 1 / 8
    # At risk 8, then 8 − 1 solved − 2 cut short = 5 (the one that stopped on visible tests stays unsolved), then 4:
    # U = 7/8 · 4/5 · 3/4 = 0.525.
    assert values["isr"]["3"]["estimate"] == pytest.approx(0.475)
    last = document["solved_within"][2]
    assert (last["all_failed"], last["all_excluded"], last["censored"]) == (3 / 8, 3 / 6, 2)
    # Seven debugging attempts; one repeats. On boards and on the run's page as well.
    assert values["repeats"][""]["estimate"] == pytest.approx(1 / 7)
    assert (stored.successes, stored.n) == (evidence.repeats, evidence.debugging) == (1, 7)
    assert document["left_out"]["excluded"] == 1
    assert document["left_out"]["visible_only"] == 1
    text = measures_text(document)
    assert "ISR@k, solved within k attempts, 3" in text
    assert "1 excluded, 2 cut short, 1 visible only, 1 waiting" in text
    assert "Unequal difficulty" in text


def test_a_run_without_a_verdict(database: Database) -> None:
    with database.write() as session:
        problem_set, problems = store_problem_set(session, "Hand", 2)
        run_id = store_run(session, problem_set, problems, store_model(session, "m"), [("running",)] * 2).id
    with database.read() as session:
        found, counts = run_outcomes(session, run_id), decay_counts(session, run_id)
        with pytest.raises(NotFoundError, match="no run 999"):
            run_outcomes(session, 999)
    document = measures_document(found, left_out(counts))
    assert {value["status"] for figure in document["figures"] for value in figure["values"].values()} == {"undefined"}
    assert "undefined: nothing to measure" in measures_text(document)


def test_figures_over_the_api(site: Site) -> None:
    answer = site.client.get(f"/api/runs/{site.example.completed}/figures")
    assert answer.status_code == 200
    found = answer.json()
    # 96, 23, 16, 5, 2, 4 of 164.
    assert found["decay"]["careful"]["status"] == "decay"
    values = {figure["slug"]: figure["values"] for figure in found["figures"]}
    assert values["accuracy"][""]["estimate"] == 146 / 164
    assert values["isr"]["2"]["estimate"] == pytest.approx(119 / 164)
    # Another seed moves the resampled bounds alone.
    other = site.client.get(f"/api/runs/{site.example.completed}/figures?seed=1").json()
    again = {figure["slug"]: figure["values"] for figure in other["figures"]}
    assert again["lambda"][""]["estimate"] == values["lambda"][""]["estimate"]
    assert again["lambda"][""]["low"] != values["lambda"][""]["low"]
    assert again["careful_lambda"] == values["careful_lambda"]
    assert site.client.get("/api/runs/99999/figures").status_code == 404
