"""The leaderboard, as pages, exports, the API and shared links show it: columns, query, and rows with caveats."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlencode

import numpy as np
from sqlalchemy.orm import Session
from starlette.datastructures import QueryParams

from app.db.base import LARGEST_ID
from app.db.queries import leaderboard as queries
from app.db.queries.leaderboard import BoardFilter, BoardGroup, BoardOrder, BoardRow
from app.db.queries.run import RunHead
from app.db.queries.runs import Choice
from app.db.queries.sets_with_runs import SetWithRuns, sets_with_runs
from app.db.session import Database
from app.domain.comparability import Conditions, ConditionsKey, Difference, differences, usual
from app.domain.errors import InputError, NotFoundError
from app.domain.metrics.archetypes import Archetype, CutOffs, archetype, medians
from app.domain.metrics.catalogue import BY_SLUG as METRICS
from app.domain.metrics.catalogue import RANKED_MEASURES, Direction
from app.domain.metrics.comparison import tie_groups
from app.domain.metrics.figures import RANKED, RunFigures
from app.domain.metrics.intervals import Estimate, EstimateStatus, Proportion
from app.domain.metrics.repairs import RepairFigures
from app.domain.protocol.policy import Disclosure, Start
from app.judge.judge import JUDGE_VERSION
from app.services.measure_runs import measure_runs
from app.web import conditions, wording
from app.web.commands import create_command

_Kind = TypeVar("_Kind", bound=StrEnum)

PAGE = 50
MOST_MEASURED = 20
"""Runs whose figures one reader waits for; the workers' sweep computes the rest."""
MOST_COMPARED = 50
"""Runs in a list of runs: more make an address that mail breaks."""
_AT_A_TIME = 100
"""Rows of a board in memory at once."""


Bounds = Proportion | Estimate


@dataclass(frozen=True, slots=True)
class Column:
    """One figure of a board by its name in `RANKED` or `RANKED_MEASURES`, or one of a run's counters.

    `anchor`: its paragraph on "How it is computed". `bounds`: the figure with the interval that stands beside it.
    """

    slug: str
    label: str
    unit: str
    anchor: str
    text: Callable[[BoardRow], str]
    bounds: Callable[[BoardRow], Bounds | None] | None = None
    ascending: bool = False
    """Whether the smallest value comes first when a reader sorts by it."""

    def value(self, row: BoardRow) -> float | int | None:
        """What is sorted and exported: shares are fractions, None is undefined."""
        if self.slug in RANKED:
            return None if row.figures is None else RANKED[self.slug](row.figures)
        if self.slug in RANKED_MEASURES:
            return None if row.measures is None else row.measures.number(*RANKED_MEASURES[self.slug])
        return row.tokens if self.slug == "tokens" else row.cost

    def found(self, row: BoardRow) -> Bounds | None:
        """The figure with its interval; None where the column has none, or the run no such figure."""
        return None if self.bounds is None else self.bounds(row)

    def interval(self, row: BoardRow) -> str:
        """The interval in words; empty where there is none."""
        found = self.found(row)
        if found is None or (found.low is None and found.high is None):
            return ""
        write, unit = (_percent, " %") if self.unit in _PERCENT else (_three, "")
        if found.high is None:
            return f"from {write(found.low)}{unit}"
        return (
            f"up to {write(found.high)}{unit}"
            if found.low is None
            else f"{write(found.low)} – {write(found.high)}{unit}"
        )


_PERCENT = ("%", "points")


def _words(write: Callable[[RunFigures], str]) -> Callable[[BoardRow], str]:
    return lambda row: "–" if row.figures is None else write(row.figures)


def _share(read: Callable[[RunFigures], Proportion]) -> Callable[[BoardRow], Bounds | None]:
    return lambda row: None if row.figures is None else read(row.figures)


def _solved(slug: str, read: Callable[[RunFigures], Proportion]) -> Callable[[BoardRow], Bounds | None]:
    """A share of problems: by the catalogue, which resamples base tasks where items share one, once it is computed."""
    measure, share = _measure(slug), _share(read)
    return lambda row: share(row) if row.measures is None else measure(row)


def _measure(slug: str, key: str = "") -> Callable[[BoardRow], Bounds | None]:
    return lambda row: None if row.measures is None else row.measures.of(slug, key)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}".replace("-", "−")


def _three(value: float | None) -> str:
    """To three decimals; never as a negative zero."""
    return "–" if value is None else f"{value:.3f}".replace("-0.000", "0.000").replace("-", "−")


def attempts_reached(attempts: int | None) -> str:
    """A t_θ as a cell shows it."""
    return "not reached" if attempts is None else "> 1,000" if attempts > 1000 else str(attempts)


def _theta(theta: int) -> Column:
    def text(figures: RunFigures) -> str:
        times = figures.decay.t_theta
        return "–" if times is None else attempts_reached(times.get(theta))

    return Column(f"t{theta}", f"t_{theta}", "attempts", "t-theta", _words(text), ascending=True)


def _measured(name: str, label: str) -> Column:
    """A column of the catalogue of figures, which says its unit and which way is better."""
    slug, key = RANKED_MEASURES[name]
    metric, bounds = METRICS[slug], _measure(slug, key)
    unit = "%" if metric.unit.startswith("share") else metric.unit

    def text(row: BoardRow) -> str:
        found = bounds(row)
        if found is None:
            return "–"
        if found.estimate is None and isinstance(found, Estimate) and found.status in _SAID:
            return _SAID[found.status]
        return (
            f"{found.estimate:g}"
            if unit == "iterations" and found.estimate is not None
            else (_percent if unit == "%" else _three)(found.estimate)
        )

    return Column(name, label, unit, metric.anchor, text, bounds, metric.direction is Direction.LOWER)


def _repaired(slug: str, label: str, read: Callable[[RepairFigures], Estimate]) -> Column:
    """An average over the repairs of a run that starts from buggy programs; a dash for other runs."""

    def bounds(row: BoardRow) -> Bounds | None:
        repairs = None if row.figures is None else row.figures.repairs
        return None if repairs is None else read(repairs)

    def text(row: BoardRow) -> str:
        found = bounds(row)
        return "–" if found is None else _percent(found.estimate)

    return Column(slug, label, "%", "repair-f1" if slug == "f1" else slug.replace("_", "-"), text, bounds)


_SAID = {
    EstimateStatus.UNKNOWN: "unknown",
    EstimateStatus.NOT_REACHED: "not reached",
    EstimateStatus.ONE_SIDED: "no finite value",
}

COLUMNS: tuple[Column, ...] = (
    Column(
        "e0", "E0", "%", "e0", _words(lambda f: _percent(f.decay.e0.estimate)), _solved("e0", lambda f: f.decay.e0),
    ),
    Column(
        "accuracy", "Final accuracy", "%", "final-accuracy",
        _words(lambda f: _percent(f.decay.final_accuracy.estimate)),
        _solved("accuracy", lambda f: f.decay.final_accuracy),
    ),
    Column("gain", "Gain", "points", "gain", _words(lambda f: _percent(f.decay.gain)), _measure("gain")),
    Column(
        "lambda", "λ", "per attempt", "lambda", _words(lambda f: wording.rate(f.decay)), _measure("lambda"),
        ascending=True,
    ),
    Column(
        "half_life", "Half-life", "attempts", "half-life",
        _words(lambda f: "–" if f.decay.lambda_ is None else wording.half_life(f.decay)), _measure("half_life"),
    ),
    _theta(50),
    _theta(80),
    Column("r2", "R²", "", "r-squared", _words(lambda f: _three(f.decay.r_squared))),
    _measured("careful_lambda", "Careful λ"),
    _measured("careful_lambda_debugging", "Careful λ, t ≥ 1"),
    *(_measured(f"isr_{k}", f"ISR@{k}") for k in (2, 3, 5, 10)),
    _measured("mis", "MIS"),
    _measured("median_iteration", "Median iteration"),
    _measured("pass_1", "pass@1"),
    _measured("fix_rate", "Fix rate"),
    _measured("improved", "More cases"),
    _measured("regressed", "Regressions"),
    _measured("hidden_failures", "Hidden failures"),
    _measured("solved_per_1000_tokens", "Solved per 1,000 tokens"),
    _measured("solved_per_cost", "Solved per $"),
    _repaired("precision", "Precision", lambda repairs: repairs.precision),
    _repaired("recall", "Recall", lambda repairs: repairs.recall),
    _repaired("f1", "F1", lambda repairs: repairs.f1),
    _repaired("unit_pass", "Pass rate", lambda repairs: repairs.unit_pass),
    Column(
        "tokens", "Tokens", "", "tokens", lambda row: "unknown" if row.tokens is None else f"{row.tokens:,}",
        ascending=True,
    ),
    Column(
        "cost", "Cost", "$", "cost", lambda row: "unknown" if row.cost is None else f"{row.cost:,.4f}", ascending=True
    ),
    Column(
        "repeats", "Repeats", "%", "repeats",
        _words(lambda f: _percent(f.repeats.estimate)), _share(lambda f: f.repeats), ascending=True,
    ),
    Column("weak", "Weak", "verdicts", "weak", _words(lambda f: f"{f.weak:,}"), ascending=True),
    Column("near_limit", "Near limit", "verdicts", "near-limit", _words(lambda f: f"{f.near_limit:,}"), ascending=True),
    Column(
        "unfinished", "Unfinished", "problems", "excluded", _words(lambda f: f"{f.left_unfinished:,}"), ascending=True
    ),
)  # fmt: skip
BY_SLUG = {column.slug: column for column in COLUMNS}
USUAL_COLUMNS = ("e0", "accuracy", "gain", "lambda", "r2", "careful_lambda", "tokens", "cost")
USUAL_OF_REPAIRS = ("e0", "accuracy", "precision", "recall", "f1", "unit_pass", "tokens", "cost")
USUAL_SORT = "accuracy"


def usual_columns(start: Start | None) -> tuple[str, ...]:
    """What a board shows where nobody chose: where runs start from buggy programs, what their repairs are worth."""
    return USUAL_OF_REPAIRS if start is Start.DEBUG else USUAL_COLUMNS


@dataclass(frozen=True, slots=True)
class BoardQuery:
    """Everything that decides what a board shows; all of it stands in the address.

    `run_ids` makes a comparison of just these runs. `alike` leaves out runs under other conditions than the usual.
    `e0_cut` (percent) and `lambda_cut`: from where on archetypes call them high, in place of the medians.
    """

    problem_set_id: int | None = None
    run_ids: tuple[int, ...] = ()
    start: Start | None = None
    model: int | None = None
    disclosure: Disclosure | None = None
    attempts: int | None = None
    unfinished: bool = False
    alike: bool = False
    sort: str = USUAL_SORT
    ascending: bool = False
    columns: tuple[str, ...] = USUAL_COLUMNS
    page: int = 1
    e0_cut: float | None = None
    lambda_cut: float | None = None

    @classmethod
    def read(cls, given: QueryParams) -> "BoardQuery":
        """From an address. What makes no sense is passed over: an old or mistyped link shows what it can.

        Raises InputError for a list of more than `MOST_COMPARED` runs: none of them is dropped silently.
        """
        sort = given.get("sort", "")
        column = BY_SLUG.get(sort, BY_SLUG[USUAL_SORT])
        order = given.get("order")
        chosen = tuple(slug for slug in BY_SLUG if slug in given.getlist("column"))
        listed = [number for run in given.getlist("run") for part in run.split(",") if (number := _number(part))]
        if len(listed) > MOST_COMPARED:
            raise InputError(f"at most {MOST_COMPARED} runs are put side by side, not {len(listed)}")
        start = _choice(Start, given.get("start"))
        return cls(
            problem_set_id=_number(given.get("set")),
            run_ids=tuple(dict.fromkeys(listed)),
            start=start,
            model=_number(given.get("model")),
            disclosure=_choice(Disclosure, given.get("disclosure")),
            attempts=_number(given.get("attempts")),
            unfinished=given.get("unfinished") == "1",
            alike=given.get("alike") == "1",
            sort=column.slug,
            ascending=column.ascending if order not in ("asc", "desc") else order == "asc",
            columns=chosen or usual_columns(start),
            page=_number(given.get("page")) or 1,
            e0_cut=_decimal(given.get("e0_cut"), 100),
            lambda_cut=_decimal(given.get("lambda_cut"), 100),
        )

    def address(self, **changes: Any) -> str:
        """The query string of this board, or of one with changes; without what is as usual."""
        asked = replace(self, **changes)
        if self.columns == usual_columns(self.start) and "columns" not in changes:
            asked = replace(asked, columns=usual_columns(asked.start))
        pairs: list[tuple[str, str]] = []
        for name, value in (("set", asked.problem_set_id), ("start", asked.start), ("model", asked.model),
                            ("disclosure", asked.disclosure), ("attempts", asked.attempts)):  # fmt: skip
            if value is not None:
                pairs.append((name, str(value)))
        if asked.run_ids:
            pairs.append(("run", ",".join(map(str, asked.run_ids))))
        pairs += [(name, "1") for name in ("unfinished", "alike") if getattr(asked, name)]
        if (asked.sort, asked.ascending) != (USUAL_SORT, False):
            pairs += [("sort", asked.sort), ("order", "asc" if asked.ascending else "desc")]
        if asked.columns != usual_columns(asked.start):
            pairs += [("column", slug) for slug in asked.columns]
        for name, cut in (("e0_cut", asked.e0_cut), ("lambda_cut", asked.lambda_cut)):
            if cut is not None:
                pairs.append((name, f"{cut:g}"))
        if asked.page != 1:
            pairs.append(("page", str(asked.page)))
        return urlencode(pairs, safe=",")

    @property
    def filter(self) -> BoardFilter:
        """What decides which runs are on the board."""
        return BoardFilter(self.problem_set_id, self.run_ids, self.start, self.model, self.disclosure, self.attempts)

    @property
    def order(self) -> BoardOrder:
        """What decides in which order."""
        return BoardOrder(self.sort, self.ascending)

    @property
    def rows(self) -> range:
        """Which places of that order the page shows."""
        return range((self.page - 1) * PAGE, self.page * PAGE)

    def sorted_by(self, slug: str) -> str:
        """The address that sorts by a column: its better end first, the other end when it is in force already."""
        ascending = not self.ascending if slug == self.sort else BY_SLUG[slug].ascending
        return self.address(sort=slug, ascending=ascending, page=1)


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a board with what must be said of it. `differs`: in what its conditions are not the usual ones.

    `conditions` in words and `command` are what it takes to repeat the run. `tie_group` is among the comparable rows
    shown with it, from 0 on; None where it is in none, or none were formed. `archetype` by the board's cut-offs.
    """

    row: BoardRow
    differs: tuple[str, ...]
    cautions: tuple[str, ...]
    conditions: tuple[tuple[str, str], ...]
    command: str
    archetype: Archetype | None = None
    tie_group: int | None = None

    @property
    def difference(self) -> str:
        """Why the run is not to be compared with the others."""
        return f"Not comparable with the others: {'; '.join(self.differs)}."

    @property
    def caution(self) -> str:
        """What limits trust in its figures."""
        return f"{'; '.join(self.cautions)}."


@dataclass(frozen=True, slots=True)
class Board:
    """What is said of a whole board: its title in words, what its runs share, and how many there are.

    `compared` counts the runs before `alike` leaves some out, `alike` those under the usual conditions, `uncomputed`
    those whose figures the workers have not computed yet, and `total` the rows there are to show. `cuts`: from where
    on archetypes call E0 and λ high, the `medians` of its comparable runs or as the reader chose.
    """

    title: str
    start: Start | None
    usual: tuple[tuple[str, str], ...]
    compared: int
    alike: int
    uncomputed: int
    total: int
    cuts: CutOffs | None = None
    medians: CutOffs | None = None


@dataclass(frozen=True, slots=True)
class BoardChoices:
    """What a board may be narrowed to, and what it leaves out."""

    sets: list[SetWithRuns]
    starts: dict[Start, int]
    models: list[Choice]
    attempts: list[int]
    unfinished: int


@dataclass(frozen=True, slots=True)
class BoardView:
    """A board as it is now, counted but not read: see `board_lines`.

    `query` is the one asked for with what it left open filled in, `missing` are runs of its list that do not exist.
    `usual`: the conditions that most runs share, `like`: the same in short where others are left out. `loose`: the rows
    without stored figures, each with itself as a group.
    """

    query: BoardQuery
    board: Board
    choices: BoardChoices
    missing: tuple[int, ...]
    usual: Conditions | None
    like: ConditionsKey | None
    loose: tuple[tuple[BoardRow, BoardGroup], ...]


def view_board(db: Database, asked: BoardQuery) -> BoardView:
    """Count a board. Figures that are missing are computed first, up to `MOST_MEASURED` runs.

    Raises NotFoundError for a problem set that has no runs.
    """
    with db.read() as session:
        sets = sets_with_runs(session)
        query = _settled(asked, sets)
        groups, others = _groups(session, query)
    unmeasured = [row.run_id for row in others if row.finished]
    if unmeasured:
        measure_runs(db, unmeasured[:MOST_MEASURED])
    with db.read() as session:
        if unmeasured:
            groups, others = _groups(session, query)
        loose = [(row, row.group) for row in others]
        groups += [group for _, group in loose]
        starts = {
            start: runs for start in Start if (runs := sum(group.runs for group in groups if group.start is start))
        }
        if query.start is None and not query.run_ids and groups:
            # First answers and first repairs never share a board, so one of them is always chosen.
            start = Start.GENERATE if Start.GENERATE in starts else Start.DEBUG
            as_usual = query.columns == usual_columns(None)
            query = replace(query, start=start, columns=usual_columns(start) if as_usual else query.columns)
        kept = [group for group in groups if query.filter.keeps(group)]
        loose = [(row, group) for row, group in loose if query.filter.keeps(group)]
        shared = usual(kept)
        under = None if shared is None else _conditions(session, shared.newest, loose)
        listed = queries.listed_runs(session, query.filter) if query.run_ids else {}
        compared = sum(group.runs for group in kept)
        alike = sum(group.runs for group in kept if shared is not None and group.key.alike(shared.key))
        middle = None if shared is None else medians(queries.described_runs(session, query.filter, shared.key))
        board = Board(
            title=_title(query, sets, listed, compared),
            start=query.start,
            usual=() if under is None else conditions.described(under),
            compared=compared,
            alike=alike,
            uncomputed=sum(row.figures is None for row, _ in loose),
            total=alike if query.alike else compared,
            cuts=_cuts(query, middle),
            medians=middle,
        )
        choices = BoardChoices(
            sets=sets,
            starts=starts,
            models=queries.board_models(session, groups),
            attempts=sorted({group.attempts for group in groups}),
            unfinished=0 if query.problem_set_id is None else queries.unfinished_runs(session, query.problem_set_id),
        )
    missing = tuple(run_id for run_id in query.run_ids if run_id not in listed)
    like = shared.key if query.alike and shared is not None else None
    return BoardView(query, board, choices, missing, under, like, tuple(loose))


def board_lines(db: Database, view: BoardView, rows: range | None = None) -> Iterator[Line]:
    """The rows of a board in its order, whole: those at the places `rows` (of step 1), or all of them."""
    with db.read() as session:
        run_ids = _ordered(session, view, rows)
    loose = {row.run_id: row for row, _ in view.loose}
    for first in range(0, len(run_ids), _AT_A_TIME):
        some = run_ids[first : first + _AT_A_TIME]
        with db.read() as session:
            found = queries.board_rows(session, some) | loose
            heads = queries.run_heads(session, some)
        for run_id in some:
            line = line_of(found[run_id], heads[run_id], view.usual)
            figures, cuts = line.row.figures, view.board.cuts
            yield line if figures is None or cuts is None else replace(line, archetype=archetype(figures.decay, cuts))


def tied(db: Database, lines: Sequence[Line]) -> list[Line]:
    """Rows shown together with their tie groups: of those under the usual conditions with stored figures, if two are.

    The paired tests are over the pairs of these alone, so that a long board costs no more than a short one.
    """
    alike = [line.row.run_id for line in lines if not line.differs]
    with db.read() as session:
        marks = queries.board_endings(session, alike)
    # Under equal conditions runs have equal problems; one with fewer trajectories could not be laid beside the others.
    width = max(map(len, marks.values()), default=0)
    runs = [run_id for run_id in alike if len(marks.get(run_id, "")) == width > 0]
    if len(runs) < 2:
        return list(lines)
    found = np.array([list(marks[run_id]) for run_id in runs])
    groups = dict(zip(runs, tie_groups(found == "1", found != "-"), strict=True))
    return [replace(line, tie_group=groups.get(line.row.run_id)) for line in lines]


def _cuts(query: BoardQuery, middle: CutOffs | None) -> CutOffs | None:
    """The cut-offs chosen, with the medians for those that are not."""
    if query.e0_cut is None and query.lambda_cut is None:
        return middle
    e0 = query.e0_cut / 100 if query.e0_cut is not None else None if middle is None else middle.e0
    rate = query.lambda_cut if query.lambda_cut is not None else None if middle is None else middle.lambda_
    return None if e0 is None or rate is None else CutOffs(e0, rate)


def resorted(lines: Sequence[Line], query: BoardQuery) -> list[Line]:
    """Lines of a stored board in another order."""
    by_run = {line.row.run_id: line for line in lines}
    values = [(run_id, BY_SLUG[query.sort].value(line.row)) for run_id, line in by_run.items()]
    return [by_run[run_id] for run_id, _ in sorted(values, key=_place(query))]


def _settled(query: BoardQuery, sets: Sequence[SetWithRuns]) -> BoardQuery:
    """The query with a problem set: the one asked for, else that of the newest run.

    Raises NotFoundError for a problem set that has no runs.
    """
    if query.run_ids or not sets:
        return query
    if query.problem_set_id is None:
        return replace(query, problem_set_id=sets[0].id)
    if all(one.id != query.problem_set_id for one in sets):
        raise NotFoundError(f"no run is of problem set {query.problem_set_id}")
    return query


def _groups(session: Session, query: BoardQuery) -> tuple[list[BoardGroup], list[BoardRow]]:
    unfinished = query.unfinished or bool(query.run_ids)
    return queries.board_groups(session, query.filter, unfinished=unfinished, judge_version=JUDGE_VERSION)


def _ordered(session: Session, view: BoardView, rows: range | None) -> list[int]:
    """The runs at these places. Those without stored figures are merged in."""
    query = view.query
    loose = [
        (row.run_id, BY_SLUG[query.sort].value(row))
        for row, group in view.loose
        if view.like is None or group.key.alike(view.like)
    ]
    # As many of them as there are may stand before the first place that is wanted.
    skipped = 0 if rows is None else max(0, rows.start - len(loose))
    stored = queries.ranked_runs(
        session, query.filter, query.order, view.like, None if rows is None else range(skipped, rows.stop)
    )
    merged = [run_id for run_id, _ in sorted([*stored, *loose], key=_place(query))]
    return merged if rows is None else merged[rows.start - skipped : rows.stop - skipped]


def _place(query: BoardQuery) -> Callable[[tuple[int, float | None]], tuple[bool, float, int]]:
    """Sorts runs by a value as the database does: undefined ones last, the newest run first among equals."""
    sign = 1 if query.ascending else -1
    return lambda entry: (entry[1] is None, sign * (entry[1] or 0), -entry[0])


def line_of(row: BoardRow, head: RunHead, shared: Conditions | None) -> Line:
    """A run with what must be said of it beside runs under the conditions `shared`."""
    under = row.conditions
    found = () if shared is None else differences(under, shared)
    return Line(
        row=row,
        differs=tuple(map(_difference, found)),
        cautions=tuple(_cautions(row)),
        conditions=conditions.described(under),
        command=create_command(head),
    )


def _conditions(session: Session, run_id: int, loose: Sequence[tuple[BoardRow, BoardGroup]]) -> Conditions:
    """Those of one run."""
    for row, _ in loose:
        if row.run_id == run_id:
            return row.conditions
    return queries.board_rows(session, [run_id])[run_id].conditions


def _title(query: BoardQuery, sets: Sequence[SetWithRuns], listed: dict[int, tuple[str, int]], compared: int) -> str:
    if not query.run_ids:
        named = (f"{one.name}, version {one.version}" for one in sets if one.id == query.problem_set_id)
        return next(named, "no problem set")
    if not compared:
        return "No runs"
    names = sorted({f"{name}, version {version}" for name, version in listed.values()})
    where = " and ".join(names) if len(names) <= 2 else "several problem sets"
    return f"{wording.count(compared, 'run')} on {where}"


def _difference(difference: Difference) -> str:
    value, usual_value = (conditions.in_words(difference.condition, v) for v in (difference.value, difference.usual))
    if value == usual_value:
        return f"other {conditions.label(difference.condition)}"
    return f"{conditions.label(difference.condition)}: {value} instead of {usual_value}"


def _cautions(row: BoardRow) -> list[str]:
    """What limits trust in a row, in words with counts."""
    figures = row.figures
    if figures is None:
        return ["figures not computed yet: the workers do so, reload in a moment"]
    notes = []
    if not row.finished:
        notes.append(f"provisional: {row.ended:,} of {wording.count(row.problems, 'problem')} ended")
    elif figures.left_unfinished:
        parts = [
            f"{number:,} {word}"
            for number, word in (
                (figures.excluded, "excluded before a first verdict"),
                (figures.cut_short, "censored later"),
                (figures.ended_early, "ended early"),
            )
            if number
        ]
        notes.append(
            f"incomplete: {wording.count(figures.left_unfinished, 'problem')} not finished ({', '.join(parts)})"
        )
    if any(int(version) != JUDGE_VERSION for version in figures.judge_versions):
        notes.append(f"judging outdated: judge {row.judge_version}, today's is {JUDGE_VERSION}")
    if row.imported_from is not None:
        notes.append(f"{wording.imported(row.imported_from, demo=row.demo)}")
    if figures.recorded:
        notes.append(f"{wording.count(figures.recorded, 'verdict')} as recorded, not judged here")
    if figures.unsandboxed:
        notes.append(f"{wording.count(figures.unsandboxed, 'verdict')} without isolation")
    if figures.weak:
        notes.append(f"{wording.count(figures.weak, 'weak verdict')}")
    if figures.near_limit:
        notes.append(f"{wording.count(figures.near_limit, 'verdict')} near the time limit")
    if figures.unscored:
        notes.append(f"{wording.count(figures.unscored, 'repair')} without a score, outside precision and recall")
    if figures.rejudged_midway:
        notes.append(f"{wording.count(figures.rejudged_midway, 'attempt')} re-judged midway")
    if row.imported_from is None and (figures.tokens_unknown or figures.possibly_billed):
        notes.append("tokens counted at the most they can be")
    return notes


def _number(text: str | None) -> int | None:
    """A positive whole number that fits an integer column, or None."""
    if text is None or not (text.isascii() and text.isdecimal()) or len(text) > 10:
        return None
    return int(text) if 0 < int(text) <= LARGEST_ID else None


def _decimal(text: str | None, most: float) -> float | None:
    """A number from 0 to `most`, or None."""
    try:
        value = float(text or "nan")
    except ValueError:
        return None
    return value if 0 <= value <= most else None


def _choice(kind: type[_Kind], text: str | None) -> _Kind | None:
    return next((one for one in kind if one.value == text), None)


def _figure(read: Callable[[RunFigures], Any]) -> Callable[[Line], Any]:
    return lambda line: None if line.row.figures is None else read(line.row.figures)


def _column_fields(column: Column) -> dict[str, Callable[[Line], Any]]:
    found: dict[str, Callable[[Line], Any]] = {column.slug: lambda line: column.value(line.row)}
    if column.bounds is not None:
        found[f"{column.slug}_low"] = lambda line: getattr(column.found(line.row), "low", None)
        found[f"{column.slug}_high"] = lambda line: getattr(column.found(line.row), "high", None)
    return found


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()


LINE_FIELDS: dict[str, Callable[[Line], Any]] = {
    "run": lambda line: line.row.run_id,
    "model": lambda line: line.row.model_name,
    "model_id": lambda line: line.row.model,
    "problem_set": lambda line: line.row.problem_set_name,
    "problem_set_version": lambda line: line.row.problem_set_version,
    "problem_set_hash": lambda line: line.row.problem_set_hash,
    "status": lambda line: line.row.status,
    "imported_from": lambda line: line.row.imported_from,
    "demo": lambda line: line.row.demo,
    "problems": lambda line: line.row.problems,
    "ended": lambda line: line.row.ended,
    "n": _figure(lambda figures: figures.decay.n),
    **{name: read for column in COLUMNS for name, read in _column_fields(column).items()},
    "archetype": lambda line: None if line.archetype is None else line.archetype.value,
    "r2_quality": _figure(lambda figures: figures.decay.quality),
    "fit_status": _figure(lambda figures: figures.decay.status),
    "solved_at_attempt": _figure(lambda figures: list(figures.solved)),
    "censored_after_attempt": _figure(lambda figures: list(figures.censored)),
    "excluded": _figure(lambda figures: figures.excluded),
    "comparable": lambda line: not line.differs,
    "differs": lambda line: list(line.differs),
    "cautions": lambda line: list(line.cautions),
    "conditions": lambda line: dict(line.conditions),
    "seed": lambda line: line.row.protocol.seed,
    "created_at": lambda line: _time(line.row.created_at),
    "finished_at": lambda line: _time(None if line.row.created_at is None else line.row.finished_at),
    "command": lambda line: line.command,
}
"""A line as the API and exports give it, by name: shares are fractions, None is undefined or unknown."""


def line_document(line: Line) -> dict[str, Any]:
    """Every field of a line."""
    return {name: read(line) for name, read in LINE_FIELDS.items()}


def board_document(board: Board) -> dict[str, Any]:
    """What is said of a whole board, without its rows."""
    return {
        "title": board.title,
        "usual_conditions": dict(board.usual),
        "runs": board.compared,
        "comparable": board.alike,
        "uncomputed": board.uncomputed,
        "archetype_cut_offs": None if board.cuts is None else {"e0": board.cuts.e0, "lambda": board.cuts.lambda_},
    }


def board_bars(lines: Iterable[Line], query: BoardQuery) -> tuple[str, list[tuple[str, Bounds]]]:
    """Rows by name with a share and its interval: what is sorted by where that is one, else the accuracy."""
    column = BY_SLUG[query.sort]
    if column.unit != "%" or column.bounds is None:
        column = BY_SLUG[USUAL_SORT]
    found = ((line.row.model_name, column.found(line.row)) for line in lines)
    return column.label, [(name, share) for name, share in found if share is not None]


def shown_columns(slugs: Sequence[str]) -> list[Column]:
    """The columns of a query, in the catalogue's order."""
    return [BY_SLUG[slug] for slug in slugs]
