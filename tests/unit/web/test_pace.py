"""Words for rates, waits and ranges."""

from datetime import UTC, datetime, timedelta

import pytest

from app.db.queries.progress import Progress, Wait, WaitKind
from app.services.plan_run import Basis, Estimate, Range
from app.web import pace

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (59.4, "59 s"), (60, "1 min"), (3599, "1 h 0 min"), (12_000, "3 h 20 min"), (187_200, "2 d 4 h")],
)
def test_durations(seconds: float, said: str) -> None:
    assert pace.duration(seconds) == said


def test_what_a_run_waits_for() -> None:
    retry = Wait(WaitKind.RETRY, 3, reason="the model: 429 Too Many Requests", next_try_at=NOW + timedelta(seconds=12))
    assert pace.waiting(retry, NOW) == "3 problems backing off, the model: 429 Too Many Requests; next try in 12 s"
    assert pace.waiting(retry, NOW + timedelta(minutes=1)).endswith("; next try now")
    assert pace.waiting(Wait(WaitKind.PERSON, 9, reason="key refused"), NOW) == "paused: key refused"
    idle = Wait(WaitKind.WORKER, 1, since=NOW - timedelta(seconds=40))
    assert pace.waiting(idle, NOW).startswith("no worker has taken a step for 40 s;")


def test_slow_runs_are_told_by_the_hour() -> None:
    assert pace.rate(Progress(3, 9, 90.0, 2.0, None)) == "2.0 problems a minute"
    assert pace.rate(Progress(3, 9, 900.0, 0.2, None)) == "12.0 problems an hour"


def test_an_unknown_cost_is_never_nought() -> None:
    assert pace.cost_range(None) == "unknown"
    assert pace.cost_range(Range(0.012, 0.4)) == "$0.0120 – $0.40"


def test_a_budget_below_what_is_expected_is_said() -> None:
    estimate = Estimate(1, Range(1, 6), Range(100, 900), Range(0.1, 0.9), Basis.PROMPTS, (), 1)
    assert pace.budget_note(estimate, None, None) == ""
    assert pace.budget_note(estimate, 900, 0.9) == ""
    assert "may be cut short" in pace.budget_note(estimate, 500, None)
    assert "budget in money is below the least" in pace.budget_note(estimate, 500, 0.05)
