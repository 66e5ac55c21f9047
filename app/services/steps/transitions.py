"""How a trajectory and its run change state. The caller holds the trajectory's lock; the run is locked after it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.db.models import (
    Attempt,
    EndpointKind,
    ModelEndpoint,
    Run,
    RunStatus,
    Trajectory,
    TrajectoryOutcome,
)
from app.domain.protocol.decide import Ask, Outcome, Stop, decide
from app.domain.work import Step, WorkerKind
from app.services.steps.situation import Situation, records

MAX_TRIES = 8
"""Tries of a step before its failure counts as lasting: with the backoff below, about four minutes."""
BACKOFF_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
MAX_BACKOFF_SECONDS = 600.0
"""What a server may ask for by Retry-After; a longer wait is cut to this."""


Wakes = Sequence[WorkerKind]
"""Kinds of worker that have something to do once the step is committed."""


def proceed(session: Session, trajectory: Trajectory, run: Run, attempts: list[Attempt], situation: Situation) -> Wakes:
    """Set what the rules say comes next, and give the lease back."""
    trajectory.failures = 0
    trajectory.lease_expires_at = None
    trajectory.attempts_judged = sum(a.verdict is not None for a in attempts)
    decision = decide(records(attempts), situation.policy)
    if isinstance(decision, Stop):
        if decision.outcome is Outcome.SOLVED:
            trajectory.solved_at = attempts[-1].attempt_index
        return end(session, trajectory, run, TrajectoryOutcome(decision.outcome), None)
    if run.status == RunStatus.CANCELLED:
        return end(session, trajectory, run, TrajectoryOutcome.CANCELLED, None)
    step = Step.ASK if isinstance(decision, Ask) else Step.RUN
    return (make_due(trajectory, step, situation.endpoint),)


def make_due(trajectory: Trajectory, step: Step, endpoint: ModelEndpoint) -> WorkerKind:
    """Queue a step; returns the kind of worker that does it. repair-search asks in the sandbox, so `execute` does."""
    local = endpoint.kind == EndpointKind.REPAIR_SEARCH
    worker = WorkerKind.EXECUTE if step is Step.RUN or local else WorkerKind.GENERATE
    trajectory.step = step
    trajectory.worker = worker
    trajectory.due_at = datetime.now(UTC)
    return worker


def end(session: Session, trajectory: Trajectory, run: Run, outcome: TrajectoryOutcome, reason: str | None) -> Wakes:
    """End a trajectory and, with the last one, its run (locked by the caller): counted in this transaction.

    Its place is free then for a trajectory of the run that has not begun: who asks for that one is to be woken.
    """
    trajectory.outcome = outcome
    trajectory.outcome_reason = reason
    trajectory.step = trajectory.worker = trajectory.due_at = trajectory.lease_expires_at = None
    trajectory.waiting_for = None
    run.trajectories_ended += 1
    if run.trajectories_ended == run.trajectories_total:
        run.finished_at = datetime.now(UTC)
        if run.status != RunStatus.CANCELLED:
            run.status = RunStatus.COMPLETED
            run.status_reason = None
    waiting = select(Trajectory.worker).where(Trajectory.run_id == run.id, Trajectory.lease_number == 0)
    worker = session.scalar(waiting.where(Trajectory.outcome.is_(None)).limit(1))
    return () if worker is None else (WorkerKind(worker),)


def backoff(failures: int, retry_after: float | None) -> float:
    """Seconds until the next try after so many failures in a row; a server's own wish comes first."""
    if retry_after is not None:
        return min(max(retry_after, 0.0), MAX_BACKOFF_SECONDS)
    return BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS)) - 1]


def put_off(trajectory: Trajectory, seconds: float, waiting_for: str | None) -> None:
    """Give the step back, due again in `seconds`."""
    trajectory.due_at = datetime.now(UTC) + timedelta(seconds=seconds)
    trajectory.lease_expires_at = None
    trajectory.waiting_for = waiting_for


def pause(run: Run, reason: str) -> None:
    """Stop handing out steps of a running run until a person resumes it."""
    if run.status == RunStatus.RUNNING:
        run.status = RunStatus.PAUSED
        run.status_reason = reason


def lock_run(session: Session, run_id: int) -> Run:
    """The run, locked and fresh from the database."""
    return session.scalars(
        select(Run).where(Run.id == run_id).with_for_update().execution_options(populate_existing=True)
    ).one()
