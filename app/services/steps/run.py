"""The step `run`: judge the stored program and commit the verdict. No transaction is open meanwhile."""

import logging
import time
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, select, update

from app.db.models import Attempt, Run, RunStatus, Transcript
from app.db.session import Database, persistently
from app.domain.errors import SandboxError
from app.domain.programs import Program
from app.domain.protocol.feedback import feedback
from app.domain.verdicts import Judgement
from app.services.claim import Claim, fenced
from app.services.judge_program import CachedJudge
from app.services.score_jobs import queue_score
from app.services.steps.failure import put_off_failed
from app.services.steps.situation import read_situation
from app.services.steps.transitions import Wakes, proceed, set_run

log = logging.getLogger(__name__)

JUDGEMENT_TEXTS = ("first_failure", "stdout", "stderr")
JUDGEMENT_COLUMNS = [field.name for field in fields(Judgement) if field.name not in JUDGEMENT_TEXTS]
"""Columns of Attempt that have the name of a field of Judgement; the texts go to the transcript."""

# Made once: building a statement anew takes longer than running it. They set the columns they are given.
_SET_ATTEMPT = update(Attempt).where(Attempt.id == bindparam("of"))
_SET_TRANSCRIPT = update(Transcript).where(Transcript.attempt_id == bindparam("of"))
_STATUS = select(Run.status).where(Run.id == bindparam("run"))

_LOOK_SECONDS = 0.05
"""How often a waiting execution looks whether its run was cancelled."""


def run(db: Database, claim: Claim, judge: CachedJudge) -> Wakes:
    """Judge the program of the last attempt and store the verdict.

    A sandbox that fails puts the step off and, after MAX_TRIES, censors the trajectory; neither raises.
    Raises LeaseLost, StorageError.
    """
    situation = read_situation(db, claim)
    attempt = situation.attempts[-1]
    program = attempt.program or Program({})
    try:
        judged = judge.judge(
            program,
            situation.problem,
            tests_hash=situation.tests_hash,
            cancelled=_cancelled(db, claim.run_id),
        )
    except SandboxError as failure:
        return put_off_failed(db, claim, f"the sandbox: {failure}", sandbox=True)

    judgement = judged.judgement
    told = feedback(judgement, situation.policy)
    record = replace(
        attempt.record,
        verdict=judgement.verdict,
        visible_passed=judgement.visible_passed,
        visible_total=judgement.visible_total,
    )

    def commit() -> Wakes:
        with db.transaction() as connection:
            held = fenced(connection, claim)
            store_judgement(connection, attempt.id, judgement, told)
            judged.keep(connection)
            set_run(connection, held.run_id)
            wakes = proceed(connection, held, [*situation.records[:-1], record], situation)
            if situation.start is not None:
                queue_score(connection, held.run_id, attempt.id)
            return wakes

    wakes = persistently(commit)
    log.info(
        "judged",
        extra={
            "run": claim.run_id,
            "trajectory": claim.trajectory_id,
            "attempt": attempt.record.index,
            "verdict": judgement.verdict.value,
        },
    )
    return wakes


def store_judgement(connection: Connection, attempt_id: int, judgement: Judgement, told: str | None) -> None:
    """Write a judgement, and what the model is told of it, onto the rows that keep it."""
    failure = judgement.first_failure
    kept = {name: getattr(judgement, name) for name in JUDGEMENT_COLUMNS}
    texts = {
        "feedback": told,
        "first_failure": None if failure is None else asdict(failure),
        "stdout": judgement.stdout,
        "stderr": judgement.stderr,
    }
    connection.execute(_SET_ATTEMPT, {"of": attempt_id, "judged_at": datetime.now(UTC), **kept})
    connection.execute(_SET_TRANSCRIPT, {"of": attempt_id, **texts})


def _cancelled(db: Database, run_id: int) -> Callable[[], bool]:
    """Whether the run was cancelled, as of the last fraction of a second: the sandbox asks again and again."""
    look_at = time.monotonic() + _LOOK_SECONDS  # the claim has just seen it running
    answer = False

    def cancelled() -> bool:
        nonlocal look_at, answer
        if time.monotonic() >= look_at:
            with db.query() as connection:
                answer = connection.scalar(_STATUS, {"run": run_id}) == RunStatus.CANCELLED
            look_at = time.monotonic() + _LOOK_SECONDS
        return answer

    return cancelled
