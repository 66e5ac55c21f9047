"""The figures of a run: read where they are stored and still hold, or computed from its rows."""

from sqlalchemy import ColumnElement, and_, case, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.db.models import Attempt, Rejudging, RejudgingStatus, Run, RunMetrics, Trajectory
from app.db.queries.decay_counts import decay_counts
from app.db.queries.run import run_evidence
from app.domain.metrics.figures import METRICS_VERSION, RunFigures
from app.domain.metrics.intervals import wilson

REJUDGED_LAST: ColumnElement[int | None] = (
    select(func.max(Rejudging.id))
    .where(Rejudging.run_id == Run.id, Rejudging.status == RejudgingStatus.APPLIED)
    .correlate(Run)
    .scalar_subquery()
)
"""The last re-judging that changed verdicts of a run."""

STORED = and_(
    RunMetrics.run_id == Run.id,
    RunMetrics.metrics_version == METRICS_VERSION,
    RunMetrics.finished_at == Run.finished_at,
    func.coalesce(RunMetrics.rejudging_id, 0) == func.coalesce(REJUDGED_LAST, 0),
)
"""Joins a run to its stored figures, unless they are stale."""

ENDED = and_(Run.finished_at.is_not(None), Run.trajectories_ended == Run.trajectories_total)


def unmeasured(session: Session, limit: int) -> list[int]:
    """Ended runs whose figures are missing or stale, newest first."""
    return list(
        session.scalars(
            select(Run.id)
            .outerjoin(RunMetrics, STORED)
            .where(ENDED, ~Run.dry_run, RunMetrics.run_id.is_(None))
            .order_by(Run.id.desc())
            .limit(limit)
        )
    )


def computed_figures(session: Session, run_id: int, judge_version: int) -> RunFigures:
    """The figures as the rows have them now. `judge_version` is that of today's rules.

    Raises NotFoundError.
    """
    counts = decay_counts(session, run_id)
    evidence = run_evidence(session, run_id, judge_version)
    counted = or_(Attempt.attempt_index < Trajectory.attempts_judged, Attempt.verdict.is_(None))
    debugging = case((and_(counted, Attempt.attempt_index > 0), 1), else_=0)
    repeating = case((and_(counted, Attempt.attempt_index > 0, Attempt.repeats_attempt.is_not(None)), 1), else_=0)
    attempts, repeats = session.execute(
        select(func.coalesce(func.sum(debugging), 0), func.coalesce(func.sum(repeating), 0))
        .select_from(Attempt)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(Trajectory.run_id == run_id)
    ).one()
    return RunFigures(
        decay=counts.decay(),
        solved=counts.solved,
        censored=counts.censored,
        excluded=counts.excluded,
        cut_short=counts.cut_short,
        ended_early=counts.ended_early,
        visible_only=counts.visible_only,
        running=counts.running,
        waiting=counts.waiting,
        attempts=evidence.attempts,
        weak=evidence.weak,
        near_limit=evidence.near_limit,
        unsandboxed=evidence.unsandboxed,
        surplus=evidence.surplus,
        rejudged_midway=evidence.rejudged_midway,
        sandbox_failures=evidence.sandbox_failures,
        tokens_unknown=evidence.tokens_unknown,
        possibly_billed=evidence.possibly_billed,
        repeats=wilson(repeats, attempts),
        judge_versions=_tally(session, run_id, Attempt.judge_version),
        sandboxes=_tally(session, run_id, Attempt.sandbox),
        memory_tiers=_tally(session, run_id, Attempt.memory_tier),
    )


def _tally(
    session: Session, run_id: int, column: InstrumentedAttribute[str | None] | InstrumentedAttribute[int | None]
) -> dict[str, int]:
    """Verdicts that count, by the value of a column; a reply without a program was not executed and has none."""
    rows = session.execute(
        select(column, func.count())
        .select_from(Attempt)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(Trajectory.run_id == run_id, column.is_not(None), Attempt.attempt_index < Trajectory.attempts_judged)
        .group_by(column)
        .order_by(column)
    )
    return {str(value): count for value, count in rows}
