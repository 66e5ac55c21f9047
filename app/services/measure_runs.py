"""Computing the figures of ended runs once, and keeping them until something they rest on changes."""

import time
from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import select

from app.db.models import Run, RunMetrics
from app.db.queries.endings import ending_marks, endings
from app.db.queries.figures import ENDED, REJUDGED_LAST, SCORED, computed_figures, unmeasured
from app.db.queries.leaderboard import board_rows
from app.db.queries.outcomes import run_measures
from app.db.session import Database
from app.domain.metrics.catalogue import RANKED_MEASURES
from app.domain.metrics.figures import METRICS_VERSION, RANKED
from app.judge.judge import JUDGE_VERSION

SWEEP_SECONDS = 1.0
"""How long one sweep of a worker measures: its leases wait meanwhile."""
_AT_A_TIME = 200
"""Runs that are found at once. A small one takes some milliseconds."""


def measure_unmeasured(db: Database) -> int:
    """Store the figures of ended runs that have none, or stale ones; returns of how many, 0 once there are no more."""
    deadline = time.monotonic() + SWEEP_SECONDS
    with db.read() as session:
        run_ids = unmeasured(session, _AT_A_TIME)
    measured = 0
    for run_id in run_ids:
        measure_runs(db, [run_id])
        measured += 1
        if time.monotonic() > deadline:
            break
    return measured


def measure_runs(db: Database, run_ids: Iterable[int]) -> None:
    """Compute and store the figures of these runs; those that have not ended, or wait for scores, are passed over."""
    for run_id in run_ids:
        with db.read() as session:
            # What they are computed for is read before they are: a change meanwhile leaves them stale, never wrong.
            found = select(Run.finished_at, REJUDGED_LAST).where(Run.id == run_id, ENDED, SCORED)
            state = session.execute(found).one_or_none()
            if state is None:
                continue
            figures = computed_figures(session, run_id, JUDGE_VERSION)
            measures = run_measures(session, run_id)
            marks = ending_marks(endings(session, run_id))
            group = replace(board_rows(session, [run_id])[run_id], figures=figures).group
        finished_at, rejudging_id = state
        with db.write() as session:
            # The run's row makes two who measure it take turns.
            session.execute(select(Run.id).where(Run.id == run_id).with_for_update())
            session.merge(
                RunMetrics(
                    run_id=run_id,
                    metrics_version=METRICS_VERSION,
                    finished_at=finished_at,
                    rejudging_id=rejudging_id,
                    start=group.start,
                    attempts=group.attempts,
                    disclosure=group.disclosure,
                    conditions=group.key.fixed,
                    sandboxes=group.key.sandboxes,
                    memory_tiers=group.key.memory_tiers,
                    figures=figures,
                    measures=measures,
                    endings=marks,
                    **{name: read(figures) for name, read in RANKED.items()},
                    **{name: measures.number(*place) for name, place in RANKED_MEASURES.items()},
                )
            )
