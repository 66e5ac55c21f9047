"""The step `run`: judge the stored program and commit the verdict. No transaction is open meanwhile."""

from dataclasses import asdict, fields
from datetime import UTC, datetime

from sqlalchemy import select

from app.db.models import Attempt, Run, RunStatus, Transcript
from app.db.session import Database, persistently
from app.domain.errors import SandboxError
from app.domain.programs import Program
from app.domain.protocol.feedback import feedback
from app.domain.verdicts import Judgement
from app.services.claim import Claim, fenced
from app.services.judge_program import CachedJudge
from app.services.steps.failure import put_off_failed
from app.services.steps.situation import read_situation
from app.services.steps.transitions import Wakes, proceed

_TEXTS = {"first_failure", "stdout", "stderr"}
_KEPT = [field.name for field in fields(Judgement) if field.name not in _TEXTS]
"""Columns of Attempt that have the name of a field of Judgement; the texts go to the transcript."""


def run(db: Database, claim: Claim, judge: CachedJudge) -> Wakes:
    """Judge the program of the last attempt and store the verdict.

    A sandbox that fails puts the step off and, after MAX_TRIES, censors the trajectory; neither raises.
    Raises LeaseLost, StorageError.
    """
    situation = read_situation(db, claim)
    attempt, transcript = situation.attempts[-1], situation.transcripts[-1]
    program = Program(transcript.program or {})
    try:
        judged = judge.judge(
            program,
            situation.problem,
            tests_hash=situation.tests_hash,
            cancelled=lambda: _cancelled(db, claim.run_id),
        )
    except SandboxError as failure:
        return put_off_failed(db, claim, f"the sandbox: {failure}", sandbox=True)

    def commit() -> Wakes:
        with db.write() as session:
            trajectory, run_row = fenced(session, claim)
            session.add_all((attempt, transcript))
            store_judgement(attempt, transcript, judged.judgement)
            judged.keep(session)
            transcript.feedback = feedback(judged.judgement, situation.policy.disclosure)
            return proceed(session, trajectory, run_row, situation.attempts, situation)

    return persistently(commit)


def store_judgement(attempt: Attempt, transcript: Transcript, judgement: Judgement) -> None:
    """Copy a judgement onto the rows that keep it."""
    attempt.judged_at = datetime.now(UTC)
    for name in _KEPT:
        setattr(attempt, name, getattr(judgement, name))
    transcript.first_failure = None if judgement.first_failure is None else asdict(judgement.first_failure)
    transcript.stdout = judgement.stdout
    transcript.stderr = judgement.stderr


def _cancelled(db: Database, run_id: int) -> bool:
    with db.read() as session:
        return session.scalar(select(Run.status).where(Run.id == run_id)) == RunStatus.CANCELLED
