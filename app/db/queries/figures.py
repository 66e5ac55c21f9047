"""The figures of a run: read where they are stored and still hold, or computed from its rows."""

from collections import Counter

from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.orm import Session

from app.db.models import Attempt, Rejudging, RejudgingStatus, Run, RunMetrics, Trajectory
from app.db.queries.decay_counts import decay_counts
from app.db.queries.precision import last_repairs
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

SCORED = Run.scores_waiting == 0
"""No repair of the run waits for its score: only then are its figures stored."""

ENDED = and_(Run.finished_at.is_not(None), Run.trajectories_ended == Run.trajectories_total)


def unmeasured(session: Session, limit: int) -> list[int]:
    """Ended runs whose figures are missing or stale, newest first."""
    return list(
        session.scalars(
            select(Run.id)
            .outerjoin(RunMetrics, STORED)
            .where(ENDED, SCORED, ~Run.dry_run, RunMetrics.run_id.is_(None))
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
    made_by = _made_by(session, run_id)
    repairs, unscored = last_repairs(session, run_id)
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
        recorded=evidence.recorded,
        tokens_unknown=evidence.tokens_unknown,
        possibly_billed=evidence.possibly_billed,
        repeats=wilson(evidence.repeats, evidence.debugging),
        judge_versions=made_by[0],
        sandboxes=made_by[1],
        memory_tiers=made_by[2],
        repairs=repairs,
        unscored=unscored,
    )


def _made_by(session: Session, run_id: int) -> list[dict[str, int]]:
    """Verdicts that count, by judge, sandbox and memory tier.

    A reply without a program was not executed and has none of the three.
    """
    kinds = (Attempt.judge_version, Attempt.sandbox, Attempt.memory_tier)
    rows = session.execute(
        select(*kinds, func.count())
        .select_from(Attempt)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(Trajectory.run_id == run_id, Attempt.attempt_index < Trajectory.attempts_judged)
        .group_by(*kinds)
    ).all()
    made_by = [Counter[str]() for _ in kinds]
    for row in rows:
        for tally, value in zip(made_by, row[:3], strict=True):
            if value is not None:
                tally[str(value)] += row[3]
    return [dict(tally) for tally in made_by]
