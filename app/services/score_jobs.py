"""Scoring the repairs of runs: queued with each verdict, done by execute workers, never waited for by a trajectory."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Connection, Insert, bindparam, delete, insert, literal, select, update
from sqlalchemy.orm import Session

from app.db.base import UtcDateTime
from app.db.models import (
    Attempt,
    BugScore,
    JobPurpose,
    JudgingJob,
    RepairScore,
    Run,
    Trajectory,
    Transcript,
)
from app.db.session import Database, persistently
from app.domain.metrics.precision import SCORE_VERSION, score_repair
from app.domain.problems import BuggyProgram, Problem
from app.domain.programs import Program
from app.domain.protocol.edit_replies import Obstacle
from app.domain.verdicts import Verdict
from app.services.judge_program import CachedJudge
from app.services.judging_queue import JobClaim, gone, held_job, lost, put_off
from app.services.score_attempt import ScoredRepair, score_attempt
from app.services.steps.situation import stored_buggy_program, stored_problem

log = logging.getLogger(__name__)

_AT_A_TIME = 500
"""Attempts named in one statement."""
_SCORED = (JobPurpose.SCORE.value, 0, 0)
_COLUMNS = ("purpose", "lease_number", "failures", "created_at", "due_at", "problem_id", "attempt_id")


def _queued(which: ColumnElement[bool]) -> Insert:
    """Jobs for the attempts that have a verdict and start from a buggy program."""
    now = bindparam("now", type_=UtcDateTime())
    attempts = (
        select(*(literal(value) for value in _SCORED), now, now, Trajectory.problem_id, Attempt.id)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(Trajectory.buggy_program_id.is_not(None), Attempt.verdict.is_not(None), which)
    )
    return insert(JudgingJob).from_select(_COLUMNS, attempts).execution_options(preserve_rowcount=True)


# Made once: building a statement anew takes longer than running it.
_QUEUE_ONE = _queued(Attempt.id == bindparam("attempt"))
_COUNT = (
    update(Run)
    .where(Run.id == bindparam("of"))
    .values(scores_waiting=Run.scores_waiting + bindparam("more"), revision=Run.revision + 1)
)


def queue_score(connection: Connection, run_id: int, attempt_id: int) -> None:
    """Queue the score of a repair, in the transaction that stores its verdict. The run is locked from then on."""
    connection.execute(_QUEUE_ONE, {"attempt": attempt_id, "now": datetime.now(UTC)})
    count_waiting(connection, run_id, 1)


def queue_scores(connection: Connection, run_id: int, which: ColumnElement[bool]) -> int:
    """Queue the scores of a run's attempts that have verdicts, where it starts from buggy programs; how many.

    None of them may have a job. The caller holds the run's lock.
    """
    ours = (Trajectory.run_id == run_id) & which
    queued = connection.execute(_queued(ours), {"now": datetime.now(UTC)}).rowcount
    count_waiting(connection, run_id, queued)
    return queued


def count_waiting(connection: Connection, run_id: int, more: int) -> None:
    """Count so many more scores, or fewer, that a run waits for. The run is locked from then on."""
    if more:
        connection.execute(_COUNT, {"of": run_id, "more": more})


def drop_scores(connection: Connection, run_id: int, attempts: Sequence[int]) -> None:
    """Forget the scores of attempts and what is queued for them. The caller holds the run's lock.

    A score under way is stopped; it can store nothing any more.
    """
    scores = JudgingJob.purpose == JobPurpose.SCORE.value
    for at in range(0, len(attempts), _AT_A_TIME):
        some = attempts[at : at + _AT_A_TIME]
        queued = scores & JudgingJob.attempt_id.in_(some)
        waiting = connection.execute(delete(JudgingJob).where(queued, JudgingJob.finished_at.is_(None))).rowcount
        connection.execute(delete(JudgingJob).where(queued))
        connection.execute(delete(BugScore).where(BugScore.attempt_id.in_(some)))
        connection.execute(delete(RepairScore).where(RepairScore.attempt_id.in_(some)))
        count_waiting(connection, run_id, -waiting)


def share_scores(connection: Connection, run_id: int, trajectory_id: int) -> None:
    """Give attempts that are copies the scores of what they are copies of; queue those that are still to come."""
    ours = Attempt.trajectory_id == trajectory_id
    theirs = Attempt.shared_from
    scores = [column for column in RepairScore.__table__.columns if column.name != "attempt_id"]
    connection.execute(
        insert(RepairScore).from_select(
            ["attempt_id", *(column.name for column in scores)],
            select(Attempt.id, *scores).join(Attempt, theirs == RepairScore.attempt_id).where(ours),
        )
    )
    bugs = [column for column in BugScore.__table__.columns if column.name != "attempt_id"]
    connection.execute(
        insert(BugScore).from_select(
            ["attempt_id", *(column.name for column in bugs)],
            # Of scores copied above alone: another may have been stored meanwhile.
            select(Attempt.id, *bugs)
            .join(Attempt, theirs == BugScore.attempt_id)
            .join(RepairScore, RepairScore.attempt_id == Attempt.id)
            .where(ours),
        )
    )
    scored = select(RepairScore.attempt_id).where(RepairScore.attempt_id == Attempt.id).exists()
    queue_scores(connection, run_id, ours & ~scored)


def score_job(db: Database, claim: JobClaim, judge: CachedJudge) -> None:
    """Score the repair of a claimed job, and store the score in place of the job. No transaction is open meanwhile.

    What was judged of it is kept as it goes, so that whoever begins anew after a crash finds most of it.
    Raises LeaseLost, StorageError, SandboxError where a program could not be judged.
    """
    repair = _read(db, claim)
    buggy = repair.buggy
    if repair.program is None:
        score = score_repair(buggy.program, buggy.truth, buggy.program, _none_passes, epsilon=buggy.tolerance)
        scored = ScoredRepair(score, programs=0, cached=0, near_limit=0, weak=False, cpu_seconds=0.0)
    else:
        scored = score_attempt(
            db,
            judge,
            repair.problem,
            repair.tests_hash,
            buggy,
            repair.program,
            slots=1,  # the worker's other slots score other repairs
            accepted=repair.accepted,
            cancelled=gone(db, claim),
        )
    persistently(lambda: _store(db, claim, repair, scored))
    log.info(
        "scored",
        extra={"run": repair.run_id, "attempt_id": repair.attempt_id, "programs": scored.programs},
    )


def put_off_score(db: Database, claim: JobClaim, reason: str, *, lasting: bool) -> None:
    """As `put_off`; a score that is given up is waited for no more. Raises LeaseLost, StorageError."""
    with db.write() as session:
        run_id = _locked_run(session, claim)
        if put_off(session, claim, reason, lasting=lasting):
            count_waiting(session.connection(), run_id, -1)


@dataclass(frozen=True, slots=True)
class _Repair:
    run_id: int
    attempt_id: int
    problem: Problem
    tests_hash: str
    buggy: BuggyProgram
    program: Program | None
    accepted: bool
    obstacle: str | None


def _read(db: Database, claim: JobClaim) -> _Repair:
    query = (
        select(
            Trajectory.run_id,
            Attempt.id,
            Attempt.verdict,
            Attempt.reason,
            Trajectory.problem_id,
            Trajectory.buggy_program_id,
            Transcript.program,
            Run.protocol,
        )
        .select_from(JudgingJob)
        .join(Attempt, Attempt.id == JudgingJob.attempt_id)
        .join(Transcript, Transcript.attempt_id == Attempt.id)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .join(Run, Run.id == Trajectory.run_id)
        .where(JudgingJob.id == claim.job_id, JudgingJob.lease_number == claim.lease_number)
    )
    with db.query() as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        raise lost(claim)
    problem, tests_hash = stored_problem(db, row.problem_id)
    return _Repair(
        run_id=row.run_id,
        attempt_id=row.id,
        problem=replace(problem, limits=row.protocol.limits(problem.limits)),
        tests_hash=tests_hash,
        buggy=stored_buggy_program(db, row.buggy_program_id),
        program=None if row.program is None else Program(row.program),
        accepted=row.verdict == Verdict.AC,
        obstacle=None if row.program is not None else row.reason or Obstacle.NO_CODE.value,
    )


def _none_passes(programs: Sequence[Program]) -> list[bool]:
    return [False] * len(programs)


def _store(db: Database, claim: JobClaim, repair: _Repair, scored: ScoredRepair) -> None:
    score = scored.score
    with db.write() as session:
        run_id = _locked_run(session, claim)
        session.delete(held_job(session, claim))
        session.add(
            RepairScore(
                attempt_id=repair.attempt_id,
                epsilon=score.epsilon,
                precision=score.precision,
                recall=score.recall,
                f1=score.f1,
                unit_pass=score.unit_pass,
                edits=score.edits,
                obstacle=repair.obstacle,
                blocks=[asdict(block) for block in score.blocks],
                programs=scored.programs,
                cached=scored.cached,
                near_limit=scored.near_limit,
                weak=scored.weak,
                scored_at=datetime.now(UTC),
                score_version=SCORE_VERSION,
            )
        )
        session.flush()
        session.add_all(
            BugScore(attempt_id=repair.attempt_id, bug_index=index, **asdict(bug))
            for index, bug in enumerate(score.bugs)
        )
        count_waiting(session.connection(), run_id, -1)


def _locked_run(session: Session, claim: JobClaim) -> int:
    """The id of the job's run, locked before the job is: whoever drops a run's jobs takes them in this order too.

    Raises LeaseLost where the job is gone.
    """
    run_id = session.scalar(
        select(Run.id)
        .join(Trajectory, Trajectory.run_id == Run.id)
        .join(Attempt, Attempt.trajectory_id == Trajectory.id)
        .join(JudgingJob, JudgingJob.attempt_id == Attempt.id)
        .where(JudgingJob.id == claim.job_id)
        .with_for_update(of=Run)
    )
    if run_id is None:
        raise lost(claim)
    return run_id
