"""The list of runs: filtered, searched, sorted, fifty a page. It reads counters of the runs, never their attempts."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Float, Select, and_, cast, func, or_, select
from sqlalchemy.orm import Session

from app.db.base import LARGEST_ID
from app.db.models import EndpointKind, ModelEndpoint, ProblemRow, ProblemSetRow, Recording, Run
from app.db.queries.problem_sets import from_easy_to_hard
from app.db.queries.progress import Progress, Wait, progress, run_waits
from app.domain.errors import InputError
from app.domain.protocol.policy import Protocol

PAGE = 50


class SortKey(StrEnum):
    """What the list can be sorted by."""

    NEWEST = "newest"
    """In which order they came here: a recording by its import."""
    STARTED = "started"
    """When they were started, where that was; by its import a recording that does not tell."""
    MODEL = "model"
    PROGRESS = "progress"
    SOLVED = "solved"
    TOKENS = "tokens"
    COST = "cost"
    """Unknown costs come after all others when it falls, before them when it rises."""


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError
    return found.astimezone(UTC)


_SORTED_BY: dict[SortKey, tuple[ColumnElement[Any], Callable[[str], Any]]] = {
    SortKey.NEWEST: (Run.id.expression, int),
    SortKey.STARTED: (Run.created_at.expression, _moment),
    SortKey.MODEL: (ModelEndpoint.name.expression, str),
    SortKey.PROGRESS: (cast(Run.trajectories_ended, Float) / Run.trajectories_total, float),
    SortKey.SOLVED: (Run.trajectories_solved.expression, int),
    SortKey.TOKENS: (func.coalesce(Run.tokens_spent, -1), int),
    SortKey.COST: (func.coalesce(Run.cost_spent, -1.0), float),
}


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What the list is narrowed to; None is no narrowing.

    `problem_set` is a name and takes in every version. `search` is part of the name of a model or of a problem set, or
    the number of a run.
    """

    status: str | None = None
    endpoint_id: int | None = None
    problem_set: str | None = None
    search: str | None = None


@dataclass(frozen=True, slots=True)
class RunOrder:
    """By what the list is sorted, the newest run first among equals where it falls."""

    key: SortKey = SortKey.NEWEST
    falling: bool = True


@dataclass(frozen=True, slots=True)
class RunRow:
    """One line of the list. `tokens` and `cost` None are unknown.

    `created_at` None: its recording tells no time. `imported_at` None: it was made here.
    """

    id: int
    model_name: str
    problem_set_id: int
    problem_set_name: str
    problem_set_version: int
    protocol: Protocol
    judge_version: int | None
    imported_from: str | None
    demo: bool
    status: str
    status_reason: str | None
    dry_run: bool
    problems: int
    ended: int
    solved: int
    progress: Progress
    wait: Wait | None
    tokens: int | None
    cost: float | None
    created_at: datetime | None
    finished_at: datetime | None
    imported_at: datetime | None


@dataclass(frozen=True, slots=True)
class RunPage:
    """Up to fifty runs of `total`; `next_after` continues behind them, None at the end."""

    rows: tuple[RunRow, ...]
    total: int
    next_after: str | None


@dataclass(frozen=True, slots=True)
class Choice:
    """An entry of a select box."""

    value: int
    label: str


def list_runs(
    session: Session, narrowed: RunFilter, order: RunOrder | None = None, after: str | None = None
) -> RunPage:
    """Runs behind `after`, which is a page's `next_after` in the same order.

    Raises InputError where `after` is none.
    """
    order = order or RunOrder()
    key, kind = _SORTED_BY[order.key]
    everything = _narrowed(
        select(
            Run,
            ModelEndpoint.name,
            ProblemSetRow.name,
            ProblemSetRow.version,
            Recording.imported_at,
            key.label("sorted_by"),
        ),
        narrowed,
    ).outerjoin(Recording, Recording.run_id == Run.id)
    ends = (key.desc(), Run.id.desc()) if order.falling else (key.asc(), Run.id.asc())
    query = everything.order_by(*ends).limit(PAGE + 1)
    if after is not None:
        query = query.where(_behind(key, order.falling, *_cursor(after, kind)))
    found = session.execute(query).all()
    shown = found[:PAGE]
    now = datetime.now(UTC)
    waits = run_waits(session, [row[0] for row in shown], now)
    rows = tuple(
        RunRow(
            id=run.id,
            model_name=model_name,
            problem_set_id=run.problem_set_id,
            problem_set_name=set_name,
            problem_set_version=set_version,
            protocol=run.protocol,
            judge_version=run.judge_version,
            imported_from=run.imported_from,
            demo=run.demo,
            status=run.status,
            status_reason=run.status_reason,
            dry_run=run.dry_run,
            problems=run.trajectories_total,
            ended=run.trajectories_ended,
            solved=run.trajectories_solved,
            progress=progress(run, now),
            wait=waits.get(run.id),
            tokens=run.tokens_spent,
            cost=run.cost_spent,
            created_at=None if imported_at == run.created_at else run.created_at,
            finished_at=None if imported_at == run.created_at else run.finished_at,
            imported_at=imported_at,
        )
        for run, model_name, set_name, set_version, imported_at, _ in shown
    )
    total = session.scalar(_narrowed(select(func.count()).select_from(Run), narrowed))
    more = len(found) > PAGE
    return RunPage(rows, total or 0, f"{shown[-1][0].id}~{shown[-1].sorted_by}" if more else None)


def _narrowed(query: Select[*tuple[Any, ...]], narrowed: RunFilter) -> Select[*tuple[Any, ...]]:
    query = query.join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id).join(
        ProblemSetRow, ProblemSetRow.id == Run.problem_set_id
    )
    if narrowed.status is not None:
        query = query.where(Run.status == narrowed.status)
    if narrowed.endpoint_id is not None:
        query = query.where(Run.endpoint_id == narrowed.endpoint_id)
    if narrowed.problem_set is not None:
        query = query.where(ProblemSetRow.name == narrowed.problem_set)
    if narrowed.search is not None:
        text = narrowed.search
        names = (ModelEndpoint.name, ModelEndpoint.model, ProblemSetRow.name)
        number = text.removeprefix("#")
        is_it = [Run.id == int(number)] if _is_whole(number) and int(number) <= LARGEST_ID else []
        query = query.where(or_(*(name.icontains(text, autoescape=True) for name in names), *is_it))
    return query


def _behind(key: ColumnElement[Any], falling: bool, run_id: int, value: Any) -> ColumnElement[bool]:
    if falling:
        return or_(key < value, and_(key == value, Run.id < run_id))
    return or_(key > value, and_(key == value, Run.id > run_id))


def _cursor(text: str, kind: Callable[[str], Any]) -> tuple[int, Any]:
    run_id, _, value = text.partition("~")
    try:
        if not _is_whole(run_id) or int(run_id) > LARGEST_ID or "\0" in value:
            raise ValueError
        return int(run_id), kind(value)
    except (ValueError, OverflowError):
        raise InputError("after: must be the next_after of a page in the same order") from None


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 10


def model_choices(session: Session, *, archived: bool = True) -> list[Choice]:
    """Every model, by name; those put away or of recorded runs, which cannot be asked, only where `archived`."""
    query = select(ModelEndpoint.id, ModelEndpoint.name).order_by(ModelEndpoint.name)
    asked = and_(ModelEndpoint.archived_at.is_(None), ModelEndpoint.kind != EndpointKind.RECORDED)
    rows = session.execute(query if archived else query.where(asked))
    return [Choice(id_, name) for id_, name in rows]


def problem_set_choices(session: Session) -> list[Choice]:
    """Every version of every problem set, newest version first within a name."""
    rows = session.execute(
        select(ProblemSetRow.id, ProblemSetRow.name, ProblemSetRow.version, ProblemSetRow.problem_count).order_by(
            ProblemSetRow.name, ProblemSetRow.version.desc()
        )
    )
    return [Choice(id_, f"{name}, version {version} ({count} problems)") for id_, name, version, count in rows]


def demo_runs(session: Session) -> int:
    """How many runs are demo data."""
    return session.scalar(select(func.count()).select_from(Run).where(Run.demo)) or 0


def problem_set_names(session: Session) -> list[str]:
    """The names of all problem sets."""
    return list(session.scalars(select(ProblemSetRow.name).distinct().order_by(ProblemSetRow.name)))


def difficulties(session: Session) -> list[str]:
    """Every difficulty that a problem is rated."""
    rated = select(ProblemRow.difficulty).where(ProblemRow.difficulty.is_not(None)).distinct()
    return from_easy_to_hard(str(difficulty) for difficulty in session.scalars(rated))
