"""Scoring repairs that have no score, because the sandbox failed at it or nobody asked, or one by earlier rules."""

from datetime import UTC, datetime

from sqlalchemy import delete, select, update

from app.db.models import Attempt, BugScore, JobPurpose, JudgingJob, RepairScore, Run, RunMetrics, Trajectory
from app.db.session import Database
from app.domain.errors import ConflictError, NotFoundError
from app.domain.metrics.precision import SCORE_VERSION
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


def score_outdated_anew(db: Database) -> int:
    """Replace the scores of earlier versions of the rules by jobs for new ones; of how many runs.

    Workers of both versions may run side by side: a score of a later version stays.
    """
    outdated = (
        select(RepairScore.attempt_id)
        .join(Attempt, Attempt.id == RepairScore.attempt_id)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(RepairScore.score_version < SCORE_VERSION)
    )
    with db.query() as connection:
        run_ids = connection.scalars(outdated.with_only_columns(Trajectory.run_id).distinct()).all()
    for run_id in run_ids:
        ours = outdated.where(Trajectory.run_id == run_id)
        with db.transaction() as connection:
            connection.execute(select(Run.id).where(Run.id == run_id).with_for_update())
            queue_scores(connection, run_id, Attempt.id.in_(ours))
            connection.execute(delete(BugScore).where(BugScore.attempt_id.in_(ours)))
            connection.execute(delete(RepairScore).where(RepairScore.attempt_id.in_(ours)))
            connection.execute(delete(RunMetrics).where(RunMetrics.run_id == run_id))
    return len(run_ids)
