"""Tables for papers: a run, the rows of a leaderboard and a comparison as LaTeX, smaller where wider than a line."""

from collections.abc import Iterable, Sequence
from typing import cast

from app.db.queries.run import RunHead
from app.domain.metrics.catalogue import Measures
from app.domain.metrics.figures import RunFigures
from app.web import fits, wording
from app.web.board import BoardView, Column, Line
from app.web.comparison import Comparison, FigureCell, figure_rows, points
from app.web.measures import figure_words

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "#": r"\#", "&": r"\&", "_": r"\_", "$": r"\$",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip
_SIGNS = {
    "λ": r"$\lambda$", "θ": r"$\theta$", "≥": r"$\geq$", "−": "$-$", "–": "--", "²": "$^2$", "·": r"$\cdot$",
    "∞": r"$\infty$", "×": r"$\times$", "…": r"\ldots{}", "’": "'",
}  # fmt: skip


def tex(text: str) -> str:
    """Text as LaTeX sets it; the field's signs as mathematics, what does not print left out."""
    signs = _SPECIAL | _SIGNS
    return "".join(signs.get(character, character) for character in text if character.isprintable())


def run_table(head: RunHead, line: Line) -> str:
    """The figures of a run with their intervals, and its effectiveness by attempt; `line` has its figures."""
    figures, measures = cast(RunFigures, line.row.figures), cast(Measures, line.row.measures)
    where = f"{head.endpoint.name} on {head.problem_set.name}, version {head.problem_set.version}"
    found = fits.fits_of_run(figures)
    index = found.published
    shares = [("E0", index.e0), ("Final accuracy", index.final_accuracy)]
    rows = [
        [name, f"{_percent(one.estimate)} %", f"{_percent(one.low)} – {_percent(one.high)}"] for name, one in shares
    ]
    for slug, name, unit in (
        ("gain", "Gain by debugging", "share"),
        ("lambda", "λ, published fit", ""),
        ("half_life", "Half-life, published fit", ""),
    ):
        one = measures.of(slug)
        value, interval, note = (None, "", "") if one is None else figure_words(one, unit)
        percent = " %" if unit and value is not None else ""
        rows.append([name, f"{value or '–'}{percent}", interval.replace(" to ", " – ") or note])
    quality = "" if index.quality is None else f" ({index.quality.value})"
    rows += [
        ["t_50 · t_80 · t_90", wording.thetas(index), ""],
        ["R² of the published fit", "–" if index.r_squared is None else f"{index.r_squared:.3f}{quality}", ""],
    ]
    for fit in (found.careful, found.debugging):
        interval = fits.rate_interval(fit).replace(" to ", " – ")
        rows.append([f"λ, careful fit, {fits.range_name(fit)}", fits.rate_value(fit), interval])
    note = (
        f"{wording.count(index.n, 'problem')}; {figures.excluded:,} excluded before a first verdict, "
        f"{figures.cut_short:,} censored later. 95 % intervals."
    )
    by_attempt = [
        [
            str(point.attempt), f"{point.solved:,}", f"{point.at_risk:,}", _percent(point.hazard.estimate),
            f"{_percent(point.hazard.low)} – {_percent(point.hazard.high)}",
            wording.fit_at(index, point.attempt), _percent(fits.chance_at(found.careful, point.attempt)),
        ]
        for point in index.points
    ]  # fmt: skip
    label = f"halflife-run-{head.run.id}"
    return _file(
        [
            _table(
                f"{where}: figures. {note}{_caveats([line])} {fits.CAVEAT}",
                label,
                ("Figure", "Estimate", "95 % interval"),
                rows,
            ),
            _table(
                f"{where}: effectiveness by attempt, percent of the problems still unsolved that are solved.",
                f"{label}-attempts",
                ("Attempt", "Solved", "At risk", "Effectiveness", "95 % interval", "Published fit", "Careful fit"),
                by_attempt,
            ),
        ]
    )


def board_table(view: BoardView, lines: Sequence[Line], columns: Sequence[Column]) -> str:
    """The rows given of a leaderboard, which are in its order; those under other conditions are marked."""
    header = ["Model", *(f"{one.label}, {one.unit}" if one.unit else one.label for one in columns)]
    rows = [
        [
            f"{line.row.model_name}, run {line.row.run_id}{' *' if line.differs else ''}",
            *(_cell(one, line) for one in columns),
        ]
        for line in lines
    ]
    first, total = view.query.rows.start, view.board.total
    shown = "" if len(lines) == total else f" Rows {first + 1:,} to {first + len(lines):,} of {total:,}."
    marked = " An asterisk marks runs under other conditions than most." if any(line.differs for line in lines) else ""
    caption = f"{view.board.title}.{shown} 95 % intervals in brackets.{marked}{_caveats(lines)}"
    if any("λ" in column.label for column in columns):
        caption += f" {fits.CAVEAT}"
    of = view.query.run_ids or (view.query.problem_set_id or 0,)
    return _file([_table(caption, "-".join(["halflife-board", *map(str, of)]), header, rows)])


def _cell(column: Column, line: Line) -> str:
    interval = column.interval(line.row).removesuffix(" %")
    return f"{column.text(line.row)} ({interval})" if interval else column.text(line.row)


def comparison_tables(found: Comparison) -> str:
    """Figures side by side, and every pair where runs can be paired."""
    rows = [
        [
            f"{row.label}, {row.unit}" if row.unit else row.label,
            *map(cell_words, row.cells),
        ]
        for row in figure_rows(found)
    ]
    differs = "".join(
        f" Run {line.row.run_id} differs: {'; '.join(line.differs)}." for line in found.lines if line.differs
    )
    caption = f"Figures with 95 % intervals.{differs}{_caveats(found.lines)} {fits.CAVEAT}"
    label = "-".join(["halflife-compared", *(str(line.row.run_id) for line in found.lines)])
    tables = [_table(caption, label, ("Figure", *found.names), rows)]
    if found.pairs:
        header = ("Run", "Against", "Difference, points", "Gained", "Lost", "Paired", "p exact", "p mid", "p Holm")
        tables.append(_table(sentence_of(found), f"{label}-pairs", header, list(_pairs(found))))
    return _file(tables)


def cell_words(cell: FigureCell) -> str:
    """A figure with its interval; where it should have one and has none, with that."""
    said = cell.interval or cell.note.partition(":")[0] * cell.note.startswith("no interval")
    return f"{cell.value} ({said})" if said else cell.value


def sentence_of(found: Comparison) -> str:
    """What the table of pairs holds."""
    left = f" A pair leaves out up to {wording.count(found.left_out, 'problem')}." if found.left_out else ""
    return (
        "Paired differences of the share solved with Newcombe's 95 % interval, McNemar's exact and mid-p test, and "
        f"Holm's correction of mid-p over {wording.count(len(found.pairs), 'pair')}.{left}"
    )


def _pairs(found: Comparison) -> Iterable[list[str]]:
    for pair in found.pairs:
        one = pair.match.paired
        ps = (one.p_exact, one.p_mid, pair.p_holm)
        yield [
            found.names[pair.first], found.names[pair.second],
            f"{points(one.difference)} ({points(one.low)} to {points(one.high)})",
            f"{one.gained:,}", f"{one.lost:,}", f"{one.n:,}", *(fits.p_value(p).removeprefix("= ") for p in ps),
        ]  # fmt: skip


def _caveats(lines: Sequence[Line]) -> str:
    """What must stand beside the figures of these runs."""
    return "".join(f" Run {line.row.run_id}: {'; '.join(line.cautions)}." for line in lines if line.cautions)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _table(caption: str, label: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [" & ".join(tex(cell) for cell in row) + r" \\" for row in rows]
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{tex(caption)}}}",
            rf"  \label{{tab:{label}}}",
            r"  \begin{adjustbox}{max width=\linewidth}",
            rf"  \begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
            r"    \toprule",
            "    " + " & ".join(tex(name) for name in header) + r" \\",
            r"    \midrule",
            *(f"    {line}" for line in lines),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"  \end{adjustbox}",
            r"\end{table}",
        ]
    )


def _file(tables: Sequence[str]) -> str:
    return "% By Halflife; needs \\usepackage{booktabs,adjustbox}.\n" + "\n\n".join(tables) + "\n"
