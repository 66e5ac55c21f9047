"""The list of runs: filtered, newest first, fifty a page."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.db.models import ModelEndpoint, ProblemSetRow, Run, Trajectory
from app.domain.protocol.policy import Protocol

PAGE = 50


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What the list is narrowed to; None is no narrowing. `problem_set` is a name and takes in every version."""

    status: str | None = None
    endpoint_id: int | None = None
    problem_set: str | None = None


@dataclass(frozen=True, slots=True)
class RunRow:
    """One line of the list. `cost` None is unknown."""

    id: int
    model_name: str
    problem_set_id: int
    problem_set_name: str
    problem_set_version: int
    protocol: Protocol
    judge_version: int
    status: str
    status_reason: str | None
    problems: int
    ended: int
    solved: int
    tokens: int
    cost: float | None
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class RunPage:
    """Up to fifty runs; `next_before` continues with older ones, None at the end."""

    rows: tuple[RunRow, ...]
    next_before: int | None


@dataclass(frozen=True, slots=True)
class Choice:
    """An entry of a select box."""

    value: int
    label: str


def list_runs(session: Session, narrowed: RunFilter, before: int | None = None) -> RunPage:
    """Runs older than `before` (an id), newest first."""
    query = (
        select(Run, ModelEndpoint.name, ProblemSetRow.name, ProblemSetRow.version)
        .join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id)
        .join(ProblemSetRow, ProblemSetRow.id == Run.problem_set_id)
        .order_by(Run.id.desc())
        .limit(PAGE + 1)
    )
    if before is not None:
        query = query.where(Run.id < before)
    if narrowed.status is not None:
        query = query.where(Run.status == narrowed.status)
    if narrowed.endpoint_id is not None:
        query = query.where(Run.endpoint_id == narrowed.endpoint_id)
    if narrowed.problem_set is not None:
        query = query.where(ProblemSetRow.name == narrowed.problem_set)
    found = session.execute(query).all()
    shown = found[:PAGE]
    solved = _solved_by_run(session, [row[0].id for row in shown])
    rows = tuple(
        RunRow(
            id=run.id,
            model_name=model_name,
            problem_set_id=run.problem_set_id,
            problem_set_name=set_name,
            problem_set_version=set_version,
            protocol=run.protocol,
            judge_version=run.judge_version,
            status=run.status,
            status_reason=run.status_reason,
            problems=run.trajectories_total,
            ended=run.trajectories_ended,
            solved=solved.get(run.id, 0),
            tokens=run.tokens_spent,
            cost=run.cost_spent,
            created_at=run.created_at,
            finished_at=run.finished_at,
        )
        for run, model_name, set_name, set_version in shown
    )
    return RunPage(rows, rows[-1].id if len(found) > PAGE else None)


def model_choices(session: Session, *, archived: bool = True) -> list[Choice]:
    """Every model, by name; where not `archived`, those that new runs are offered."""
    query = select(ModelEndpoint.id, ModelEndpoint.name).order_by(ModelEndpoint.name)
    rows = session.execute(query if archived else query.where(ModelEndpoint.archived_at.is_(None)))
    return [Choice(id_, name) for id_, name in rows]


def problem_set_choices(session: Session) -> list[Choice]:
    """Every version of every problem set, newest version first within a name."""
    rows = session.execute(
        select(ProblemSetRow.id, ProblemSetRow.name, ProblemSetRow.version, ProblemSetRow.problem_count).order_by(
            ProblemSetRow.name, ProblemSetRow.version.desc()
        )
    )
    return [Choice(id_, f"{name}, version {version} ({count} problems)") for id_, name, version, count in rows]


def problem_set_names(session: Session) -> list[str]:
    """The names of all problem sets."""
    return list(session.scalars(select(ProblemSetRow.name).distinct().order_by(ProblemSetRow.name)))


def _solved_by_run(session: Session, run_ids: list[int]) -> dict[int, int]:
    rows = session.execute(
        select(Trajectory.run_id, func.count())
        .where(Trajectory.run_id.in_(run_ids), Trajectory.solved_at.is_not(None))
        .group_by(Trajectory.run_id)
    )
    return {row[0]: row[1] for row in rows}
