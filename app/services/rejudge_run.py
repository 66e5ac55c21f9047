"""Judging the stored programs of a run again, and letting a person decide whether the new verdicts replace the old.

The recorded attempts stay what they are; no model is asked. New verdicts can move the end of a trajectory:

- It counts up to the first attempt at which its protocol stops by the new verdicts. Judged attempts behind that
  are surplus: stored, shown, and outside every figure.
- Where its last attempt no longer ends it, attempts are missing. It is censored there as `ended_early`.
- Attempts in between followed feedback on the old verdict. They count, and the run's page says how many they are.
"""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session, undefer

from app.db.base import Base
from app.db.models import (
    Attempt,
    JobPurpose,
    JudgingJob,
    Rejudging,
    RejudgingStatus,
    Run,
    SupersededJudgement,
    Trajectory,
    Transcript,
)
from app.db.queries.rejudging import VISIBLE_COLUMNS, planned_endings, rejudgings_of, stops_on_recorded
from app.db.session import Database
from app.domain.errors import ConflictError, NotFoundError
from app.domain.verdicts import Judgement
from app.judge.judge import JUDGE_VERSION
from app.services.judge_program import restore
from app.services.score_jobs import drop_scores, queue_scores
from app.services.steps.run import JUDGEMENT_COLUMNS, JUDGEMENT_TEXTS

_AT_A_TIME = 200
"""Attempts whose texts are in memory at once."""


def start_rejudging(db: Database, run_id: int) -> int:
    """Queue every judged program of a run that has ended, and return the id of the re-judging.

    One that is open already is returned as it is, or discarded where the rules have changed since. The caller wakes
    the workers afterwards. Raises NotFoundError, ConflictError where the run has not ended or holds no program.
    """
    with db.write() as session:
        run = _locked_run(session, run_id)
        if run.trajectories_ended < run.trajectories_total:
            raise ConflictError(
                f"run {run_id} has not ended: wait for its end, or cancel it, before it is judged again"
            )
        found = next((r for r in rejudgings_of(session, run_id) if r.status == RejudgingStatus.OPEN), None)
        if found is not None and found.judge_version == JUDGE_VERSION:
            return found.id
        if found is not None:
            _close(session, found, RejudgingStatus.DISCARDED)
        attempts = session.execute(
            select(Attempt.id, Trajectory.problem_id)
            .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
            .where(Trajectory.run_id == run_id, Attempt.verdict.is_not(None), Attempt.syntax_hash.is_not(None))
            .order_by(Trajectory.position, Attempt.attempt_index)
        ).all()
        if not attempts:
            raise ConflictError(f"run {run_id} holds no judged program")
        now = datetime.now(UTC)
        row = Rejudging(run_id=run_id, judge_version=JUDGE_VERSION, status=RejudgingStatus.OPEN, created_at=now)
        session.add(row)
        session.flush()
        common = {"purpose": JobPurpose.REJUDGE, "rejudging_id": row.id, "created_at": now, "due_at": now}
        session.execute(
            insert(JudgingJob),
            [{"attempt_id": attempt, "problem_id": problem, **common} for attempt, problem in attempts],
        )
        return row.id


def apply_rejudging(db: Database, run_id: int, rejudging_id: int) -> None:
    """Replace the verdicts of a run by those of its re-judging, all or none; the old ones are kept beside them.

    Raises NotFoundError, ConflictError where it is not open, not finished, incomplete, or by other rules than today's.
    """
    with db.write() as session:
        run = _locked_run(session, run_id)
        row = _open(session, run_id, rejudging_id)
        unfinished, failed = (
            session.scalar(select(JudgingJob.id).where(JudgingJob.rejudging_id == rejudging_id, condition).limit(1))
            is not None
            for condition in (JudgingJob.finished_at.is_(None), JudgingJob.error.is_not(None))
        )
        if unfinished:
            raise ConflictError(f"re-judging {rejudging_id} is still under way")
        if failed:
            raise ConflictError(f"re-judging {rejudging_id} is incomplete: discard it and judge the run again")
        if row.judge_version != JUDGE_VERSION:
            raise ConflictError(f"re-judging {rejudging_id} is by judge {row.judge_version}; judge the run again")
        plans = planned_endings(session, run, rejudging_id)
        _replace_verdicts(session, row, keeps_shown=stops_on_recorded(run.imported_from, run.protocol))
        _score_anew(session, row)
        row.replaced = [
            {"trajectory_id": plan.trajectory_id, **asdict(plan.before)} for plan in plans if plan.before != plan.after
        ]
        for plan in plans:
            if plan.before != plan.after:
                session.execute(
                    update(Trajectory).where(Trajectory.id == plan.trajectory_id).values(**asdict(plan.after))
                )
        run.judge_version = row.judge_version
        run.trajectories_solved += sum(
            (plan.after.solved_at is not None) - (plan.before.solved_at is not None) for plan in plans
        )
        _close(session, row, RejudgingStatus.APPLIED)


def discard_rejudging(db: Database, run_id: int, rejudging_id: int) -> None:
    """Drop the new verdicts; programs being judged are stopped.

    Raises NotFoundError, ConflictError where it is not open.
    """
    with db.write() as session:
        _locked_run(session, run_id)
        _close(session, _open(session, run_id, rejudging_id), RejudgingStatus.DISCARDED)


def _replace_verdicts(session: Session, row: Rejudging, *, keeps_shown: bool) -> None:
    last = 0
    while True:
        found = session.execute(
            select(JudgingJob, Attempt, Transcript)
            .join(Attempt, Attempt.id == JudgingJob.attempt_id)
            .join(Transcript, Transcript.attempt_id == Attempt.id)
            .where(JudgingJob.rejudging_id == row.id, JudgingJob.id > last)
            .order_by(JudgingJob.id)
            .limit(_AT_A_TIME)
            .options(undefer(JudgingJob.judgement))
        ).all()
        if not found:
            return
        written: list[Base] = []
        for job, attempt, transcript in found:
            document = job.judgement or {}  # every job of it finished, none with an error
            judgement = restore(document)
            if judgement.judge_version != row.judge_version:
                raise ConflictError(
                    f"a worker judged by judge {judgement.judge_version} instead of {row.judge_version}: restart the"
                    " workers, discard this re-judging and judge the run again"
                )
            superseded = _superseded(row, attempt, transcript, judgement)
            session.add(superseded)
            written += [job, attempt, transcript, superseded]
            kept = VISIBLE_COLUMNS if keeps_shown and attempt.visible_total is not None else ()
            for name in JUDGEMENT_COLUMNS:
                if name not in kept:
                    setattr(attempt, name, getattr(judgement, name))
            attempt.judged_at = job.finished_at
            # The feedback stays: it is what the model was told.
            for name in JUDGEMENT_TEXTS:
                setattr(transcript, name, document[name])
            last = job.id
        session.flush()
        for one in written:
            session.expunge(one)


def _score_anew(session: Session, row: Rejudging) -> None:
    """Scores rest on the verdicts that were replaced, and on others by the same rules."""
    jobs = select(JudgingJob.attempt_id).where(JudgingJob.rejudging_id == row.id)
    attempts = [attempt_id for attempt_id in session.scalars(jobs) if attempt_id is not None]
    drop_scores(session.connection(), row.run_id, attempts)
    queue_scores(session.connection(), row.run_id, Attempt.id.in_(jobs))


def _superseded(row: Rejudging, attempt: Attempt, transcript: Transcript, by: Judgement) -> SupersededJudgement:
    old: dict[str, Any] = {name: getattr(attempt, name) for name in JUDGEMENT_COLUMNS}
    old |= {name: getattr(transcript, name) for name in JUDGEMENT_TEXTS}
    return SupersededJudgement(
        rejudging_id=row.id,
        attempt_id=attempt.id,
        judge_version=attempt.judge_version,
        verdict=attempt.verdict,
        replaced_by=by.verdict,
        judged_at=attempt.judged_at,
        judgement=old,
    )


def _close(session: Session, row: Rejudging, status: RejudgingStatus) -> None:
    row.status = status
    row.closed_at = datetime.now(UTC)
    session.execute(delete(JudgingJob).where(JudgingJob.rejudging_id == row.id))


def _open(session: Session, run_id: int, rejudging_id: int) -> Rejudging:
    row = session.get(Rejudging, rejudging_id)
    if row is None or row.run_id != run_id:
        raise NotFoundError(f"run {run_id} has no re-judging {rejudging_id}")
    if row.status != RejudgingStatus.OPEN:
        raise ConflictError(f"re-judging {rejudging_id} was {row.status} already")
    return row


def _locked_run(session: Session, run_id: int) -> Run:
    run = session.scalar(select(Run).where(Run.id == run_id).with_for_update())
    if run is None:
        raise NotFoundError(f"there is no run {run_id}")
    return run
