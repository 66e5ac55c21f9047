"""What an operator watches: workers, runs by status, and what all runs together came to."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.db.models import Attempt, Heartbeat, ModelRequestRow, RequestState, Run, Trajectory, TrajectoryOutcome


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over all runs. A verdict's count can fall: re-judging replaces verdicts."""

    runs: Mapping[str, int]
    """By status."""
    verdicts: Mapping[str, int]
    prompt_tokens: int
    completion_tokens: int
    sandbox_failures: int
    requests_failed: int
    requests_possibly_billed: int
    trajectories_censored: int
    """Ended for an infrastructure failure."""


def heartbeats(session: Session) -> list[Heartbeat]:
    """Every worker that was heard of lately, by name."""
    return list(session.scalars(select(Heartbeat).order_by(Heartbeat.worker)))


def totals(session: Session) -> Totals:
    """Reads every attempt: tens of milliseconds for a hundred thousand."""
    count = func.count()
    judged: dict[str, int] = {}
    prompt = completion = 0
    rows = session.execute(
        select(Attempt.verdict, count, func.sum(Attempt.prompt_tokens), func.sum(Attempt.completion_tokens)).group_by(
            Attempt.verdict
        )
    )
    for verdict, number, prompt_tokens, completion_tokens in rows:
        prompt += int(prompt_tokens or 0)
        completion += int(completion_tokens or 0)
        if verdict is not None:
            judged[verdict] = number
    requests = _counts(session, ModelRequestRow.state)
    censored = Trajectory.outcome == TrajectoryOutcome.INFRASTRUCTURE.value
    return Totals(
        runs=_counts(session, Run.status),
        verdicts=judged,
        prompt_tokens=prompt,
        completion_tokens=completion,
        sandbox_failures=int(session.scalar(select(func.sum(Trajectory.sandbox_failures))) or 0),
        requests_failed=requests.get(RequestState.FAILED.value, 0),
        requests_possibly_billed=requests.get(RequestState.POSSIBLY_BILLED.value, 0),
        trajectories_censored=session.scalar(select(count).select_from(Trajectory).where(censored)) or 0,
    )


def _counts(session: Session, column: InstrumentedAttribute[str]) -> dict[str, int]:
    rows = session.execute(select(column, func.count()).group_by(column))
    return {value: number for value, number in rows}  # noqa: C416 — rows are no tuples to mypy
