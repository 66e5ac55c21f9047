"""The leaderboard, as pages, exports, the API and shared links show it: columns, query, and rows with caveats."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlencode

from sqlalchemy.orm import Session
from starlette.datastructures import QueryParams

from app.db.base import LARGEST_ID
from app.db.queries import leaderboard as queries
from app.db.queries.leaderboard import BoardRow, BoardSet
from app.db.queries.runs import Choice
from app.db.session import Database
from app.domain.comparability import Conditions, Difference, differences, usual
from app.domain.errors import InputError, NotFoundError
from app.domain.metrics.figures import RunFigures
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


@dataclass(frozen=True, slots=True)
class Column:
    """One figure of a board. `value` is what is sorted and exported: shares are fractions, None is undefined.

    `anchor`: its paragraph on "How it is computed". `share`: the proportion whose interval stands beside it.
    """

    slug: str
    label: str
    unit: str
    anchor: str
    value: Callable[[BoardRow], float | int | None]
    text: Callable[[BoardRow], str]
    share: Callable[[RunFigures], Proportion] | None = None
    ascending: bool = False
    """Whether the smallest value comes first when a reader sorts by it."""


def _of(read: Callable[[RunFigures], float | int | None]) -> Callable[[BoardRow], float | int | None]:
    return lambda row: None if row.figures is None else read(row.figures)


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
    def value(figures: RunFigures) -> int | None:
        return (figures.decay.t_theta or {}).get(theta)

    def text(figures: RunFigures) -> str:
        reached = value(figures)
        return "–" if figures.decay.t_theta is None else attempts_reached(reached)

    label = f"t_{theta}"
    return Column(label.replace("_", ""), label, "attempts", "t-theta", _of(value), _words(text), ascending=True)


COLUMNS: tuple[Column, ...] = (
    Column(
        "e0", "E0", "%", "e0",
        _of(lambda f: f.decay.e0.estimate), _words(lambda f: _percent(f.decay.e0.estimate)), lambda f: f.decay.e0,
    ),
    Column(
        "accuracy", "Final accuracy", "%", "final-accuracy",
        _of(lambda f: f.decay.final_accuracy.estimate), _words(lambda f: _percent(f.decay.final_accuracy.estimate)),
        lambda f: f.decay.final_accuracy,
    ),
    Column("gain", "Gain", "points", "gain", _of(lambda f: f.decay.gain), _words(lambda f: _percent(f.decay.gain))),
    Column(
        "lambda", "λ", "per attempt", "lambda",
        _of(lambda f: f.decay.lambda_), _words(lambda f: wording.rate(f.decay)), ascending=True,
    ),
    Column(
        "half_life", "Half-life", "attempts", "half-life",
        _of(lambda f: f.decay.half_life),
        _words(lambda f: "–" if f.decay.lambda_ is None else wording.half_life(f.decay)),
    ),
    _theta(50),
    _theta(80),
    Column(
        "r2", "R²", "", "r-squared",
        _of(lambda f: f.decay.r_squared),
        _words(lambda f: _three(f.decay.r_squared)),
    ),
    Column("tokens", "Tokens", "", "tokens", lambda row: row.tokens, lambda row: f"{row.tokens:,}", ascending=True),
    Column(
        "cost", "Cost", "$", "cost",
        lambda row: row.cost, lambda row: "unknown" if row.cost is None else f"{row.cost:,.4f}", ascending=True,
    ),
    Column(
        "repeats", "Repeats", "%", "repeats",
        _of(lambda f: f.repeats.estimate), _words(lambda f: _percent(f.repeats.estimate)), lambda f: f.repeats,
        ascending=True,
    ),
    Column("weak", "Weak", "verdicts", "weak", _of(lambda f: f.weak), _words(lambda f: f"{f.weak:,}"), ascending=True),
    Column(
        "near_limit", "Near limit", "verdicts", "near-limit",
        _of(lambda f: f.near_limit), _words(lambda f: f"{f.near_limit:,}"), ascending=True,
    ),
    Column(
        "unfinished", "Unfinished", "problems", "excluded",
        _of(lambda f: f.left_unfinished), _words(lambda f: f"{f.left_unfinished:,}"), ascending=True,
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

    def sorted_by(self, slug: str) -> str:
        """The address that sorts by a column: its better end first, the other end when it is in force already."""
        ascending = not self.ascending if slug == self.sort else BY_SLUG[slug].ascending
        return self.address(sort=slug, ascending=ascending, page=1)


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a board with what must be said of it. `differs`: in what its conditions are not the usual ones.

    `conditions` in words and `command` are what it takes to repeat the run; empty until `reproducible` fills them in.
    """

    row: BoardRow
    differs: tuple[str, ...]
    cautions: tuple[str, ...]
    conditions: tuple[tuple[str, str], ...] = ()
    command: str = ""

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
    """A board: its title in words, what its runs share, and its lines in the order of the query.

    `compared` counts the runs before `alike` leaves some out, `alike` those under the usual conditions, and
    `uncomputed` those whose figures the workers have not computed yet.
    """

    title: str
    start: Start | None
    usual: tuple[tuple[str, str], ...]
    compared: int
    alike: int
    uncomputed: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class BoardChoices:
    """What a board may be narrowed to, and what it leaves out."""

    sets: list[BoardSet]
    starts: dict[Start, int]
    models: list[Choice]
    attempts: list[int]
    unfinished: int


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


def read_rows(db: Database, query: BoardQuery) -> tuple[list[BoardRow], BoardQuery, list[BoardSet]]:
    """Every row of the problem set or the list, the query with what it left open filled in, and the sets there are.

    Figures that are missing are computed first, up to `MOST_MEASURED` runs. Raises NotFoundError.
    """
    with db.read() as session:
        sets = queries.board_sets(session)
        settled = _settled(query, sets)
        rows = _rows(session, settled)
    missing = [row.run_id for row in rows if row.figures is None and row.finished]
    if missing:
        measure_runs(db, missing[:MOST_MEASURED])
        with db.read() as session:
            rows = _rows(session, settled)
    if settled.start is None and not settled.run_ids and rows:
        # First answers and first repairs never share a board, so one of them is always chosen.
        settled = replace(settled, start=Start.GENERATE if Start.GENERATE in _starts(rows) else Start.DEBUG)
    return rows, settled, sets


def choices(db: Database, rows: Sequence[BoardRow], query: BoardQuery, sets: list[BoardSet]) -> BoardChoices:
    """What this board may be narrowed to."""
    unfinished = 0
    if query.problem_set_id is not None:
        with db.read() as session:
            unfinished = queries.unfinished_runs(session, query.problem_set_id)
    return BoardChoices(
        sets=sets,
        starts=dict(_starts(rows)),
        models=queries.board_models(rows),
        attempts=sorted({row.protocol.attempts for row in rows}),
        unfinished=unfinished,
    )


def make_board(rows: Sequence[BoardRow], query: BoardQuery) -> Board:
    """Narrow, compare and sort the rows. What it takes to repeat them is left out, see `reproducible`."""
    kept = [row for row in rows if _wanted(row, query)]
    under = {row.run_id: _conditions(row) for row in kept}
    shared = usual(list(under.values()))
    found = {row.run_id: () if shared is None else differences(under[row.run_id], shared) for row in kept}
    alike = sum(not differing for differing in found.values())
    column = BY_SLUG[query.sort]
    ranked = sorted(kept, key=lambda row: row.run_id, reverse=True)
    ranked.sort(key=lambda row: column.value(row) or 0, reverse=not query.ascending)
    ranked.sort(key=lambda row: column.value(row) is None)
    lines = tuple(
        Line(row, tuple(map(_difference, found[row.run_id])), tuple(_cautions(row)))
        for row in ranked
        if not (query.alike and found[row.run_id])
    )
    return Board(
        title=_title(kept or rows, query),
        start=query.start,
        usual=() if shared is None else conditions.described(shared),
        compared=len(kept),
        alike=alike,
        uncomputed=sum(row.figures is None for row in kept),
        lines=lines,
    )


def reproducible(db: Database, lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines with all that it takes to repeat each run."""
    with db.read() as session:
        heads = queries.run_heads(session, [line.row.run_id for line in lines])
    return tuple(
        replace(
            line, conditions=conditions.described(_conditions(line.row)), command=create_command(heads[line.row.run_id])
        )
        for line in lines
    )


def rearranged(board: Board, query: BoardQuery) -> Board:
    """A stored board in another order; its comparisons stay as they were."""
    by_run = {line.row.run_id: line for line in board.lines}
    ordered = make_board(
        [line.row for line in board.lines], replace(BoardQuery(), sort=query.sort, ascending=query.ascending)
    )
    return replace(board, lines=tuple(by_run[line.row.run_id] for line in ordered.lines))


def _rows(session: Session, query: BoardQuery) -> list[BoardRow]:
    if query.run_ids:
        return queries.board_rows(session, run_ids=query.run_ids, unfinished=True, judge_version=JUDGE_VERSION)
    if query.problem_set_id is None:
        return []
    return queries.board_rows(
        session,
        problem_set_id=query.problem_set_id,
        unfinished=query.unfinished,
        judge_version=JUDGE_VERSION,
    )


def _starts(rows: Sequence[BoardRow]) -> Counter[Start]:
    return Counter(row.protocol.start for row in rows)


def _wanted(row: BoardRow, query: BoardQuery) -> bool:
    return (
        (query.start is None or row.protocol.start is query.start)
        and (query.model is None or row.endpoint_id == query.model)
        and (query.disclosure is None or row.protocol.disclosure is query.disclosure)
        and (query.attempts is None or row.protocol.attempts == query.attempts)
    )


def _conditions(row: BoardRow) -> Conditions:
    figures = row.figures
    return Conditions(
        problem_set_hash=row.problem_set_hash,
        problems=None if row.subset is None else tuple(sorted(row.subset)),
        judge_version=row.judge_version,
        protocol=row.protocol,
        prompts_version=row.prompts_version,
        sampling=row.sampling,
        sandboxes=() if figures is None else tuple(sorted(figures.sandboxes)),
        memory_tiers=() if figures is None else tuple(sorted(figures.memory_tiers)),
    )


def _title(rows: Sequence[BoardRow], query: BoardQuery) -> str:
    names = {(row.problem_set_name, row.problem_set_version) for row in rows}
    where = (
        " and ".join(f"{name}, version {version}" for name, version in sorted(names))
        if len(names) <= 2
        else "several problem sets"
    )
    if query.run_ids:
        return f"{wording.count(len(rows), 'run')} on {where}" if rows else "No runs"
    return where or "no problem set"


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
    if figures.unsandboxed:
        notes.append(f"{wording.count(figures.unsandboxed, 'verdict')} without isolation")
    if figures.weak:
        notes.append(f"{wording.count(figures.weak, 'weak verdict')}")
    if figures.near_limit:
        notes.append(f"{wording.count(figures.near_limit, 'verdict')} near the time limit")
    if figures.rejudged_midway:
        notes.append(f"{wording.count(figures.rejudged_midway, 'attempt')} re-judged midway")
    if figures.tokens_unknown or figures.possibly_billed:
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
    """A whole board."""
    return {
        "title": board.title,
        "usual_conditions": dict(board.usual),
        "runs": board.compared,
        "comparable": board.alike,
        "uncomputed": board.uncomputed,
        "rows": [line_document(line) for line in board.lines],
    }


def board_bars(board: Board, query: BoardQuery) -> tuple[str, list[tuple[str, Proportion]]]:
    """The first rows by name with a share and its interval: what is sorted by where that is one, else the accuracy."""
    column = BY_SLUG[query.sort] if BY_SLUG[query.sort].share is not None else BY_SLUG[USUAL_SORT]
    bars = [
        (line.row.model_name, column.share(line.row.figures))
        for line in board.lines
        if column.share is not None and line.row.figures is not None
    ]
    return column.label, bars


def shown_columns(slugs: Sequence[str]) -> list[Column]:
    """The columns of a query, in the catalogue's order."""
    return [BY_SLUG[slug] for slug in slugs]
