"""Scoring a run's repairs that have no score: the sandbox failed at it, or it was never asked for."""

from datetime import UTC, datetime

from sqlalchemy import delete, select, update

from app.db.models import Attempt, JobPurpose, JudgingJob, RepairScore, Run, RunMetrics, Trajectory
from app.db.session import Database
from app.domain.errors import ConflictError, NotFoundError
from app.domain.protocol.policy import Start
from app.services.score_jobs import count_waiting, queue_scores


def retry_scores(db: Database, run_id: int) -> int:
    """Queue every judged repair of a run that neither has a score nor waits for one; how many. Asks no model.

    The caller wakes the workers afterwards.

    Raises NotFoundError, and ConflictError where the run does not start from buggy programs, or misses no score.
    """
    with db.transaction() as connection:
        protocol = connection.scalar(select(Run.protocol).where(Run.id == run_id).with_for_update())
        if protocol is None:
            raise NotFoundError(f"there is no run {run_id}")
        if protocol.start is not Start.DEBUG:
            raise ConflictError(f"run {run_id} does not start from buggy programs: it has no repairs to score")
        ours = (
            select(Attempt.id)
            .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
            .where(Trajectory.run_id == run_id)
        )
        scores = JudgingJob.purpose == JobPurpose.SCORE.value
        failed = connection.execute(
            update(JudgingJob)
            .where(scores, JudgingJob.error.is_not(None), JudgingJob.attempt_id.in_(ours))
            .values(error=None, failures=0, finished_at=None, due_at=datetime.now(UTC))
        ).rowcount
        count_waiting(connection, run_id, failed)
        scored = select(RepairScore.attempt_id).where(RepairScore.attempt_id == Attempt.id).exists()
        queued = select(JudgingJob.id).where(scores, JudgingJob.attempt_id == Attempt.id).exists()
        missing = failed + queue_scores(connection, run_id, ~scored & ~queued)
        if not missing:
            raise ConflictError(f"run {run_id} misses no score")
        connection.execute(delete(RunMetrics).where(RunMetrics.run_id == run_id))
        return missing
