"""Charts of iterative refinement: a grid as a heatmap, ISR@k with what censoring leaves open, and verdict flow."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
from markupsafe import Markup

from app.domain.metrics.outcomes import VERDICTS
from app.domain.metrics.survival import SolvedWithin
from app.domain.verdicts import Verdict
from app.web.charts import LIGHT, Palette, in_both_themes
from app.web.grid import CellView, axes, sampled
from app.web.marks import verdict_mark
from app.web.tiers import FIGURES, Figure

_TONES = {
    Verdict.AC: ("#0a7d4f", "#4cc38a"),
    Verdict.WA: ("#b3261e", "#ff8a80"),
    Verdict.RE: ("#8a4fbf", "#c39bf0"),
    Verdict.CE: ("#5b6470", "#9aa3ad"),
    Verdict.TLE: ("#9c5d00", "#f0b45b"),
    Verdict.MLE: ("#a8326e", "#f08cc0"),
    Verdict.NO_CODE: ("#7a5f2e", "#cdb38b"),
}
"""The verdicts' colours of static/css/theme.css, light and dark: Plotly takes no variables."""


_BLACK_FROM = 45.0
"""Percent from which black is read better on cividis than white: Plotly's own choice falls short of 4.5 to 1."""


def grid_chart(views: Sequence[CellView], figure: Figure) -> Markup:
    """One figure of every cell, as a heatmap of temperature × top-p."""
    return in_both_themes(lambda palette: _grid_figure(views, figure, palette))


def isr_chart(points: Sequence[SolvedWithin], single: float | None = None) -> Markup:
    """ISR@k for k = 1, 2, … with intervals and, where problems were cut short, its bounds.

    `single`: the share that one attempt of another run solves, as a line across.
    """
    return in_both_themes(lambda palette: _isr_figure(points, single, palette))


def flow_chart(matrix: Mapping[tuple[Verdict, Verdict], int]) -> Markup:
    """Which verdict follows which, as a Sankey diagram."""
    return in_both_themes(lambda palette: _flow_figure(matrix, palette))


def _grid_figure(views: Sequence[CellView], figure: Figure, palette: Palette) -> go.Figure:
    temperatures, top_ps = axes(views)
    cells = {(view.cell.temperature, view.cell.top_p): view for view in views}
    values: list[list[float | None]] = []
    hovers = []
    written: list[dict[str, Any]] = []
    for place, temperature in enumerate(temperatures):
        row = [cells.get((temperature, top_p)) for top_p in top_ps]
        percents = [None if view is None else _percent(view.shares[figure].estimate) for view in row]
        values.append(percents)
        written += [
            {
                # By place: a category that reads as a number would be taken for one.
                "x": column,
                "y": place,
                "text": f"{percent:.1f}",
                "showarrow": False,
                "font": {"size": 15, "color": "#000000" if percent >= _BLACK_FROM else "#ffffff"},
            }
            for column, percent in enumerate(percents)
            if percent is not None
        ]
        hovers.append(["no run" if view is None else _cell_words(view, figure) for view in row])
    trace = {
        "type": "heatmap",
        "x": [sampled(top_p) for top_p in top_ps],
        "y": [sampled(temperature) for temperature in temperatures],
        "z": values,
        "hovertext": hovers,
        "hoverinfo": "text",
        "colorscale": "Cividis",
        "zmin": 0,
        "zmax": 100,
        "xgap": 3,
        "ygap": 3,
        "colorbar": {
            "title": {"text": "%", "font": {"color": palette.muted}},
            "tickfont": {"color": palette.muted},
            "thickness": 12,
            "outlinewidth": 0,
        },
    }
    axis = {"type": "category", "showgrid": False, "zeroline": False, "fixedrange": True}
    layout = _layout(palette) | {
        "margin": {"l": 64, "r": 8, "t": 12, "b": 48},
        "xaxis": {**axis, **_title("top-p", palette)},
        "yaxis": {**axis, **_title("temperature", palette), "autorange": "reversed"},
        "annotations": written,
    }
    return go.Figure(data=[trace], layout=layout)


def _cell_words(view: CellView, figure: Figure) -> str:
    share = view.shares[figure]
    if share.estimate is None:
        return f"{view.name}<br>no verdict yet"
    interval = "" if share.low is None or share.high is None else f", {100 * share.low:.1f}–{100 * share.high:.1f} %"
    return (
        f"{view.name}<br>{FIGURES[figure].label}: {100 * share.estimate:.1f} %{interval}<br>"
        f"{share.n:,} problems, run {view.cell.run.id}"
    )


def _isr_figure(points: Sequence[SolvedWithin], single: float | None, palette: Palette) -> go.Figure:
    known = [point for point in points if point.estimate is not None]
    iterations = [point.k for point in known]
    percents = [_percent(point.estimate) or 0.0 for point in known]
    lows, highs = ([_percent(bound) or 0.0 for bound in bounds] for bounds in _bounds(known))
    traces: list[dict[str, Any]] = []
    if any(point.censored for point in points):
        for name, ends, dash in (
            ("all cut short had failed", [(one.k, one.all_failed) for one in points], "dot"),
            ("without those cut short", [(one.k, one.all_excluded) for one in points], "dash"),
        ):
            there = [(k, end) for k, end in ends if end is not None]
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "x": [k for k, _ in there],
                    "y": [_percent(end) for _, end in there],
                    "name": name,
                    "line": {"color": palette.muted, "width": 1.4, "dash": dash, "shape": "hv"},
                    "hovertemplate": f"{name}: %{{y:.1f}} % within %{{x}}<extra></extra>",
                }
            )
    traces.append(
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": iterations,
            "y": percents,
            "name": "ISR@k",
            "line": {"color": palette.published, "width": 2, "shape": "hv"},
            "marker": {"color": palette.published, "size": 7},
            "cliponaxis": False,
            "error_y": {
                "type": "data",
                "symmetric": False,
                "array": [high - percent for high, percent in zip(highs, percents, strict=True)],
                "arrayminus": [percent - low for low, percent in zip(lows, percents, strict=True)],
                "color": palette.muted,
                "thickness": 1.2,
                "width": 0,
            },
            "text": [
                f"within {point.k}: {percent:.1f} % of {point.n:,}, {low:.1f}–{high:.1f} %"
                for point, percent, low, high in zip(known, percents, lows, highs, strict=True)
            ],
            "hoverinfo": "text",
        }
    )
    if single is not None:
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [1, len(points)],
                "y": [_percent(single)] * 2,
                "name": "single attempt",
                "line": {"color": palette.careful, "width": 1.6, "dash": "dashdot"},
                "hovertemplate": "single attempt: %{y:.1f} %<extra></extra>",
            }
        )
    layout = _layout(palette) | {
        "showlegend": len(traces) > 1,
        "legend": {"orientation": "h", "x": 0, "y": -0.18, "xanchor": "left", "yanchor": "top"},
        "margin": {"l": 44, "r": 16, "t": 28, "b": 76 if len(traces) > 1 else 48},
        "xaxis": {
            **_title("iterations k", palette),
            "range": [0.7, len(points) + 0.4],
            "dtick": max(1, -(-len(points) // 12)),
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        "yaxis": {
            "range": [0, 103],
            "gridcolor": palette.line,
            "zeroline": True,
            "zerolinecolor": palette.muted,
            "fixedrange": True,
            "tickfont": {"color": palette.muted},
            "nticks": 6,
        },
        "annotations": [
            {
                "text": "% of problems solved within k iterations",
                "xref": "paper",
                "yref": "paper",
                "x": 0,
                "y": 1,
                "xanchor": "left",
                "yanchor": "bottom",
                "yshift": 6,
                "showarrow": False,
                "font": {"color": palette.muted},
            }
        ],
    }
    return go.Figure(data=traces, layout=layout)


def _flow_figure(matrix: Mapping[tuple[Verdict, Verdict], int], palette: Palette) -> go.Figure:
    theme = 0 if palette is LIGHT else 1
    before = [verdict for verdict in VERDICTS if any(one == verdict for one, _ in matrix)]
    after = [verdict for verdict in VERDICTS if any(other == verdict for _, other in matrix)]
    colours = [_TONES[verdict][theme] for verdict in (*before, *after)]
    pairs = sorted(matrix.items(), key=lambda one: (VERDICTS.index(one[0][0]), VERDICTS.index(one[0][1])))
    trace = {
        "type": "sankey",
        "arrangement": "fixed",
        "node": {
            "label": [verdict_mark(verdict).word for verdict in (*before, *after)],
            "color": colours,
            "pad": 18,
            "thickness": 14,
            "line": {"width": 0},
            "hovertemplate": "%{label}: %{value:,} pairs<extra></extra>",
        },
        "link": {
            "source": [before.index(one) for (one, _), _ in pairs],
            "target": [len(before) + after.index(other) for (_, other), _ in pairs],
            "value": [count for _, count in pairs],
            "color": [_faint(_TONES[one][theme]) for (one, _), _ in pairs],
            "hovertemplate": "%{source.label}, then %{target.label}: %{value:,}<extra></extra>",
        },
        "textfont": {"color": palette.text, "size": 13, "shadow": "none"},
    }
    return go.Figure(data=[trace], layout=_layout(palette) | {"margin": {"l": 8, "r": 8, "t": 12, "b": 12}})


def _layout(palette: Palette) -> dict[str, Any]:
    return {
        "template": {},
        "font": {"family": "Inter, sans-serif", "size": 13, "color": palette.text},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hoverlabel": {"bgcolor": palette.surface, "bordercolor": palette.line, "font": {"color": palette.text}},
        "showlegend": False,
        "legend": {},
        "dragmode": False,
    }


def _title(text: str, palette: Palette) -> dict[str, Any]:
    muted = {"color": palette.muted}
    return {"title": {"text": text, "font": {**muted, "size": 13}, "standoff": 8}, "tickfont": muted}


def _bounds(points: Sequence[SolvedWithin]) -> tuple[list[float | None], list[float | None]]:
    return [point.low for point in points], [point.high for point in points]


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 4)


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.35)"
