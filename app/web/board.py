"""The leaderboard, as pages, exports, the API and shared links show it: columns, query, and rows with caveats."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlencode

from sqlalchemy.orm import Session
from starlette.datastructures import QueryParams

from app.db.base import LARGEST_ID
from app.db.queries import leaderboard as queries
from app.db.queries.leaderboard import BoardFilter, BoardGroup, BoardOrder, BoardRow, BoardSet
from app.db.queries.run import RunHead
from app.db.queries.runs import Choice
from app.db.session import Database
from app.domain.comparability import Conditions, ConditionsKey, Difference, differences, usual
from app.domain.errors import InputError, NotFoundError
from app.domain.metrics.figures import RANKED, RunFigures
from app.domain.metrics.intervals import Proportion
from app.domain.protocol.policy import Disclosure, Start
from app.judge.judge import JUDGE_VERSION
from app.services.measure_runs import measure_runs
from app.web import conditions, wording
from app.web.commands import create_command

_Kind = TypeVar("_Kind", bound=StrEnum)

PAGE = 50
MOST_MEASURED = 100
"""Runs whose figures one reader waits for; the workers' sweep computes the rest."""
MOST_COMPARED = 50
"""Runs in a list of runs: more make an address that mail breaks."""
_AT_A_TIME = 100
"""Rows of a board in memory at once."""


@dataclass(frozen=True, slots=True)
class Column:
    """One figure of a board by its name in `RANKED`, or one of a run's counters.

    `anchor`: its paragraph on "How it is computed". `share`: the proportion whose interval stands beside it.
    """

    slug: str
    label: str
    unit: str
    anchor: str
    text: Callable[[BoardRow], str]
    share: Callable[[RunFigures], Proportion] | None = None
    ascending: bool = False
    """Whether the smallest value comes first when a reader sorts by it."""

    def value(self, row: BoardRow) -> float | int | None:
        """What is sorted and exported: shares are fractions, None is undefined."""
        if self.slug in RANKED:
            return None if row.figures is None else RANKED[self.slug](row.figures)
        return row.tokens if self.slug == "tokens" else row.cost


def _words(write: Callable[[RunFigures], str]) -> Callable[[BoardRow], str]:
    return lambda row: "–" if row.figures is None else write(row.figures)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


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


COLUMNS: tuple[Column, ...] = (
    Column("e0", "E0", "%", "e0", _words(lambda f: _percent(f.decay.e0.estimate)), lambda f: f.decay.e0),
    Column(
        "accuracy", "Final accuracy", "%", "final-accuracy",
        _words(lambda f: _percent(f.decay.final_accuracy.estimate)), lambda f: f.decay.final_accuracy,
    ),
    Column("gain", "Gain", "points", "gain", _words(lambda f: _percent(f.decay.gain))),
    Column("lambda", "λ", "per attempt", "lambda", _words(lambda f: wording.rate(f.decay)), ascending=True),
    Column(
        "half_life", "Half-life", "attempts", "half-life",
        _words(lambda f: "–" if f.decay.lambda_ is None else wording.half_life(f.decay)),
    ),
    _theta(50),
    _theta(80),
    Column("r2", "R²", "", "r-squared", _words(lambda f: _three(f.decay.r_squared))),
    Column(
        "tokens", "Tokens", "", "tokens", lambda row: "unknown" if row.tokens is None else f"{row.tokens:,}",
        ascending=True,
    ),
    Column(
        "cost", "Cost", "$", "cost", lambda row: "unknown" if row.cost is None else f"{row.cost:,.4f}", ascending=True
    ),
    Column(
        "repeats", "Repeats", "%", "repeats",
        _words(lambda f: _percent(f.repeats.estimate)), lambda f: f.repeats, ascending=True,
    ),
    Column("weak", "Weak", "verdicts", "weak", _words(lambda f: f"{f.weak:,}"), ascending=True),
    Column("near_limit", "Near limit", "verdicts", "near-limit", _words(lambda f: f"{f.near_limit:,}"), ascending=True),
    Column(
        "unfinished", "Unfinished", "problems", "excluded", _words(lambda f: f"{f.left_unfinished:,}"), ascending=True
    ),
)  # fmt: skip
BY_SLUG = {column.slug: column for column in COLUMNS}
USUAL_COLUMNS = ("e0", "accuracy", "gain", "lambda", "half_life", "r2", "tokens", "cost")
USUAL_SORT = "accuracy"


@dataclass(frozen=True, slots=True)
class BoardQuery:
    """Everything that decides what a board shows; all of it stands in the address.

    `run_ids` makes a comparison of just these runs. `alike` leaves out runs under other conditions than the usual.
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
        return cls(
            problem_set_id=_number(given.get("set")),
            run_ids=tuple(dict.fromkeys(listed)),
            start=_choice(Start, given.get("start")),
            model=_number(given.get("model")),
            disclosure=_choice(Disclosure, given.get("disclosure")),
            attempts=_number(given.get("attempts")),
            unfinished=given.get("unfinished") == "1",
            alike=given.get("alike") == "1",
            sort=column.slug,
            ascending=column.ascending if order not in ("asc", "desc") else order == "asc",
            columns=chosen or USUAL_COLUMNS,
            page=_number(given.get("page")) or 1,
        )

    def address(self, **changes: Any) -> str:
        """The query string of this board, or of one with changes; without what is as usual."""
        asked = replace(self, **changes)
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
        if asked.columns != USUAL_COLUMNS:
            pairs += [("column", slug) for slug in asked.columns]
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

    `conditions` in words and `command` are what it takes to repeat the run.
    """

    row: BoardRow
    differs: tuple[str, ...]
    cautions: tuple[str, ...]
    conditions: tuple[tuple[str, str], ...]
    command: str

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
    those whose figures the workers have not computed yet, and `total` the rows there are to show.
    """

    title: str
    start: Start | None
    usual: tuple[tuple[str, str], ...]
    compared: int
    alike: int
    uncomputed: int
    total: int


@dataclass(frozen=True, slots=True)
class BoardChoices:
    """What a board may be narrowed to, and what it leaves out."""

    sets: list[BoardSet]
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
        sets = queries.board_sets(session)
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
            query = replace(query, start=Start.GENERATE if Start.GENERATE in starts else Start.DEBUG)
        kept = [group for group in groups if query.filter.keeps(group)]
        loose = [(row, group) for row, group in loose if query.filter.keeps(group)]
        shared = usual(kept)
        under = None if shared is None else _conditions(session, shared.newest, loose)
        listed = queries.listed_runs(session, query.filter) if query.run_ids else {}
        compared = sum(group.runs for group in kept)
        alike = sum(group.runs for group in kept if shared is not None and group.key.alike(shared.key))
        board = Board(
            title=_title(query, sets, listed, compared),
            start=query.start,
            usual=() if under is None else conditions.described(under),
            compared=compared,
            alike=alike,
            uncomputed=sum(row.figures is None for row, _ in loose),
            total=alike if query.alike else compared,
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
        yield from (_line(found[run_id], heads[run_id], view.usual) for run_id in some)


def resorted(lines: Sequence[Line], query: BoardQuery) -> list[Line]:
    """Lines of a stored board in another order."""
    by_run = {line.row.run_id: line for line in lines}
    values = [(run_id, BY_SLUG[query.sort].value(line.row)) for run_id, line in by_run.items()]
    return [by_run[run_id] for run_id, _ in sorted(values, key=_place(query))]


def _settled(query: BoardQuery, sets: Sequence[BoardSet]) -> BoardQuery:
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


def _line(row: BoardRow, head: RunHead, shared: Conditions | None) -> Line:
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


def _title(query: BoardQuery, sets: Sequence[BoardSet], listed: dict[int, tuple[str, int]], compared: int) -> str:
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


def _choice(kind: type[_Kind], text: str | None) -> _Kind | None:
    return next((one for one in kind if one.value == text), None)


def _figure(read: Callable[[RunFigures], Any]) -> Callable[[Line], Any]:
    return lambda line: None if line.row.figures is None else read(line.row.figures)


def _column_fields(column: Column) -> dict[str, Callable[[Line], Any]]:
    found: dict[str, Callable[[Line], Any]] = {column.slug: lambda line: column.value(line.row)}
    share = column.share
    if share is not None:
        found[f"{column.slug}_low"] = _figure(lambda figures: share(figures).low)
        found[f"{column.slug}_high"] = _figure(lambda figures: share(figures).high)
    return found


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
    "created_at": lambda line: line.row.created_at.isoformat(),
    "finished_at": lambda line: None if line.row.finished_at is None else line.row.finished_at.isoformat(),
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
    }


def board_bars(lines: Iterable[Line], query: BoardQuery) -> tuple[str, list[tuple[str, Proportion]]]:
    """Rows by name with a share and its interval: what is sorted by where that is one, else the accuracy."""
    column = BY_SLUG[query.sort] if BY_SLUG[query.sort].share is not None else BY_SLUG[USUAL_SORT]
    bars = [
        (line.row.model_name, column.share(line.row.figures))
        for line in lines
        if column.share is not None and line.row.figures is not None
    ]
    return column.label, bars


def shown_columns(slugs: Sequence[str]) -> list[Column]:
    """The columns of a query, in the catalogue's order."""
    return [BY_SLUG[slug] for slug in slugs]
