"""From trajectories to the counts of the published index, derived by hand."""

import pytest

from app.db.queries.decay_counts import decay_counts, run_summary
from app.db.session import Database
from app.domain.errors import NotFoundError
from app.domain.protocol.policy import Protocol
from app.judge.judge import JUDGE_VERSION
from tests.fixtures.example_data import store_model, store_problem_set, store_run


def test_counts_of_a_run_made_by_hand(database: Database) -> None:
    with database.write() as session:
        problem_set, problems = store_problem_set(session, "Hand", 12)
        model = store_model(session, "m", price=1.0)
        run = store_run(
            session, problem_set, problems, model,
            [
                ("A",), ("A",),                     # solved at 0
                ("W", "A"), ("N", "A"),             # solved at 1; a reply without code is a failed attempt
                ("W", "W", "A"),                    # solved at 2
                ("W", "W", "W"), ("R", "T", "M"),   # exhausted
                ("W", "budget"),                    # censored after 0
                ("W", "W", "cancelled"),            # censored after 1
                ("W", "visible"),                   # leaves after 0, unsolved
                ("infrastructure",), ("budget",),   # excluded: no verdict
            ],
            protocol=Protocol(attempts=3),
        )  # fmt: skip
        run_id = run.id
    with database.read() as session:
        counts = decay_counts(session, run_id)
        summary = run_summary(session, run_id, JUDGE_VERSION)
    assert counts.solved == (2, 2, 1)
    assert counts.of == 10
    assert counts.censored == (2, 1, 0)
    assert (counts.excluded, counts.cut_short, counts.visible_only) == (2, 2, 1)
    assert (counts.running, counts.waiting) == (0, 0)
    # N_0 = 10; N_1 = 10 − 2 solved − 2 censored = 6; N_2 = 6 − 2 − 1 = 3.
    assert [(p.solved, p.at_risk) for p in summary.decay.points] == [(2, 10), (2, 6), (1, 3)]
    assert summary.decay.final_accuracy.estimate == 0.5
    assert summary.counts.excluded == 2
    assert summary.evidence.tokens_unknown == 0


def test_a_run_under_way_counts_up_to_its_last_verdicts(database: Database) -> None:
    with database.write() as session:
        problem_set, problems = store_problem_set(session, "Hand", 4)
        model = store_model(session, "m")
        trajectories = [("A",), ("W", "running"), ("W", "W", "running"), ("running",)]
        run_id = store_run(session, problem_set, problems, model, trajectories, protocol=Protocol(attempts=3)).id
    with database.read() as session:
        counts = decay_counts(session, run_id)
        summary = run_summary(session, run_id, JUDGE_VERSION)
    assert (counts.of, counts.running, counts.waiting, counts.excluded) == (3, 2, 1, 0)
    # N_0 = 3; N_1 = 3 − 1 solved − 1 still at its second attempt = 1; nobody has three verdicts.
    assert [(p.solved, p.at_risk) for p in summary.decay.points] == [(1, 3), (0, 1)]
    assert summary.cost is None


def test_a_run_that_does_not_exist_is_not_found(database: Database) -> None:
    with database.read() as session, pytest.raises(NotFoundError, match="there is no run 7"):
        decay_counts(session, 7)
