"""Going on where a run's trajectories were cut short by what was neither the model's fault nor its program's."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, func, select

from app.db.models import (
    Attempt,
    ModelEndpoint,
    Rejudging,
    RejudgingStatus,
    Run,
    RunStatus,
    Trajectory,
    TrajectoryOutcome,
)
from app.db.session import Database
from app.domain.attempts import AttemptRecord
from app.domain.errors import ConflictError
from app.domain.protocol.decide import Ask, Stop, decide
from app.domain.protocol.prompts import PROMPTS_VERSIONS
from app.domain.work import Step
from app.judge.judge import JUDGE_VERSION
from app.services.control_run import locked_status
from app.services.steps.situation import RECORD_COLUMNS, attempt_record
from app.services.steps.transitions import due_now, set_run, set_trajectory


def retry_run(db: Database, run_id: int) -> int:
    """Put every trajectory that infrastructure cut short back to the step it failed in; how many they are.

    Stored attempts stay: a judged one is not asked again, and a reply that waits for its verdict is only judged. A run
    that had completed goes on. The caller wakes the workers afterwards.

    Raises NotFoundError, and ConflictError where nothing failed, the run was cancelled, a re-judging of it is open, or
    the judge or the prompts have changed since, so that its attempts would no longer be alike.
    """
    with db.transaction() as connection:
        # Trajectories before the run, as every step locks them.
        failed = connection.scalars(
            select(Trajectory.id)
            .where(Trajectory.run_id == run_id, Trajectory.outcome == TrajectoryOutcome.INFRASTRUCTURE)
            .order_by(Trajectory.position)
            .with_for_update()
        ).all()
        status = locked_status(connection, run_id)
        _check(connection, run_id, status)
        if not failed:
            raise ConflictError(f"run {run_id} has nothing to retry: infrastructure cut none of its problems short")
        _put_back(connection, run_id, failed)
        reopened = {"status": RunStatus.RUNNING.value, "active_since": datetime.now(UTC), "finished_at": None}
        set_run(
            connection,
            run_id,
            trajectories_ended=_ended(connection, run_id),
            **(reopened if status == RunStatus.COMPLETED else {}),
        )
        return len(failed)


def _check(connection: Connection, run_id: int, status: str) -> None:
    if connection.scalar(select(Run.imported_from).where(Run.id == run_id)) is not None:
        raise ConflictError(f"run {run_id} was imported: its model cannot be asked")
    if status == RunStatus.CANCELLED:
        raise ConflictError(f"run {run_id} was cancelled and stays so: clone it instead")
    versions = select(Run.judge_version, Run.prompts_version, Run.protocol).where(Run.id == run_id)
    judge, prompts, protocol = connection.execute(versions).one()
    if judge != JUDGE_VERSION:
        raise ConflictError(f"run {run_id} is by judge {judge}, today's is {JUDGE_VERSION}: re-judge it first")
    if prompts != (today := PROMPTS_VERSIONS[protocol.prompts]):
        raise ConflictError(f"run {run_id} was asked by prompts {prompts}, today's are {today}: clone it")
    open_one = select(Rejudging.id).where(Rejudging.run_id == run_id, Rejudging.status == RejudgingStatus.OPEN)
    if connection.scalar(open_one.limit(1)) is not None:
        raise ConflictError(f"a re-judging of run {run_id} is open: apply or discard it first")


def _put_back(connection: Connection, run_id: int, failed: Sequence[int]) -> None:
    policy, kind = connection.execute(
        select(Run.protocol, ModelEndpoint.kind)
        .join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id)
        .where(Run.id == run_id)
    ).one()
    records: dict[int, list[AttemptRecord]] = defaultdict(list)
    rows = connection.execute(
        select(Attempt.trajectory_id, *RECORD_COLUMNS)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(Trajectory.run_id == run_id, Trajectory.outcome == TrajectoryOutcome.INFRASTRUCTURE)
        .order_by(Attempt.trajectory_id, Attempt.attempt_index)
    )
    for row in rows:
        records[row.trajectory_id].append(attempt_record(row))
    for trajectory_id in failed:
        decision = decide(records[trajectory_id], policy)
        if isinstance(decision, Stop):
            raise AssertionError(f"trajectory {trajectory_id} was cut short, but the rules say {decision}")
        due = due_now(Step.ASK if isinstance(decision, Ask) else Step.RUN, kind)
        set_trajectory(connection, trajectory_id, outcome=None, outcome_reason=None, failures=0, **due)


def _ended(connection: Connection, run_id: int) -> int:
    ended = select(func.count()).where(Trajectory.run_id == run_id, Trajectory.outcome.is_not(None))
    return connection.scalar(ended) or 0
