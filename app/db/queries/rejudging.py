"""Re-judgings of a run: how far one is, what it would change, and what those before it changed."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, case, func, or_, select
from sqlalchemy.orm import Session

from app.db.models import (
    Attempt,
    BuggyProgramRow,
    JudgingJob,
    ProblemRow,
    Rejudging,
    RejudgingStatus,
    Run,
    SupersededJudgement,
    Trajectory,
    TrajectoryOutcome,
)
from app.db.queries.decay_counts import DecayCounts, TrajectoryGroup, count_groups
from app.db.queries.labels import trajectory_label
from app.domain.attempts import AttemptRecord
from app.domain.errors import NotFoundError
from app.domain.protocol.policy import Protocol, StopOn
from app.domain.protocol.replay import replay
from app.domain.verdicts import Verdict

CENSORED = frozenset(
    {
        TrajectoryOutcome.BUDGET,
        TrajectoryOutcome.CANCELLED,
        TrajectoryOutcome.INFRASTRUCTURE,
        TrajectoryOutcome.ENDED_EARLY,
    }
)
"""Outcomes that stay what they are where the new verdicts end the trajectory nowhere else."""

VISIBLE_COLUMNS = ("visible_passed", "visible_total")

TAKEN_BACK = "a re-judging took back the verdict that it ended on"


@dataclass(frozen=True, slots=True)
class Change:
    """An attempt whose verdict is, or was, replaced by another. `old` and `new` are verdicts."""

    trajectory_id: int
    label: str
    attempt_index: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class State:
    """Where a trajectory stands: its end, and how many of its attempts count."""

    outcome: str | None
    outcome_reason: str | None
    solved_at: int | None
    attempts_judged: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One trajectory before and after. `judged` attempts of it are stored."""

    trajectory_id: int
    judged: int
    before: State
    after: State


@dataclass(frozen=True, slots=True)
class Effect:
    """The run's counts before and after. `surplus` attempts lie behind a trajectory's new end and no longer count."""

    before: DecayCounts
    after: DecayCounts
    surplus: int


@dataclass(frozen=True, slots=True)
class RejudgingView:
    """A re-judging. `programs` to judge, of which `finished` are done and `failed` could not be judged at all.

    `changes` and `matrix` (verdict → verdict, every judged program counted) are there once all are judged;
    `effect` as long as it is open.
    """

    id: int
    run_id: int
    judge_version: int
    status: str
    created_at: datetime
    closed_at: datetime | None
    programs: int
    finished: int
    failed: int
    waiting_for: str | None
    error: str | None
    changes: tuple[Change, ...]
    matrix: dict[tuple[str, str], int]
    effect: Effect | None

    @property
    def judging(self) -> bool:
        """Whether programs still wait for their verdicts."""
        return self.status == RejudgingStatus.OPEN and self.finished < self.programs

    @property
    def appliable(self) -> bool:
        """Whether every program has its new verdict, and a person may decide."""
        return self.status == RejudgingStatus.OPEN and self.finished == self.programs and self.failed == 0


def rejudging_view(session: Session, run_id: int, rejudging_id: int) -> RejudgingView:
    """A re-judging of a run.

    Raises NotFoundError.
    """
    row = session.get(Rejudging, rejudging_id)
    run = session.get(Run, run_id)
    if row is None or run is None or row.run_id != run_id:
        raise NotFoundError(f"run {run_id} has no re-judging {rejudging_id}")
    matrix: Counter[tuple[str, str]] = Counter()
    changes: tuple[Change, ...] = ()
    effect = None
    programs, finished, failed, waiting_for, error = session.execute(
        select(
            func.count(),
            func.count(JudgingJob.finished_at),
            func.count(JudgingJob.error),
            func.max(JudgingJob.waiting_for),
            func.max(JudgingJob.error),
        ).where(JudgingJob.rejudging_id == rejudging_id)
    ).one()
    if row.status == RejudgingStatus.OPEN and finished == programs:
        matrix, changes = _planned_verdicts(session, rejudging_id)
        if not failed:
            effect = _effect(run.protocol, planned_endings(session, run, rejudging_id))
    elif row.status == RejudgingStatus.APPLIED:
        matrix, changes = _replaced_verdicts(session, rejudging_id)
        programs = finished = sum(matrix.values())
    return RejudgingView(
        id=row.id,
        run_id=run_id,
        judge_version=row.judge_version,
        status=row.status,
        created_at=row.created_at,
        closed_at=row.closed_at,
        programs=programs,
        finished=finished,
        failed=failed,
        waiting_for=waiting_for,
        error=error,
        changes=changes,
        matrix=dict(matrix),
        effect=effect,
    )


def stops_on_recorded(imported_from: str | None, policy: Protocol) -> bool:
    """Whether visible cases stay as they were recorded, whoever judges again.

    The trajectories of such a run stopped on the tests that its model was shown, which need not be those of our set.
    """
    return imported_from is not None and policy.stop_on is StopOn.VISIBLE


def rejudgings_of(session: Session, run_id: int) -> list[Rejudging]:
    """The re-judgings of a run that are open or were applied, newest first."""
    query = select(Rejudging).where(Rejudging.run_id == run_id, Rejudging.status != RejudgingStatus.DISCARDED)
    return list(session.scalars(query.order_by(Rejudging.id.desc())))


def planned_endings(session: Session, run: Run, rejudging_id: int) -> list[Plan]:
    """Every trajectory of a run with a judged attempt, by its stored verdicts and by those of a re-judging."""
    as_stored: ColumnElement[bool] = JudgingJob.id.is_(None)
    if stops_on_recorded(run.imported_from, run.protocol):
        as_stored = or_(as_stored, Attempt.visible_total.is_not(None))
    rows = session.execute(
        select(
            Trajectory.id,
            Trajectory.outcome,
            Trajectory.outcome_reason,
            Trajectory.solved_at,
            Trajectory.attempts_judged,
            Attempt.attempt_index,
            Attempt.segment,
            func.coalesce(JudgingJob.verdict, Attempt.verdict).label("verdict"),
            case((as_stored, Attempt.visible_passed), else_=JudgingJob.visible_passed).label("passed"),
            case((as_stored, Attempt.visible_total), else_=JudgingJob.visible_total).label("total"),
        )
        .join(Attempt, Attempt.trajectory_id == Trajectory.id)
        .outerjoin(JudgingJob, (JudgingJob.attempt_id == Attempt.id) & (JudgingJob.rejudging_id == rejudging_id))
        .where(Trajectory.run_id == run.id, Attempt.verdict.is_not(None))
        .order_by(Trajectory.id, Attempt.attempt_index)
    )
    plans = []
    for trajectory_id, group in groupby(rows, key=lambda row: row.id):
        attempts = list(group)
        first = attempts[0]
        before = State(first.outcome, first.outcome_reason, first.solved_at, first.attempts_judged)
        judged = [
            AttemptRecord(a.attempt_index, a.segment, Verdict(a.verdict), a.passed or 0, a.total or 0) for a in attempts
        ]
        plans.append(Plan(trajectory_id, len(judged), before, _state_after(before, judged, run.protocol)))
    return plans


def _state_after(before: State, judged: list[AttemptRecord], policy: Protocol) -> State:
    ending = replay(judged, policy)
    if ending.outcome is not None:
        reason = before.outcome_reason if before.outcome == ending.outcome else None
        return State(TrajectoryOutcome(ending.outcome), reason, ending.solved_at, ending.counted)
    if before.outcome in CENSORED:
        return State(before.outcome, before.outcome_reason, None, ending.counted)
    return State(TrajectoryOutcome.ENDED_EARLY, TAKEN_BACK, None, ending.counted)


def _effect(policy: Protocol, plans: list[Plan]) -> Effect:
    def counts(states: Iterable[State]) -> DecayCounts:
        # Trajectories without a verdict are outside both, and a re-judging does not touch them.
        groups = (TrajectoryGroup(s.outcome, s.solved_at, s.attempts_judged, 1) for s in states)
        return count_groups(groups, policy.attempts)

    return Effect(
        before=counts(plan.before for plan in plans),
        after=counts(plan.after for plan in plans),
        surplus=sum(plan.judged - plan.after.attempts_judged for plan in plans),
    )


def _planned_verdicts(session: Session, rejudging_id: int) -> tuple[Counter[tuple[str, str]], tuple[Change, ...]]:
    rows = session.execute(
        select(
            Trajectory.id,
            ProblemRow.key,
            BuggyProgramRow.key,
            Attempt.attempt_index,
            Attempt.verdict,
            JudgingJob.verdict,
        )
        .select_from(JudgingJob)
        .join(Attempt, Attempt.id == JudgingJob.attempt_id)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .outerjoin(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
        .where(JudgingJob.rejudging_id == rejudging_id, JudgingJob.verdict.is_not(None))
        .order_by(Trajectory.position, Attempt.attempt_index)
    )
    return _sorted_changes(rows)


def _replaced_verdicts(session: Session, rejudging_id: int) -> tuple[Counter[tuple[str, str]], tuple[Change, ...]]:
    rows = session.execute(
        select(
            Trajectory.id,
            ProblemRow.key,
            BuggyProgramRow.key,
            Attempt.attempt_index,
            SupersededJudgement.verdict,
            SupersededJudgement.replaced_by,
        )
        .select_from(SupersededJudgement)
        .join(Attempt, Attempt.id == SupersededJudgement.attempt_id)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .outerjoin(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
        .where(SupersededJudgement.rejudging_id == rejudging_id)
        .order_by(Trajectory.position, Attempt.attempt_index)
    )
    return _sorted_changes(rows)


def _sorted_changes(
    rows: Iterable[Any],
) -> tuple[Counter[tuple[str, str]], tuple[Change, ...]]:
    matrix: Counter[tuple[str, str]] = Counter()
    changes = []
    for trajectory_id, key, buggy_key, index, old, new in rows:
        matrix[old, new] += 1
        if old != new:
            changes.append(Change(trajectory_id, trajectory_label(key, buggy_key), index, old, new))
    return matrix, tuple(changes)
