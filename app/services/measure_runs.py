"""Computing the figures of ended runs once, and keeping them until something they rest on changes."""

import time
from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import select

from app.db.models import Run, RunMetrics
from app.db.queries.figures import ENDED, REJUDGED_LAST, computed_figures, unmeasured
from app.db.queries.leaderboard import board_rows
from app.db.session import Database
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
    """Compute and store the figures of these runs; those that have not ended are passed over."""
    for run_id in run_ids:
        with db.read() as session:
            # What they are computed for is read before they are: a change meanwhile leaves them stale, never wrong.
            state = session.execute(select(Run.finished_at, REJUDGED_LAST).where(Run.id == run_id, ENDED)).one_or_none()
            if state is None:
                continue
            figures = computed_figures(session, run_id, JUDGE_VERSION)
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
                    **{name: read(figures) for name, read in RANKED.items()},
                )
            )
