"""A grid of temperature × top-p as pages, files, the API and the command line show it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.db.queries.grid import Cell, Grid
from app.domain.metrics.comparison import Paired, holm, matched
from app.web import wording
from app.web.fits import p_value
from app.web.tiers import Figure, Share, mis_of, share_of

CSV_HEADER = (
    "run", "temperature", "top_p", "status", "problems", "counted", "without_verdict", "cut_short", "pass_1",
    "pass_1_low", "pass_1_high", "k", "isr", "isr_low", "isr_high", "final_accuracy", "final_accuracy_low",
    "final_accuracy_high", "mis", "paired", "gained", "lost", "difference", "difference_low", "difference_high",
    "p_exact", "p_holm", "tokens", "cost",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CellView:
    """A cell as it is shown. `against` and `p_holm` compare it with the first, None for the first itself."""

    cell: Cell
    shares: dict[Figure, Share]
    mis: float | None
    against: Paired | None
    p_holm: float | None

    @property
    def name(self) -> str:
        """Its place in the grid, in words."""
        return f"temperature {sampled(self.cell.temperature)}, top-p {sampled(self.cell.top_p)}"

    @property
    def ended(self) -> bool:
        """Whether all its trajectories have."""
        return self.cell.run.trajectories_ended == self.cell.run.trajectories_total

    @property
    def left_out(self) -> int:
        """Problems that are not paired: not ended by the rules here, or in the first cell."""
        return 0 if self.against is None else self.cell.run.trajectories_total - self.against.n


def cell_views(found: Grid) -> list[CellView]:
    """The first cell, then the others in the order they were started."""
    first, *others = found.cells
    pairs = [matched(cell.results, first.results).paired for cell in others]
    adjusted = holm([pair.p_exact for pair in pairs])
    return [
        CellView(cell, {figure: share_of(cell.counted, figure) for figure in Figure}, mis_of(cell.counted), pair, p)
        for cell, pair, p in zip(found.cells, [None, *pairs], [None, *adjusted], strict=True)
    ]


def sampled(value: float | None) -> str:
    """A temperature or top-p; None leaves the endpoint's own default."""
    return "default" if value is None else f"{value:g}"


def axes(views: Sequence[CellView]) -> tuple[list[float | None], list[float | None]]:
    """The temperatures and the top-p values that there are, rising; the endpoint's default first."""

    def rising(values: set[float | None]) -> list[float | None]:
        return sorted(values, key=lambda value: -1.0 if value is None else value)

    return rising({view.cell.temperature for view in views}), rising({view.cell.top_p for view in views})


def sentence(views: Sequence[CellView], figure: Figure) -> str:
    """Which cell has most, and whether chance alone explains the differences."""
    known = [(share.estimate, view) for view in views if (share := view.shares[figure]).estimate is not None]
    if not known:
        return "No cell has a verdict yet."
    estimate, best = max(known, key=lambda one: one[0] or 0.0)
    share = best.shares[figure]
    interval = "" if share.low is None or share.high is None else f" ({100 * share.low:.1f}–{100 * share.high:.1f} %)"
    opening = (
        f"Of {wording.count(len(views), 'cell')}, the one at {best.name} has the highest share: "
        f"{100 * (estimate or 0.0):.1f} % of {wording.count(share.n, 'problem')}{interval}."
    )
    told = [view for view in views if view.p_holm is not None and view.p_holm < 0.05]
    if len(views) == 1:
        return opening
    if not told:
        return f"{opening} In the final accuracy no cell differs from the first by more than chance explains."
    parts = [f"{view.name} (p {p_value(view.p_holm or 0.0)} after Holm)" for view in told]
    return f"{opening} In the final accuracy these differ from the first: {'; '.join(parts)}."


def chart_sentence(views: Sequence[CellView], label: str) -> str:
    """How to read the heatmap."""
    temperatures, top_ps = axes(views)
    return (
        f"{label} in percent, by temperature ({len(temperatures)} down) and top-p ({len(top_ps)} across); brighter is "
        "more."
    )


def document(found: Grid) -> dict[str, Any]:
    """All of it as data. Shares are fractions; None is undefined, a default or, for a cost, unknown."""
    views = cell_views(found)
    return {
        "first": found.head.run.id,
        "problems": found.head.run.trajectories_total,
        "attempts": found.head.run.protocol.attempts,
        "summary": sentence(views, Figure.ISR),
        "cells": [_cell_document(view) for view in views],
    }


def csv_rows(found: Grid) -> list[list[Any]]:
    """A row a cell."""
    rows = []
    for one in document(found)["cells"]:
        flat = one | (one["against_first"] or {})
        for name in ("pass_1", "isr", "final_accuracy"):
            flat |= {name: one[name]["estimate"], f"{name}_low": one[name]["low"], f"{name}_high": one[name]["high"]}
        rows.append([flat.get(name) for name in CSV_HEADER])
    return rows


def grid_text(found: Grid) -> str:
    """A line a cell."""
    views = cell_views(found)
    lines = [sentence(views, Figure.ISR)]
    for view in views:
        isr = view.shares[Figure.ISR]
        share = "–" if isr.estimate is None else f"{100 * isr.estimate:.1f} %"
        lines.append(
            f"run {view.cell.run.id}  {view.name}: ISR@{view.cell.run.protocol.attempts} {share} of {isr.n:,}, "
            f"MIS {'–' if view.mis is None else f'{view.mis:g}'}"
        )
    return "\n".join(lines)


def _cell_document(view: CellView) -> dict[str, Any]:
    run, counted, against = view.cell.run, view.cell.counted, view.against
    return {
        "run": run.id,
        "temperature": view.cell.temperature,
        "top_p": view.cell.top_p,
        "status": run.status,
        "problems": run.trajectories_total,
        "counted": 0 if counted is None else counted.of,
        "without_verdict": 0 if counted is None else counted.outside,
        "cut_short": 0 if counted is None else sum(counted.cut),
        "pass_1": asdict(view.shares[Figure.FIRST]),
        "k": run.protocol.attempts,
        "isr": asdict(view.shares[Figure.ISR]),
        "final_accuracy": asdict(view.shares[Figure.FINAL]),
        "mis": view.mis,
        "tokens": run.tokens_spent,
        "cost": run.cost_spent,
        "against_first": None
        if against is None
        else {
            "paired": against.n,
            "left_out": view.left_out,
            "gained": against.gained,
            "lost": against.lost,
            "difference": against.difference,
            "difference_low": against.low,
            "difference_high": against.high,
            "p_exact": against.p_exact,
            "p_holm": view.p_holm,
        },
    }
