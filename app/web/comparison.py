"""Two to ten runs beside each other, as pages, exports, the API and the command line show them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from starlette.datastructures import QueryParams

from app.db.base import LARGEST_ID
from app.db.queries.comparison import ComparedRun, compared_runs
from app.db.queries.endings import Ending, ProblemKey
from app.db.queries.leaderboard import board_rows
from app.db.session import Database
from app.domain.comparability import differences
from app.domain.errors import InputError
from app.domain.metrics.archetypes import LEAST_R_SQUARED, Archetype, CutOffs, archetype, described, medians
from app.domain.metrics.catalogue import CATALOGUE, Metric
from app.domain.metrics.comparison import ALPHA, POWER, Pair, Paired, every_pair, tie_groups
from app.domain.metrics.intervals import Proportion
from app.domain.metrics.refinement import solved_within_budget
from app.judge.judge import JUDGE_VERSION
from app.services.measure_runs import measure_runs
from app.web import fits, wording
from app.web.board import Line, line_of
from app.web.conditions import in_words
from app.web.measures import figure_words
from app.web.rendering import integer, money
from app.web.scatter import round_numbers

FEWEST, MOST = 2, 10
WHOLE = 200
"""Problems that are all on one page of the matrix; of more, fifty are."""
PAGE = 50
_STEPS = 60
"""Budgets tried for a curve beside the round ones."""
LEFT_OUT = (
    "The problems left out are no random part: what is solved ends sooner, which favours runs that were cut short."
)


class Table(StrEnum):
    """What of a comparison is written as CSV."""

    FIGURES = "figures"
    PAIRS = "pairs"
    PROBLEMS = "problems"


@dataclass(frozen=True, slots=True)
class CompareQuery:
    """What a comparison's page shows; all of it stands in the address. `differing`: not what all solved or none did."""

    run_ids: tuple[int, ...] = ()
    differing: bool = False
    page: int = 1

    @classmethod
    def read(cls, given: QueryParams) -> "CompareQuery":
        """From an address: the runs separated by commas, or one by one as forms send them, a board's as `run`.

        Raises InputError for what is no run's number, and for more than ten of them: none is dropped silently.
        """
        listed = [
            part.strip()
            for text in (*given.getlist("runs"), *given.getlist("run"))
            for part in text.replace(" ", ",").split(",")
        ]
        numbers = [_run_id(part) for part in listed if part]
        run_ids = tuple(dict.fromkeys(numbers))
        if len(run_ids) > MOST:
            raise InputError(f"at most {MOST} runs are compared, not {len(run_ids)}")
        page = given.get("page", "")
        return cls(
            run_ids=run_ids,
            differing=given.get("differing") == "1",
            page=int(page) if page.isascii() and page.isdecimal() and 0 < len(page) < 8 and int(page) else 1,
        )

    def address(self, *, differing: bool | None = None, page: int = 1) -> str:
        """The query string of this comparison, with another choice of problems or on another page."""
        differing = self.differing if differing is None else differing
        found = f"runs={','.join(map(str, self.run_ids))}"
        return found + ("&differing=1" if differing else "") + (f"&page={page}" if page > 1 else "")


@dataclass(frozen=True, slots=True)
class Row:
    """A problem in the matrix, with where each run stands: None where it is not among the run's problems."""

    label: str
    cells: tuple[Ending | None, ...]

    @property
    def differs(self) -> bool:
        """Whether some run solved it and another did not."""
        return len({one.solved_at is not None for one in self.cells if one is not None and one.by_rules}) > 1


@dataclass(frozen=True, slots=True)
class FigureCell:
    """A figure of one run in words."""

    value: str
    interval: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A figure of every run."""

    label: str
    anchor: str
    unit: str
    cells: tuple[FigureCell, ...]


@dataclass(frozen=True, slots=True)
class Budgets:
    """Shares solved within budgets a problem, over `of` problems that every run ended.

    `shares`: of each run by budget; None where what a solved problem took is unknown. `marked`: places of the budgets
    that are round numbers.
    """

    of: int
    budgets: tuple[float, ...]
    marked: tuple[int, ...]
    shares: tuple[tuple[Proportion, ...] | None, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs beside each other.

    Attributes
    ----------
    lines
        The runs with what must be said of them; `differs` is from the first.
    pairs
        Every two of them, over the problems that both ended by the rules.
    groups
        Tie groups; empty where nothing is paired.
    kinds, cuts
        The archetype of each run, by the medians of all of them.
    unpaired
        Why nothing is paired; None where it is.
    rows
        Their problems.
    """

    runs: tuple[ComparedRun, ...]
    lines: tuple[Line, ...]
    pairs: tuple[Pair[ProblemKey], ...]
    groups: tuple[int, ...]
    kinds: tuple[Archetype | None, ...]
    cuts: CutOffs | None
    unpaired: str | None
    rows: tuple[Row, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Model and number of each run."""
        return tuple(f"{run.row.model_name}, run {run.row.run_id}" for run in self.runs)

    @property
    def left_out(self) -> int:
        """The most problems that a pair leaves out."""
        return max((pair.left_out for pair in self.pairs), default=0)


def compare(db: Database, run_ids: Sequence[int]) -> Comparison:
    """The runs as they are now. Figures of ended runs that are missing are computed and stored first.

    Raises InputError for fewer than two or more than ten runs, NotFoundError.
    """
    run_ids = tuple(dict.fromkeys(run_ids))
    if not FEWEST <= len(run_ids) <= MOST:
        raise InputError(f"{FEWEST} to {MOST} different runs are compared, not {len(run_ids)}")
    with db.read() as session:
        rows = board_rows(session, run_ids)
    measure_runs(db, [run_id for run_id, row in rows.items() if row.finished and row.figures is None])
    with db.read() as session:
        runs = compared_runs(session, run_ids, JUDGE_VERSION)
    return comparison_of(runs)


def comparison_of(runs: Sequence[ComparedRun]) -> Comparison:
    """What there is to say of these runs."""
    first = runs[0].row.conditions
    lines = tuple(line_of(run.row, run.head, first) for run in runs)
    decays = [run.figures.decay for run in runs]
    cuts = medians(place for decay in decays if (place := described(decay)) is not None)
    kinds = tuple(None if cuts is None else archetype(decay, cuts) for decay in decays)
    unpaired = None
    if len({run.row.problem_set_id for run in runs}) > 1:
        unpaired = "these runs are of different problem sets or versions: only the same problems can be paired"
        return Comparison(tuple(runs), lines, (), (), kinds, cuts, unpaired, ())
    rows = tuple(_rows(runs))
    pairs = every_pair([run.results() for run in runs])
    if not any(pair.match.paired.n for pair in pairs):
        unpaired = "these runs have no problem in common that two of them ended"
        return Comparison(tuple(runs), lines, (), (), kinds, cuts, unpaired, rows)
    cells = [[row.cells[place] for row in rows] for place in range(len(runs))]
    ended = np.array([[one is not None and one.by_rules for one in column] for column in cells], dtype=bool)
    solved = np.array([[one is not None and one.solved_at is not None for one in column] for column in cells])
    return Comparison(tuple(runs), lines, pairs, tie_groups(solved & ended, ended), kinds, cuts, None, rows)


def _rows(runs: Sequence[ComparedRun]) -> Iterator[Row]:
    """The problems of all runs, in the first one's order."""
    keys = dict.fromkeys(key for run in runs for key in run.endings)
    for key in keys:
        cells = tuple(run.endings.get(key) for run in runs)
        yield Row(next(one.label for one in cells if one is not None), cells)


def sentence(found: Comparison) -> str:
    """What came of it, in a sentence with the numbers it rests on."""
    if found.unpaired is not None:
        return f"Not paired: {found.unpaired}."
    pairs = wording.count(len(found.pairs), "pair")
    told = [pair for pair in found.pairs if pair.p_holm <= ALPHA]
    if not told:
        only = "The two runs do not differ" if len(found.runs) == 2 else f"None of {pairs} differs"
        return f"{only} by more than chance explains: these problems do not tell them apart, which is not to be equal."
    # Not the largest, which may rest on a few problems.
    clearest = min(told, key=lambda pair: (pair.p_holm, -abs(pair.match.paired.difference or 0.0)))
    said = _pair_sentence(found, clearest)
    if len(found.pairs) == 1:
        return f"{said}."
    opening = f"{len(told):,} of {pairs} differ{'s' if len(told) == 1 else ''} by more than chance explains"
    return f"{opening}; the clearest: {said}."


def _pair_sentence(found: Comparison, pair: Pair[ProblemKey]) -> str:
    one = pair.match.paired
    first, second = found.names[pair.first], found.names[pair.second]
    return (
        f"{first} against {second} {points(one.difference)} points ({points(one.low)} to {points(one.high)}), "
        f"p {fits.p_value(pair.p_holm)}" + (" after Holm" if len(found.pairs) > 1 else "")
    )


def points(value: float | None) -> str:
    """A difference of shares with its sign."""
    return "–" if value is None else f"{100 * value:+.1f}".replace("-", "−")


def detectable(one: Paired) -> str:
    """The smallest difference that could have been found."""
    if one.detectable is None:
        return "none: too few problems tell the two apart"
    return f"{100 * one.detectable:.1f} points, with power {POWER:g}"


def matrix_sentence(found: Comparison) -> str:
    """How far the runs solve the same problems."""
    whole = [row for row in found.rows if all(one is not None and one.by_rules for one in row.cells)]
    by_all = sum(all(one is not None and one.solved_at is not None for one in row.cells) for row in whole)
    by_none = sum(all(one is not None and one.solved_at is None for one in row.cells) for row in whole)
    text = (
        f"Of {wording.count(len(whole), 'problem')} that every run ended, {by_all:,} {_are(by_all)} solved by all, "
        f"{by_none:,} by none, and {len(whole) - by_all - by_none:,} by some."
    )
    rest = len(found.rows) - len(whole)
    return text + (f" {rest:,} {'was' if rest == 1 else 'were'} not ended by every run." if rest else "")


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def figure_rows(found: Comparison) -> list[FigureRow]:
    """Every figure beside each other; those of the published index that have no interval after its half-life."""
    rows = []
    for metric in CATALOGUE:
        if metric.slug == "fix_rate_counting_last":
            continue
        for key in _keys(metric, found.runs):
            cells = tuple(_measured(run, metric, key) for run in found.runs)
            unit = "%" if metric.unit.startswith("share") else metric.unit
            rows.append(FigureRow(_figure_name(metric, key), metric.anchor, unit, cells))
        if metric.slug == "half_life":
            rows += [
                *(FigureRow(f"t_{theta}", "t-theta", "attempts", _thetas(found, theta)) for theta in (50, 80)),
                FigureRow("R² of the published fit", "r-squared", "", tuple(map(_quality, found.runs))),
            ]
    tokens = tuple(FigureCell(integer(run.row.tokens)) for run in found.runs)
    costs = tuple(FigureCell(money(run.row.cost)) for run in found.runs)
    return [*rows, FigureRow("Tokens", "tokens", "", tokens), FigureRow("Cost", "cost", "$", costs)]


def _keys(metric: Metric, runs: Iterable[ComparedRun]) -> list[str]:
    if metric.slug == "fix_rate":
        return ["all"]
    return list(dict.fromkeys(key for run in runs for key in run.measures.values.get(metric.slug, {})))


def _figure_name(metric: Metric, key: str) -> str:
    if metric.slug in ("isr", "pass_at_k"):
        return metric.label.replace("@k", f"@{key}").replace("within k attempts", f"within {key}")
    return metric.label


def _measured(run: ComparedRun, metric: Metric, key: str) -> FigureCell:
    estimate = run.measures.of(metric.slug, key)
    if estimate is None:
        return FigureCell("–", note="fewer attempts" if metric.slug == "isr" else "fewer samples")
    value, interval, note = figure_words(estimate, metric.unit)
    return FigureCell("–" if value is None else value.replace("-", "−"), interval.replace("-", "−"), note)


def _thetas(found: Comparison, theta: int) -> tuple[FigureCell, ...]:
    def cell(run: ComparedRun) -> FigureCell:
        times = run.figures.decay.t_theta
        if times is None:
            return FigureCell("–", note="no published fit")
        reached = times.get(theta)
        return FigureCell("not reached" if reached is None else f"{reached:,}")

    return tuple(map(cell, found.runs))


def _quality(run: ComparedRun) -> FigureCell:
    decay = run.figures.decay
    if decay.r_squared is None:
        return FigureCell("–")
    return FigureCell(f"{decay.r_squared:.3f}".replace("-", "−"), note=decay.quality or "three points, no word")


def budgets(found: Comparison) -> Budgets | None:
    """What of the problems that every run ended is solved within so many tokens each; None without any."""
    whole = [row for row in found.rows if all(one is not None and one.by_rules for one in row.cells)]
    spent: list[list[int] | None] = []
    for place, run in enumerate(found.runs):
        solved = [one.trajectory_id for row in whole if (one := row.cells[place]) and one.solved_at is not None]
        took = [run.spent[trajectory][0] for trajectory in solved]
        known = [tokens for tokens in took if tokens is not None]
        spent.append(known if len(known) == len(took) else None)
    amounts = [tokens for known in spent if known for tokens in known if tokens > 0]
    if not amounts:
        return None
    # From where nothing is solved to where more would not help.
    first, last = min(amounts) / 2, max(amounts) * 2
    marks = set(round_numbers(first, last))
    tried = sorted(marks | set(np.geomspace(first, last, _STEPS).tolist()))
    shares = tuple(
        None if known is None else tuple(solved_within_budget(known, len(whole), budget) for budget in tried)
        for known in spent
    )
    marked = tuple(place for place, budget in enumerate(tried) if budget in marks)
    return Budgets(len(whole), tuple(tried), marked, shares)


def document(found: Comparison) -> dict[str, Any]:
    """All of it as data. Shares are fractions; None is undefined or unknown."""
    cuts = found.cuts
    return {
        "summary": sentence(found),
        "unpaired": found.unpaired,
        "caveat": LEFT_OUT if found.left_out else None,
        "runs": [
            {
                "run": run.row.run_id,
                "model": run.row.model_name,
                "problem_set": run.row.problem_set_name,
                "problem_set_version": run.row.problem_set_version,
                "status": run.row.status,
                "problems": run.row.problems,
                "ended_by_rules": len(run.results()),
                "solved": sum(run.results().values()),
                "tie_group": found.groups[place] if found.groups else None,
                "archetype": None if kind is None else kind.value,
                "tokens": run.row.tokens,
                "cost": run.row.cost,
                "cautions": list(line.cautions),
                "conditions": dict(line.conditions),
                "command": line.command,
                "figures": {
                    slug: {key: asdict(estimate) for key, estimate in values.items()}
                    for slug, values in run.measures.values.items()
                },
                "decay": fits.fits_document(fits.fits_of_run(run.figures)),
            }
            for place, (run, line, kind) in enumerate(zip(found.runs, found.lines, found.kinds, strict=True))
        ],
        "archetype_cut_offs": {
            "e0": None if cuts is None else cuts.e0,
            "lambda": None if cuts is None else cuts.lambda_,
            "least_r_squared": LEAST_R_SQUARED,
        },
        "pairs": [dict(zip(PAIRS_HEADER, row, strict=True)) for row in pair_rows(found)],
        "differences": [
            {
                "run": run.row.run_id,
                "condition": one.condition,
                "value": in_words(one.condition, one.value),
                "first": in_words(one.condition, one.usual),
            }
            for run in found.runs[1:]
            for one in differences(run.row.conditions, found.runs[0].row.conditions)
        ],
        "problems": [
            {
                "problem": row.label,
                "runs": dict(zip((f"{run.row.run_id}" for run in found.runs), _marks(row), strict=True)),
            }
            for row in found.rows
        ],
    }


PAIRS_HEADER = (
    "run", "other", "paired", "left_out", "both", "gained", "lost", "neither", "difference", "low", "high", "p_exact",
    "p_mid", "p_holm", "smallest_difference",
)  # fmt: skip
FIGURES_HEADER = ("run", "model", "figure", "key", "unit", "estimate", "low", "high", "n", "status", "method")


def pair_rows(found: Comparison) -> Iterator[list[Any]]:
    """A row a pair: `gained` by the run, `lost` to the other."""
    for pair in found.pairs:
        one = pair.match.paired
        yield [
            found.runs[pair.first].row.run_id, found.runs[pair.second].row.run_id, one.n, pair.left_out, one.both,
            one.gained, one.lost, one.neither, one.difference, one.low, one.high, one.p_exact, one.p_mid, pair.p_holm,
            one.detectable,
        ]  # fmt: skip


def table_rows(found: Comparison, table: Table) -> tuple[Sequence[str], Iterator[list[Any]]]:
    """Header and rows of a comparison's table."""
    match table:
        case Table.PAIRS:
            return PAIRS_HEADER, pair_rows(found)
        case Table.FIGURES:
            return FIGURES_HEADER, _figure_values(found)
    header = ["problem", *(f"run_{run.row.run_id}" for run in found.runs)]
    return header, ([row.label, *_marks(row)] for row in found.rows)


def _figure_values(found: Comparison) -> Iterator[list[Any]]:
    for run in found.runs:
        for metric in CATALOGUE:
            for key, one in run.measures.values.get(metric.slug, {}).items():
                yield [
                    run.row.run_id, run.row.model_name, metric.slug, key, metric.unit, one.estimate, one.low, one.high,
                    one.n, one.status.value, None if one.method is None else one.method.value,
                ]  # fmt: skip


def _marks(row: Row) -> list[int | str | None]:
    """The attempt that solved it, `unsolved` or `not_ended`; None where it is not among the run's problems."""
    return [
        None
        if one is None
        else "not_ended"
        if not one.by_rules
        else "unsolved"
        if one.solved_at is None
        else one.solved_at
        for one in row.cells
    ]


def text(found: Comparison) -> str:
    """The comparison for a terminal: the difference first, then its test."""
    lines = [sentence(found)]
    if found.left_out:
        lines.append(LEFT_OUT)
    lines += [f"not comparable: run {line.row.run_id}, {said}" for line in found.lines for said in line.differs]
    lines.append("")
    order = sorted(range(len(found.runs)), key=lambda place: (found.groups[place] if found.groups else 0, place))
    for place in order:
        run, kind = found.runs[place], found.kinds[place]
        results = run.results()
        group = f"tie group {found.groups[place] + 1}  " if found.groups else ""
        share = f" ({100 * sum(results.values()) / len(results):.1f} %)" if results else ""
        lines.append(
            f"{group}run {run.row.run_id}  {sum(results.values()):,} of {len(results):,} solved{share}  "
            f"{run.row.model_name}{'' if kind is None else '  ' + wording.ARCHETYPES[kind]}"
        )
    if found.cuts is not None:
        e0, rate = 100 * found.cuts.e0, found.cuts.lambda_
        lines.append(f"high and low by the medians of these runs: E0 {e0:.1f} %, λ {rate:.3f}")
    for pair in found.pairs:
        one = pair.match.paired
        lines += [
            "",
            f"run {found.runs[pair.first].row.run_id} − run {found.runs[pair.second].row.run_id}: "
            f"{points(one.difference)} points ({points(one.low)} to {points(one.high)}), {one.gained:,} gained, "
            f"{one.lost:,} lost, of {wording.count(one.n, 'problem')}; {pair.left_out:,} left out",
            f"  McNemar p {fits.p_value(one.p_exact)} exact, {fits.p_value(one.p_mid)} mid-p, "
            f"{fits.p_value(pair.p_holm)} after Holm over {len(found.pairs)}",
            f"  smallest difference to be found {detectable(one)}",
        ]
    return "\n".join(lines)


def _run_id(part: str) -> int:
    if not (part.isascii() and part.isdecimal() and len(part) < 11 and 0 < int(part) <= LARGEST_ID):
        raise InputError(f"runs: {part[:40]!r} is no number of a run; write them as 3,7")
    return int(part)
