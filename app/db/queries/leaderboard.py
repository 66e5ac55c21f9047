"""The leaderboard: the runs of one version of a problem set, or of a list, by their stored figures.

A board is narrowed, counted and sorted by columns that stand beside the figures; only the rows shown are read whole.
The few runs without stored figures, which have not ended or ended just now, are read whole with it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, func, select, true
from sqlalchemy.orm import Session

from app.db.models import ModelEndpoint, ProblemSetRow, Recording, Run, RunMetrics
from app.db.queries.figures import ENDED, STORED, computed_figures
from app.db.queries.run import RunHead
from app.db.queries.runs import Choice, model_choices
from app.domain.comparability import Conditions, ConditionsKey, Group
from app.domain.metrics.archetypes import LEAST_R_SQUARED
from app.domain.metrics.catalogue import Measures
from app.domain.metrics.figures import RunFigures
from app.domain.ports import Sampling
from app.domain.protocol.policy import Disclosure, Protocol, Start

MOST_UNFINISHED = 50
"""Runs that have not ended are computed anew for each reader: no more of them than this."""

_OF_RUN: dict[str, ColumnElement[Any]] = {
    "tokens": Run.tokens_spent + Run.tokens_shared,
    "cost": Run.cost_spent + Run.cost_shared,
}
"""What a board is sorted by that is no figure, but a counter of the run."""


@dataclass(frozen=True, slots=True)
class BoardFilter:
    """Which runs a board is of: those of a problem set, or those of a list. None is no narrowing."""

    problem_set_id: int | None = None
    run_ids: tuple[int, ...] = ()
    start: Start | None = None
    model: int | None = None
    disclosure: Disclosure | None = None
    attempts: int | None = None

    def keeps(self, group: "BoardGroup") -> bool:
        """Whether a group of the problem set or list is left when the board is narrowed."""
        return (
            self.start in (None, group.start)
            and self.model in (None, group.model)
            and self.disclosure in (None, group.disclosure)
            and self.attempts in (None, group.attempts)
        )


@dataclass(frozen=True, slots=True)
class BoardGroup(Group):
    """Runs that agree in their conditions and in what a board can be narrowed to. `model` is an endpoint's id."""

    start: Start
    attempts: int
    disclosure: Disclosure
    model: int


@dataclass(frozen=True, slots=True)
class BoardOrder:
    """By what a board is sorted: a name in `RANKED` or `RANKED_MEASURES`, `tokens` or `cost`.

    The newest run is first among equals.
    """

    by: str
    ascending: bool


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One run on a board. `tokens` and `cost` None are unknown; `figures` and `measures` None are not computed yet."""

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
    prompts_version: int | None
    judge_version: int | None
    subset: tuple[str, ...] | None
    items: tuple[str, ...] | None
    imported_from: str | None
    unknown: tuple[str, ...]
    demo: bool
    status: str
    problems: int
    ended: int
    tokens: int | None
    cost: float | None
    created_at: datetime | None
    """None where its recording tells no time; `finished_at` is that of the import then."""
    finished_at: datetime | None
    figures: RunFigures | None
    measures: Measures | None

    @property
    def finished(self) -> bool:
        """Whether every trajectory of it has ended."""
        return self.finished_at is not None and self.ended == self.problems

    @property
    def conditions(self) -> Conditions:
        """What must agree before it is compared; without figures, as if it had no verdict."""
        figures = self.figures
        return Conditions(
            problem_set_hash=self.problem_set_hash,
            problems=None if self.subset is None else tuple(sorted(self.subset)),
            items=None if self.items is None else tuple(sorted(self.items)),
            judge_version=self.judge_version,
            protocol=self.protocol,
            prompts_version=self.prompts_version,
            sampling=self.sampling,
            sandboxes=() if figures is None else tuple(sorted(figures.sandboxes)),
            memory_tiers=() if figures is None else tuple(sorted(figures.memory_tiers)),
            unknown=self.unknown,
        )

    @property
    def group(self) -> BoardGroup:
        """The run alone, as a group."""
        protocol = self.protocol
        return BoardGroup(
            self.conditions.key(),
            1,
            self.run_id,
            protocol.start,
            protocol.attempts,
            protocol.disclosure,
            self.endpoint_id,
        )


def board_groups(
    session: Session, of: BoardFilter, *, unfinished: bool, judge_version: int
) -> tuple[list[BoardGroup], list[BoardRow]]:
    """All runs of the problem set or list, however the board is narrowed: the ended ones with stored figures counted by
    what it can be narrowed to, the others whole.

    The others are the ended ones without stored figures, see `measure_runs`, and with `unfinished` the newest
    `MOST_UNFINISHED` that have not ended, with figures as of now; `judge_version` is that of today's rules.
    """
    kinds = (
        RunMetrics.conditions,
        RunMetrics.sandboxes,
        RunMetrics.memory_tiers,
        RunMetrics.start,
        RunMetrics.attempts,
        RunMetrics.disclosure,
        Run.endpoint_id,
    )
    ended = select(Run.id).outerjoin(RunMetrics, STORED).where(_scope(of), ENDED)
    groups, others = [], list[int]()
    for fixed, sandboxes, tiers, start, attempts, disclosure, model, runs, newest, stored in session.execute(
        ended.with_only_columns(*kinds, func.count(), func.max(Run.id), func.count(RunMetrics.run_id)).group_by(*kinds)
    ):
        if stored:
            key = ConditionsKey(fixed, sandboxes, tiers)
            groups.append(BoardGroup(key, runs, newest, Start(start), attempts, Disclosure(disclosure), model))
        elif not others:
            others = list(session.scalars(ended.where(RunMetrics.run_id.is_(None))))
    if unfinished:
        running = select(Run.id).where(_scope(of), ~ENDED).order_by(Run.id.desc()).limit(MOST_UNFINISHED)
        others += session.scalars(running)
    rows = board_rows(session, others) if others else {}
    return groups, [
        row if row.finished else replace(row, figures=computed_figures(session, row.run_id, judge_version))
        for row in rows.values()
    ]


def ranked_runs(
    session: Session, of: BoardFilter, order: BoardOrder, like: ConditionsKey | None, rows: range | None = None
) -> list[tuple[int, float | None]]:
    """Ids of the ended runs with stored figures in their order, with what they are sorted by; undefined values last.

    `like` leaves out runs that differ from these conditions; `rows` are those of the order that are wanted, None all.
    """
    value = _OF_RUN[order.by] if order.by in _OF_RUN else getattr(RunMetrics, order.by)
    query = (
        select(Run.id, value)
        .join(RunMetrics, STORED)
        .where(_scope(of), ENDED)
        .order_by(value.is_(None), value.asc() if order.ascending else value.desc(), Run.id.desc())
    )
    query = query.where(_narrowed(of, like))
    if rows is not None:
        query = query.offset(rows.start).limit(len(rows))
    return [(run_id, sorted_by) for run_id, sorted_by in session.execute(query)]


def described_runs(session: Session, of: BoardFilter, like: ConditionsKey) -> list[tuple[float, float]]:
    """E0 and λ of the runs under these conditions whose published fit describes them."""
    e0, rate, r2 = (getattr(RunMetrics, name) for name in ("e0", "lambda", "r2"))
    query = select(e0, rate).select_from(Run).join(RunMetrics, STORED)
    found = session.execute(query.where(_scope(of), ENDED, _narrowed(of, like), r2 >= LEAST_R_SQUARED))
    return [(row[0], row[1]) for row in found]


def _narrowed(of: BoardFilter, like: ConditionsKey | None) -> ColumnElement[bool]:
    """What a board's query and, with `like`, its conditions leave of the ended runs with stored figures."""
    kept = [
        column == wanted
        for column, wanted in (
            (Run.endpoint_id, of.model),
            (RunMetrics.start, of.start),
            (RunMetrics.disclosure, of.disclosure),
            (RunMetrics.attempts, of.attempts),
        )
        if wanted is not None
    ]
    if like is not None:
        kept.append(RunMetrics.conditions == like.fixed)
        for column, usual in ((RunMetrics.sandboxes, like.sandboxes), (RunMetrics.memory_tiers, like.memory_tiers)):
            if usual:
                kept.append(column.in_(("", usual)))
    return and_(true(), *kept)


def board_rows(session: Session, run_ids: Sequence[int]) -> dict[int, BoardRow]:
    """These runs whole, by their ids; without figures where none are stored."""
    rows = session.execute(
        select(
            Run.id,
            Run.protocol,
            Run.prompts_version,
            Run.judge_version,
            Run.subset,
            Run.items,
            Run.imported_from,
            Run.unknown,
            Run.demo,
            Run.status,
            Run.trajectories_total,
            Run.trajectories_ended,
            _OF_RUN["tokens"].label("tokens"),
            _OF_RUN["cost"].label("cost"),
            Run.created_at,
            Run.finished_at,
            Recording.imported_at,
            Run.endpoint_id,
            ModelEndpoint.name,
            ModelEndpoint.model,
            ModelEndpoint.kind,
            ModelEndpoint.sampling,
            ProblemSetRow.id.label("set_id"),
            ProblemSetRow.name.label("set_name"),
            ProblemSetRow.version,
            ProblemSetRow.content_hash,
            RunMetrics.figures,
            RunMetrics.measures,
        )
        .join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id)
        .join(ProblemSetRow, ProblemSetRow.id == Run.problem_set_id)
        .outerjoin(RunMetrics, STORED)
        .outerjoin(Recording, Recording.run_id == Run.id)
        .where(Run.id.in_(run_ids))
    )
    return {
        row.id: BoardRow(
            run_id=row.id,
            endpoint_id=row.endpoint_id,
            model_name=row.name,
            model=row.model or row.kind,
            sampling=row.sampling,
            problem_set_id=row.set_id,
            problem_set_name=row.set_name,
            problem_set_version=row.version,
            problem_set_hash=row.content_hash,
            protocol=row.protocol,
            prompts_version=row.prompts_version,
            judge_version=row.judge_version,
            subset=None if row.subset is None else tuple(row.subset),
            items=None if row.items is None else tuple(row.items),
            imported_from=row.imported_from,
            unknown=tuple(row.unknown or ()),
            demo=row.demo,
            status=row.status,
            problems=row.trajectories_total,
            ended=row.trajectories_ended,
            tokens=row.tokens,
            cost=row.cost,
            created_at=None if row.imported_at == row.created_at else row.created_at,
            finished_at=row.finished_at,
            figures=row.figures,
            measures=row.measures,
        )
        for row in rows
    }


def board_endings(session: Session, run_ids: Sequence[int]) -> dict[int, str]:
    """Of those of these runs that have stored figures, what pairs them: see `ending_marks`."""
    rows = session.execute(select(Run.id, RunMetrics.endings).join(RunMetrics, STORED).where(Run.id.in_(run_ids)))
    return {row[0]: row[1] for row in rows}


def listed_runs(session: Session, of: BoardFilter) -> dict[int, tuple[str, int]]:
    """The runs of a list that exist, each with the name and version of its problem set."""
    rows = session.execute(
        select(Run.id, ProblemSetRow.name, ProblemSetRow.version)
        .join(ProblemSetRow, ProblemSetRow.id == Run.problem_set_id)
        .where(_scope(of))
    )
    return {run_id: (name, version) for run_id, name, version in rows}


def unfinished_runs(session: Session, problem_set_id: int) -> int:
    """How many runs of a problem set have not ended."""
    query = select(func.count()).select_from(Run).where(_scope(BoardFilter(problem_set_id)), ~ENDED)
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


def board_models(session: Session, groups: Iterable[BoardGroup]) -> list[Choice]:
    """The models on a board, by name."""
    there = {group.model for group in groups}
    return [choice for choice in model_choices(session) if choice.value in there]


def _scope(of: BoardFilter) -> ColumnElement[bool]:
    chosen = Run.id.in_(of.run_ids) if of.run_ids else Run.problem_set_id == of.problem_set_id
    return and_(chosen, ~Run.dry_run)
