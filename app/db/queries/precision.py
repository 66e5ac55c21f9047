"""Repairs of known bugs: a run's scores at a round and over its rounds, and its items one by one."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sqlalchemy import ColumnElement, Row, Select, Text, and_, case, func, select, type_coerce
from sqlalchemy.orm import Session

from app.db.models import (
    Attempt,
    BuggyProgramRow,
    BugScore,
    JobPurpose,
    JudgingJob,
    ProblemRow,
    RepairAudit,
    RepairScore,
    Run,
    Trajectory,
)
from app.db.queries.endings import FINISHED
from app.db.queries.labels import trajectory_label
from app.db.queries.run import times
from app.domain.errors import NotFoundError
from app.domain.metrics.behaviour import USUAL_CUT_OFFS
from app.domain.metrics.intervals import Resamples
from app.domain.metrics.repairs import RepairFigures, Repairs, repair_figures
from app.domain.protocol.policy import Protocol, Start

_Name = TypeVar("_Name", int, str)
_Draw = Callable[[int, int, int], Resamples]

PAGE = 50
SEVERAL = "several classes"
UNLABELLED = "not labelled"


class ItemKind(StrEnum):
    """What a list of items can be narrowed to besides bugs and classes. Precise is what reaches a cut-off."""

    IMPRECISE = "imprecise"
    """Passes its tests, and is not precise."""
    PRECISE = "precise"
    """Precise, and fails its tests."""
    NONE_FIXED = "none-fixed"
    """Recall 0."""
    AUDIT = "audit"
    """Passes its tests with recall 0: for a person to look at."""
    MARKED = "marked"
    """A person said whether it is a valid alternative."""
    UNSCORED = "unscored"


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """Which items are listed; None is no narrowing. `odc_class`: that of any of its bugs."""

    kind: ItemKind | None = None
    bugs: int | None = None
    odc_class: str | None = None
    precise_from: float = USUAL_CUT_OFFS.precision

    def conditions(self) -> list[ColumnElement[bool]]:
        """What must hold of a row; nothing else than a score can be precise or not."""
        found: list[ColumnElement[bool]] = []
        match self.kind:
            case ItemKind.IMPRECISE:
                found += [RepairScore.unit_pass.is_(True), RepairScore.precision < self.precise_from]
            case ItemKind.PRECISE:
                found += [~RepairScore.unit_pass, RepairScore.precision >= self.precise_from]
            case ItemKind.NONE_FIXED:
                found.append(RepairScore.recall == 0)
            case ItemKind.AUDIT:
                found += [RepairScore.unit_pass.is_(True), RepairScore.recall == 0]
            case ItemKind.MARKED:
                found.append(RepairAudit.attempt_id.is_not(None))
            case ItemKind.UNSCORED:
                found.append(RepairScore.attempt_id.is_(None))
        if self.bugs is not None:
            found.append(BuggyProgramRow.bug_count == self.bugs)
        if self.odc_class is not None:
            # A class stands in the column as JSON writes it.
            written = json.dumps(None if self.odc_class == UNLABELLED else self.odc_class)
            found.append(type_coerce(BuggyProgramRow.odc_classes, Text).contains(written, autoescape=True))
        return found


ALL_ITEMS = ItemFilter()


class ItemState(StrEnum):
    """Whether an item has a score at a round, and if not, why."""

    SCORED = "scored"
    WAITING = "waiting"
    """Judged, and its score is still to come."""
    FAILED = "failed"
    """Its score could not be had, which says nothing about the repair, or was never asked for."""
    UNJUDGED = "unjudged"
    """No attempt of it has a verdict."""


@dataclass(frozen=True, slots=True)
class Group:
    """Items that share a number of bugs, a class or a round, and their averages.

    `edits` are the entries of their repairs together, `edits_needed` those of the known repairs.
    """

    name: str
    figures: RepairFigures
    edits: int
    edits_needed: int


@dataclass(frozen=True, slots=True)
class BugGroup:
    """Known bugs of one class over all scored items, and how many of them are fixed."""

    name: str
    bugs: int
    fixed: int


@dataclass(frozen=True, slots=True)
class RepairSummary:
    """The scores of a run as of `round` (from 0; None: of each item's last attempt).

    An item that was solved before a round keeps the score that it had: only failing items try again. `items` = scored +
    `waiting` + `failed` + `unjudged`, and only the scored are averaged and their edits counted. By class, an item with
    bugs of several classes stands apart. `unchanged`: scored items whose repair changes nothing, `obstacles` of them by
    why a reply gave none. `weak`, `near_limit`: scored items some of whose verdicts are so. `unended`, `cut_short`:
    scored items that count with an earlier round's score though they failed it, because the next is still to come or
    never will. `scores_failed`: repairs of any round whose score could not be had.

    Rounds are compared over the items that are scored in every one of them, without `left_out` others; `by_round` names
    them from 1. Of each, `tried` are the items that had an attempt in it, `carried` those unended or cut short before.
    """

    run_id: int
    round: int | None
    rounds: int
    items: int
    waiting: int
    failed: int
    unjudged: int
    unended: int
    cut_short: int
    scores_failed: int
    epsilons: tuple[int, ...]
    total: RepairFigures
    edits: int
    edits_needed: int
    by_bugs: tuple[Group, ...]
    by_class: tuple[Group, ...]
    by_round: tuple[Group, ...]
    tried: tuple[int, ...]
    carried: tuple[int, ...]
    left_out: int
    bugs_by_class: tuple[BugGroup, ...]
    unchanged: int
    obstacles: dict[str, int]
    weak: int
    near_limit: int
    to_audit: int
    """Scored items that pass all tests with recall 0."""
    audited: int
    """Those of them that a person marked as valid alternatives."""


@dataclass(frozen=True, slots=True)
class RepairItem:
    """One item of a run at a round. The numbers are None without a score; `error` says why it failed."""

    trajectory_id: int
    position: int
    label: str
    problem_key: str
    buggy_key: str
    bugs: int
    odc_classes: tuple[str | None, ...]
    outcome: str | None
    attempts: int
    attempt_id: int | None
    attempt_index: int | None
    verdict: str | None
    state: ItemState
    error: str | None
    precision: float | None
    recall: float | None
    f1: float | None
    unit_pass: bool | None
    epsilon: int | None
    edits: int | None
    edits_needed: int
    obstacle: str | None
    weak: bool | None
    near_limit: int | None
    """Programs pieced together for the score whose verdict was near the time limit."""
    valid_alternative: bool | None


@dataclass(frozen=True, slots=True)
class RepairPage:
    """Up to fifty items; `next_after` continues, None at the end."""

    rows: tuple[RepairItem, ...]
    next_after: int | None


def repair_summary(session: Session, run_id: int, round: int | None = None) -> RepairSummary:
    """The scores of a run that starts from buggy programs, as of a round.

    Raises NotFoundError, also for a run that starts otherwise.
    """
    protocol, total = _repairing(session, run_id)
    found = _scored_items(session, run_id)
    rows = _as_of_round(found, round)
    scored = _only_scored(rows)
    states = Counter(_state(row.score) for row in rows)
    carried = Counter(_carried(attempts, round) for row, attempts in zip(rows, found, strict=True) if _has_score(row))
    compared = [attempts for attempts in found if all(map(_has_score, attempts))]
    rounds = range(protocol.attempts)
    at_round = [_as_of_round(compared, number) for number in rounds]
    draw = cache(Resamples)
    return RepairSummary(
        run_id=run_id,
        round=round,
        rounds=protocol.attempts,
        items=total,
        waiting=states[ItemState.WAITING],
        failed=states[ItemState.FAILED],
        unjudged=total - len(rows),
        unended=carried[_Carried.UNENDED],
        cut_short=carried[_Carried.CUT_SHORT],
        scores_failed=sum(_state(row.score) is ItemState.FAILED for attempts in found for row in attempts),
        epsilons=tuple(sorted({row.score.epsilon for row in scored})),
        total=repair_figures(_columns(scored), draw=draw),
        edits=sum(row.score.edits for row in scored),
        edits_needed=sum(row.item.edits_needed for row in scored),
        by_bugs=_grouped(scored, [row.item.bug_count for row in scored], draw),
        by_class=_grouped(scored, [_class_of(row.item.odc_classes) for row in scored], draw),
        by_round=tuple(_group(str(number), rows, draw) for number, rows in enumerate(at_round, start=1)),
        tried=tuple(sum(row.score.attempt_index == number for row in rows) for number, rows in enumerate(at_round)),
        carried=tuple(sum(_carried(attempts, number) is not None for attempts in compared) for number in rounds),
        left_out=len(found) - len(compared),
        bugs_by_class=_bugs_by_class(session, run_id, round),
        unchanged=sum(row.score.edits == 0 for row in scored),
        obstacles=dict(Counter(row.score.obstacle for row in scored if row.score.obstacle is not None)),
        weak=sum(row.score.weak for row in scored),
        near_limit=sum(row.score.near_limit > 0 for row in scored),
        to_audit=sum(row.score.unit_pass and row.score.recall == 0 for row in scored),
        audited=sum(
            row.score.unit_pass and row.score.recall == 0 and row.score.valid_alternative is True for row in scored
        ),
    )


def last_repairs(session: Session, run_id: int) -> tuple[RepairFigures | None, int]:
    """The averages over each item's last attempt that counts, and how many such attempts have no score.

    None for a run that does not start from buggy programs.
    """
    found, unscored = last_scores(session, run_id)
    return None if found is None else repair_figures(found), unscored


def last_scores(session: Session, run_id: int) -> tuple[Repairs | None, int]:
    """The same scores one by one."""
    if session.get_one(Run, run_id).protocol.start is not Start.DEBUG:
        return None, 0
    rows = _as_of_round(_scored_items(session, run_id), None)
    scored = _only_scored(rows)
    return _columns(scored), len(rows) - len(scored)


def scores_waiting(session: Session, run_id: int) -> int:
    """How many repairs of a run and of its arms wait for their score."""
    of = (Run.id == run_id) | (Run.baseline_run_id == run_id)
    return session.scalar(select(func.coalesce(func.sum(Run.scores_waiting), 0)).where(of)) or 0


def repair_items(
    session: Session, run_id: int, round: int | None = None, after: int | None = None, wanted: ItemFilter = ALL_ITEMS
) -> RepairPage:
    """The items behind position `after` that are wanted, in the run's order, as of a round.

    Raises NotFoundError, also for a run that starts otherwise.
    """
    _repairing(session, run_id)
    query = (
        select(
            Trajectory.id,
            Trajectory.position,
            Trajectory.outcome,
            Trajectory.attempts_judged,
            ProblemRow.key.label("problem_key"),
            BuggyProgramRow.key.label("buggy_key"),
            BuggyProgramRow.bug_count,
            BuggyProgramRow.odc_classes,
            BuggyProgramRow.edits_needed,
            Attempt.id.label("attempt_id"),
            Attempt.attempt_index,
            Attempt.verdict,
            *_SCORE_COLUMNS,
        )
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .join(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
        .outerjoin(Attempt, and_(Attempt.trajectory_id == Trajectory.id, _as_of(round)))
        .where(Trajectory.run_id == run_id)
        .order_by(Trajectory.position)
        .limit(PAGE + 1)
    )
    if after is not None:
        query = query.where(Trajectory.position > after)
    found = session.execute(_with_scores(query).where(*wanted.conditions())).all()
    rows = tuple(_item(row) for row in found[:PAGE])
    return RepairPage(rows, rows[-1].position if len(found) > PAGE else None)


_SCORE_COLUMNS = (
    RepairScore.precision,
    RepairScore.recall,
    RepairScore.f1,
    RepairScore.unit_pass,
    RepairScore.epsilon,
    RepairScore.edits,
    RepairScore.obstacle,
    RepairScore.weak,
    RepairScore.near_limit,
    RepairAudit.valid_alternative,
    JudgingJob.id.label("job_id"),
    JudgingJob.error,
)


def _with_scores(query: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    """With the score of the attempt, or the job that it waits for."""
    scores = and_(JudgingJob.attempt_id == Attempt.id, JudgingJob.purpose == JobPurpose.SCORE.value)
    return (
        query.outerjoin(RepairScore, RepairScore.attempt_id == Attempt.id)
        .outerjoin(RepairAudit, RepairAudit.attempt_id == Attempt.id)
        .outerjoin(JudgingJob, scores)
    )


def _as_of(round: int | None) -> ColumnElement[bool]:
    """The last attempt that counts, of those up to a round."""
    last = Trajectory.attempts_judged - 1
    return Attempt.attempt_index == (last if round is None else case((last > round, round), else_=last))


class _Scored(NamedTuple):
    """An item, and one of its attempts with its score."""

    item: Row[*tuple[Any, ...]]
    score: Row[*tuple[Any, ...]]


def _scored_items(session: Session, run_id: int) -> list[list[_Scored]]:
    """Of each item that has a verdict, in the run's order, its attempts that count."""
    items = session.execute(
        select(
            Trajectory.id,
            Trajectory.outcome,
            ProblemRow.tests_hash,
            BuggyProgramRow.bug_count,
            BuggyProgramRow.odc_classes,
            BuggyProgramRow.edits_needed,
        )
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .join(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
        .where(Trajectory.run_id == run_id)
    )
    by_trajectory = {item.id: item for item in items}
    scores = session.execute(
        _with_scores(
            select(Trajectory.id, Attempt.id.label("attempt_id"), Attempt.attempt_index, *_SCORE_COLUMNS)
            .select_from(Trajectory)
            .join(Attempt, Attempt.trajectory_id == Trajectory.id)
            .where(Trajectory.run_id == run_id, Attempt.attempt_index < Trajectory.attempts_judged)
            .order_by(Trajectory.position, Attempt.attempt_index)
        )
    )
    return [
        [_Scored(by_trajectory[trajectory_id], score) for score in attempts]
        for trajectory_id, attempts in groupby(scores, key=lambda score: score.id)
    ]


def _as_of_round(found: Sequence[Sequence[_Scored]], round: int | None) -> list[_Scored]:
    """Of each item the last attempt up to a round."""
    return [attempts[-1 if round is None else min(round, len(attempts) - 1)] for attempts in found]


class _Carried(Enum):
    """Why an item counts with the score of an earlier round that it failed."""

    UNENDED = 1
    CUT_SHORT = 2


def _carried(attempts: Sequence[_Scored], round: int | None) -> _Carried | None:
    """None where the item has an attempt in the round, or ended by the rules."""
    outcome = attempts[0].item.outcome
    if (round is not None and round < len(attempts)) or outcome in FINISHED:
        return None
    return _Carried.UNENDED if outcome is None else _Carried.CUT_SHORT


def _has_score(row: _Scored) -> bool:
    return row.score.precision is not None


def _only_scored(rows: Iterable[_Scored]) -> list[_Scored]:
    return [row for row in rows if _has_score(row)]


def _columns(rows: Sequence[_Scored]) -> Repairs:
    # Problems with the same tests are one task: a set may hold several correct programs of it, each with its items.
    tasks = {name: number for number, name in enumerate(dict.fromkeys(row.item.tests_hash for row in rows))}
    return Repairs(
        task=np.array([tasks[row.item.tests_hash] for row in rows], dtype=np.int64),
        precision=np.array([row.score.precision for row in rows], dtype=np.float64),
        recall=np.array([row.score.recall for row in rows], dtype=np.float64),
        f1=np.array([row.score.f1 for row in rows], dtype=np.float64),
        unit_pass=np.array([row.score.unit_pass for row in rows], dtype=np.bool_),
    )


def _group(name: str, rows: Sequence[_Scored], draw: _Draw) -> Group:
    figures = repair_figures(_columns(rows), draw=draw)
    edits, needed = sum(row.score.edits for row in rows), sum(row.item.edits_needed for row in rows)
    return Group(name, figures, edits, needed)


def _grouped(rows: Sequence[_Scored], names: Sequence[_Name], draw: _Draw) -> tuple[Group, ...]:
    return tuple(
        _group(str(name), [row for row, own in zip(rows, names, strict=True) if own == name], draw)
        for name in sorted(set(names))
    )


def _class_of(classes: Iterable[str | None]) -> str:
    known = set(classes)
    if known == {None}:
        return UNLABELLED
    return SEVERAL if len(known) > 1 else str(known.pop())


def _bugs_by_class(session: Session, run_id: int, round: int | None) -> tuple[BugGroup, ...]:
    counts = session.execute(
        select(BuggyProgramRow.odc_classes, BugScore.bug_index, func.count(), times(BugScore.fixed.is_(True)))
        .select_from(Trajectory)
        .join(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
        .join(Attempt, and_(Attempt.trajectory_id == Trajectory.id, _as_of(round)))
        .join(BugScore, BugScore.attempt_id == Attempt.id)
        .where(Trajectory.run_id == run_id)
        .group_by(BuggyProgramRow.odc_classes, BugScore.bug_index)
    )
    bugs: Counter[str] = Counter()
    fixed: Counter[str] = Counter()
    for classes, index, number, repaired in counts:
        name = classes[index] or UNLABELLED
        bugs[name] += number
        fixed[name] += repaired
    return tuple(BugGroup(name, bugs[name], fixed[name]) for name in sorted(bugs))


def _state(row: Row[*tuple[Any, ...]]) -> ItemState:
    if row.precision is not None:
        return ItemState.SCORED
    if row.attempt_id is None:
        return ItemState.UNJUDGED
    return ItemState.FAILED if row.job_id is None or row.error is not None else ItemState.WAITING


def _item(row: Row[*tuple[Any, ...]]) -> RepairItem:
    return RepairItem(
        trajectory_id=row.id,
        position=row.position,
        label=trajectory_label(row.problem_key, row.buggy_key),
        problem_key=row.problem_key,
        buggy_key=row.buggy_key,
        bugs=row.bug_count,
        odc_classes=tuple(row.odc_classes),
        outcome=row.outcome,
        attempts=row.attempts_judged,
        attempt_id=row.attempt_id,
        attempt_index=row.attempt_index,
        verdict=row.verdict,
        state=_state(row),
        error=row.error,
        precision=row.precision,
        recall=row.recall,
        f1=row.f1,
        unit_pass=row.unit_pass,
        epsilon=row.epsilon,
        edits=row.edits,
        edits_needed=row.edits_needed,
        obstacle=row.obstacle,
        weak=row.weak,
        near_limit=row.near_limit,
        valid_alternative=row.valid_alternative,
    )


def _repairing(session: Session, run_id: int) -> tuple[Protocol, int]:
    """The protocol of the run, and how many items it has."""
    run = session.get(Run, run_id)
    if run is None:
        raise NotFoundError(f"there is no run {run_id}")
    if run.protocol.start is not Start.DEBUG:
        raise NotFoundError(f"run {run_id} does not start from buggy programs: it has no repairs to score")
    return run.protocol, run.trajectories_total
