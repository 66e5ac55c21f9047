"""Judging programs outside a run's steps: trials by hand, stored attempts under new rules, repairs to be scored."""

import logging
import threading
from dataclasses import asdict, replace
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import undefer

from app.db.models import Attempt, JobPurpose, JudgingJob, ProblemRow, Run, Trajectory, Transcript
from app.db.session import Database, persistently
from app.domain.errors import InputError, LeaseLost, NotFoundError, SandboxError, StorageError
from app.domain.programs import Program
from app.services.judge_program import CachedJudge, Judged
from app.services.judging_queue import (
    ANY_JOB_DUE,
    JobClaim,
    claim_job,
    due_jobs,
    finish,
    gone,
    held_job,
    lost,
    put_off,
)
from app.services.leases import HeldLeases
from app.services.score_jobs import put_off_score, score_job
from app.services.steps.situation import stored_problem

MAX_PROGRAM_BYTES = 256 * 1024
"""Size of a program tried by hand; those of the published sets have a few kilobytes."""

_SHORT = (JobPurpose.TRIAL, JobPurpose.REJUDGE)

log = logging.getLogger(__name__)


def submit_trial(db: Database, problem_set_id: int, problem_id: int, program: Program) -> int:
    """Queue a program for a problem, and return the job's id. The caller wakes the workers afterwards.

    Raises NotFoundError, InputError for an empty program or one above MAX_PROGRAM_BYTES.
    """
    size = sum(len(source.encode("utf-8", "surrogatepass")) for source in program.files.values())
    if not any(source.strip() for source in program.files.values()):
        raise InputError("program: there is nothing to judge")
    if size > MAX_PROGRAM_BYTES:
        raise InputError(f"program: {size:,} bytes are more than the {MAX_PROGRAM_BYTES:,} that can be tried here")
    with db.write() as session:
        row = session.get(ProblemRow, problem_id)
        if row is None or row.problem_set_id != problem_set_id:
            raise NotFoundError(f"problem set {problem_set_id} has no problem {problem_id}")
        now = datetime.now(UTC)
        job = JudgingJob(
            purpose=JobPurpose.TRIAL, problem_id=problem_id, program=dict(program.files), created_at=now, due_at=now
        )
        session.add(job)
        session.flush()
        return job.id


def judge_job(db: Database, claim: JobClaim, judge: CachedJudge) -> None:
    """Do a claimed job and store what came of it. No transaction is open meanwhile.

    A sandbox that fails puts the job off and, after MAX_TRIES, ends it with an error.
    Raises LeaseLost, StorageError.
    """
    try:
        if claim.purpose is JobPurpose.SCORE:
            score_job(db, claim, judge)
            return
        judged = _judge(db, claim, judge)
    except SandboxError as failure:
        _put_off(db, claim, f"the sandbox: {failure}", lasting=False)
        return
    except InputError as refusal:
        _put_off(db, claim, str(refusal), lasting=True)
        return
    persistently(lambda: _finish(db, claim, judged))


class JudgingJobs:
    """What an execute worker of so many slots does beside its steps. `perform_next` is called from several threads.

    A score may take minutes, so that at most all slots but one are scoring: no step of a run waits for scores alone.
    """

    any_due = ANY_JOB_DUE

    def __init__(self, db: Database, judge: CachedJudge, lease_seconds: float, *, slots: int = 1) -> None:
        self._db = db
        self._judge = judge
        self._lease_seconds = lease_seconds
        self.leases = HeldLeases(db, JudgingJob, lease_seconds)
        self._may_score = threading.Semaphore(max(1, slots - 1))

    def perform_next(self) -> bool:
        """Claim and do one due job; False where none is due. Raises StorageError."""
        claim = claim_job(self._db, self._lease_seconds, _SHORT)
        if claim is not None:
            return self._hold_and_perform(claim)
        if not self._may_score.acquire(blocking=False):
            return False
        try:
            claim = claim_job(self._db, self._lease_seconds, [JobPurpose.SCORE])
            return claim is not None and self._hold_and_perform(claim)
        finally:
            self._may_score.release()

    def _hold_and_perform(self, claim: JobClaim) -> bool:
        try:
            with self.leases.holding(claim.job_id, claim.lease_number):
                self._perform(claim)
        except LeaseLost:
            log.warning("lease lost", extra={"job": claim.job_id, "lease": claim.lease_number})
        return True

    def _perform(self, claim: JobClaim) -> None:
        try:
            judge_job(self._db, claim, self._judge)
        except (LeaseLost, StorageError):
            raise
        except Exception as error:
            # A fault of ours must not hold a job for ever, nor end the worker.
            log.exception("job failed", extra={"job": claim.job_id})
            _put_off(self._db, claim, f"internal error: {type(error).__name__}: {error}", lasting=False)

    def due(self) -> int:
        """How many jobs are due: what the sweep wakes workers for."""
        return due_jobs(self._db)


def _judge(db: Database, claim: JobClaim, judge: CachedJudge) -> Judged:
    with db.read() as session:
        job = session.scalar(
            select(JudgingJob)
            .where(JudgingJob.id == claim.job_id, JudgingJob.lease_number == claim.lease_number)
            .options(undefer(JudgingJob.program))
        )
        if job is None:
            raise lost(claim)
        files, run = job.program, None
        if job.attempt_id is not None:
            files, run = session.execute(
                select(Transcript.program, Run)
                .join(Attempt, Attempt.id == Transcript.attempt_id)
                .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
                .join(Run, Run.id == Trajectory.run_id)
                .where(Transcript.attempt_id == job.attempt_id)
            ).one()
    problem, tests_hash = stored_problem(db, job.problem_id)
    if run is not None:
        problem = replace(problem, limits=run.protocol.limits(problem.limits))
    return judge.judge(Program(files or {}), problem, tests_hash=tests_hash, cancelled=gone(db, claim))


def _finish(db: Database, claim: JobClaim, judged: Judged) -> None:
    with db.write() as session:
        job = held_job(session, claim)
        judgement = judged.judgement
        job.judgement = asdict(judgement)
        job.verdict = judgement.verdict
        job.visible_passed = judgement.visible_passed
        job.visible_total = judgement.visible_total
        finish(job)
        judged.keep(session)


def _put_off(db: Database, claim: JobClaim, reason: str, *, lasting: bool) -> None:
    if claim.purpose is JobPurpose.SCORE:
        put_off_score(db, claim, reason, lasting=lasting)
        return
    with db.write() as session:
        put_off(session, claim, reason, lasting=lasting)
