"""Giving the arms of a comparison the attempts that they share with their baseline.

Up to its first fresh start an arm would ask exactly what its baseline asked. Sharing those attempts takes luck before
the intervention out of the comparison, and costs nothing.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Row, and_, case, func, insert, literal, select, update
from sqlalchemy.orm import aliased

from app.db.models import Attempt, ModelEndpoint, Run, RunStatus, Trajectory, TrajectoryOutcome, Transcript
from app.db.session import Database
from app.domain.attempts import AttemptRecord
from app.domain.protocol.decide import Ask, Decision, Outcome, Stop, decide
from app.domain.protocol.policy import Protocol
from app.domain.work import Step
from app.services.score_jobs import share_scores
from app.services.steps.situation import RECORD_COLUMNS, attempt_record
from app.services.steps.transitions import due_now, end, set_trajectory

_baseline = aliased(Trajectory)
_ITS_BASELINE = and_(
    _baseline.run_id == Run.baseline_run_id,
    _baseline.problem_id == Trajectory.problem_id,
    _baseline.buggy_program_id.is_not_distinct_from(Trajectory.buggy_program_id),
    _baseline.sample == Trajectory.sample,
)
_WAITING = and_(Trajectory.step == Step.SHARE.value, Run.status == RunStatus.RUNNING.value)


def share_attempts(db: Database) -> int:
    """Let every arm's trajectory go on whose baseline has come to where the two part; of how many."""
    with db.query() as connection:
        if not connection.scalar(select(select(Trajectory.id).join(Run).where(_WAITING).exists())):
            return 0
        rows = connection.execute(
            select(
                Trajectory.id,
                Trajectory.run_id,
                _baseline.id.label("baseline"),
                _baseline.outcome,
                Run.protocol,
                ModelEndpoint.kind,
                *RECORD_COLUMNS,
            )
            .join(Run, Run.id == Trajectory.run_id)
            .join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id)
            .join(_baseline, _ITS_BASELINE)
            .outerjoin(Attempt, and_(Attempt.trajectory_id == _baseline.id, Attempt.verdict.is_not(None)))
            .where(_WAITING)
            .order_by(Trajectory.id, Attempt.attempt_index)
        ).all()
    shared = 0
    for _id, group in groupby(rows, key=lambda row: row.id):
        attempts = list(group)
        records = [attempt_record(row) for row in attempts if row.attempt_index is not None]
        parting = _parting(records, attempts[0].protocol, ended=attempts[0].outcome is not None)
        if parting is not None:
            with db.transaction() as connection:
                shared += _share(connection, attempts[0], *parting)
    return shared


def _parting(baseline: Sequence[AttemptRecord], policy: Protocol, *, ended: bool) -> tuple[int, Decision] | None:
    """How many attempts an arm has in common with its baseline, and what it does then.

    None while that lies ahead. Where the baseline was cut short before, the arm goes on by itself.
    """
    for shared in range(1, len(baseline) + 1):
        decision = decide(baseline[:shared], policy)
        if isinstance(decision, Stop) or (isinstance(decision, Ask) and decision.segment > 0):
            return shared, decision
    return (len(baseline), decide(baseline, policy)) if ended else None


def _share(connection: Connection, arm: Row[*tuple[Any, ...]], count: int, decision: Decision) -> bool:
    """Copy the attempts and set what comes next. False where another worker has done it."""
    held = select(Trajectory.id).where(Trajectory.id == arm.id, Trajectory.step == Step.SHARE.value)
    if connection.execute(held.with_for_update(skip_locked=True)).one_or_none() is None:
        return False
    copied = [
        column for column in Attempt.__table__.columns if column.name not in ("id", "trajectory_id", "shared_from")
    ]
    theirs = and_(Attempt.trajectory_id == arm.baseline, Attempt.attempt_index < count)
    connection.execute(
        insert(Attempt).from_select(
            [*(column.name for column in copied), "trajectory_id", "shared_from"],
            select(*copied, literal(arm.id), Attempt.id).where(theirs),
        )
    )
    own = aliased(Attempt)
    said = [column for column in Transcript.__table__.columns if column.name != "attempt_id"]
    connection.execute(
        insert(Transcript).from_select(
            [*(column.name for column in said), "attempt_id"],
            select(*said, own.id)
            .join(own, own.shared_from == Transcript.attempt_id)
            .where(own.trajectory_id == arm.id),
        )
    )
    share_scores(connection, arm.run_id, arm.id)
    tokens, unknown, cost = connection.execute(
        select(
            func.coalesce(func.sum(Attempt.prompt_tokens + Attempt.completion_tokens), 0),
            func.coalesce(func.sum(case((Attempt.cost.is_(None), 1), else_=0)), 0),
            func.coalesce(func.sum(Attempt.cost), 0.0),
        ).where(theirs)
    ).one()
    connection.execute(
        update(Run)
        .where(Run.id == arm.run_id)
        .values(
            tokens_shared=Run.tokens_shared + tokens,
            cost_shared=None if unknown else Run.cost_shared + cost,
            revision=Run.revision + 1,
        )
    )
    if isinstance(decision, Stop):
        solved_at = count - 1 if decision.outcome is Outcome.SOLVED else None
        outcome = TrajectoryOutcome(decision.outcome)
        end(connection, arm.id, arm.run_id, outcome, None, solved_at=solved_at, attempts_judged=count)
    else:
        set_trajectory(connection, arm.id, attempts_judged=count, **due_now(Step.ASK, arm.kind))
    return True
