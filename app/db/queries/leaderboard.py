"""The leaderboard: every run of one version of a problem set, or of a list, with its stored figures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from app.db.models import ModelEndpoint, ProblemSetRow, Run, RunMetrics
from app.db.queries.figures import ENDED, STORED, computed_figures
from app.db.queries.run import RunHead
from app.db.queries.runs import Choice
from app.domain.metrics.figures import RunFigures
from app.domain.ports import Sampling
from app.domain.protocol.policy import Protocol

MOST_UNFINISHED = 50
"""Runs that have not ended are computed anew for each reader: no more of them than this."""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One run on a board. `cost` None is unknown; `figures` None are not computed yet."""

    run_id: int
    endpoint_id: int
    model_name: str
    model: str
    """What the endpoint is asked for; its kind where that is built in."""
    sampling: Sampling
    problem_set_id: int
    problem_set_name: str
    problem_set_version: int
    problem_set_hash: str
    protocol: Protocol
    prompts_version: int
    judge_version: int
    subset: tuple[str, ...] | None
    status: str
    problems: int
    ended: int
    tokens: int
    cost: float | None
    created_at: datetime
    finished_at: datetime | None
    figures: RunFigures | None

    @property
    def finished(self) -> bool:
        """Whether every trajectory of it has ended."""
        return self.finished_at is not None and self.ended == self.problems


@dataclass(frozen=True, slots=True)
class BoardSet:
    """A version of a problem set that has runs."""

    id: int
    name: str
    version: int
    content_hash: str
    problem_count: int
    runs: int

    @property
    def label(self) -> str:
        """As a select box lists it."""
        return f"{self.name}, version {self.version} ({self.runs:,} {'run' if self.runs == 1 else 'runs'})"


def board_sets(session: Session) -> list[BoardSet]:
    """Every version of a problem set that has runs, the one of the newest run first."""
    rows = session.execute(
        select(
            ProblemSetRow.id,
            ProblemSetRow.name,
            ProblemSetRow.version,
            ProblemSetRow.content_hash,
            ProblemSetRow.problem_count,
            func.count(Run.id),
        )
        .join(Run, and_(Run.problem_set_id == ProblemSetRow.id, ~Run.dry_run))
        .group_by(
            ProblemSetRow.id,
            ProblemSetRow.name,
            ProblemSetRow.version,
            ProblemSetRow.content_hash,
            ProblemSetRow.problem_count,
        )
        .order_by(func.max(Run.id).desc())
    )
    return [BoardSet(*row) for row in rows]


def board_rows(
    session: Session,
    *,
    problem_set_id: int | None = None,
    run_ids: Sequence[int] = (),
    unfinished: bool = False,
    judge_version: int,
) -> list[BoardRow]:
    """The runs of a problem set, or those of a list, newest first.

    Without `unfinished`, only runs all of whose trajectories have ended; with it, the newest `MOST_UNFINISHED` of the
    others too, with figures as of now, where `judge_version` is that of today's rules. Ended runs without stored
    figures have none here, see `measure_runs`.
    """
    query = (
        select(
            Run.id,
            Run.protocol,
            Run.prompts_version,
            Run.judge_version,
            Run.subset,
            Run.status,
            Run.trajectories_total,
            Run.trajectories_ended,
            Run.tokens_spent,
            Run.cost_spent,
            Run.created_at,
            Run.finished_at,
            Run.endpoint_id,
            Run.problem_set_id,
            RunMetrics.figures,
        )
        .outerjoin(RunMetrics, STORED)
        .where(~Run.dry_run)
        .order_by(Run.id.desc())
    )
    query = query.where(Run.id.in_(run_ids)) if run_ids else query.where(Run.problem_set_id == problem_set_id)
    found = list(session.execute(query.where(ENDED)))
    if unfinished:
        found += session.execute(query.where(~ENDED).limit(MOST_UNFINISHED))
        found.sort(key=lambda row: row.id, reverse=True)
    endpoints = {row.id: row for row in session.scalars(select(ModelEndpoint))}
    sets = {row.id: row for row in session.scalars(select(ProblemSetRow))}
    rows = []
    for row in found:
        endpoint, problem_set = endpoints[row.endpoint_id], sets[row.problem_set_id]
        rows.append(
            BoardRow(
                run_id=row.id,
                endpoint_id=endpoint.id,
                model_name=endpoint.name,
                model=endpoint.model or endpoint.kind,
                sampling=endpoint.sampling,
                problem_set_id=problem_set.id,
                problem_set_name=problem_set.name,
                problem_set_version=problem_set.version,
                problem_set_hash=problem_set.content_hash,
                protocol=row.protocol,
                prompts_version=row.prompts_version,
                judge_version=row.judge_version,
                subset=None if row.subset is None else tuple(row.subset),
                status=row.status,
                problems=row.trajectories_total,
                ended=row.trajectories_ended,
                tokens=row.tokens_spent,
                cost=row.cost_spent,
                created_at=row.created_at,
                finished_at=row.finished_at,
                figures=row.figures,
            )
        )
    if unfinished:
        rows = [
            row if row.finished else replace(row, figures=computed_figures(session, row.run_id, judge_version))
            for row in rows
        ]
    return rows


def unfinished_runs(session: Session, problem_set_id: int) -> int:
    """How many runs of a problem set have not ended."""
    query = select(func.count()).select_from(Run).where(Run.problem_set_id == problem_set_id, ~ENDED, ~Run.dry_run)
    return session.scalar(query) or 0


def run_heads(session: Session, run_ids: Sequence[int]) -> dict[int, RunHead]:
    """What says how to repeat each of these runs."""
    rows = session.execute(
        select(Run, ModelEndpoint, ProblemSetRow)
        .join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id)
        .join(ProblemSetRow, ProblemSetRow.id == Run.problem_set_id)
        .where(Run.id.in_(run_ids))
    )
    return {run.id: RunHead(run, endpoint, problem_set) for run, endpoint, problem_set in rows}


def board_models(rows: Sequence[BoardRow]) -> list[Choice]:
    """The models on a board, by name."""
    return [Choice(id_, name) for name, id_ in sorted({(row.model_name, row.endpoint_id) for row in rows})]
