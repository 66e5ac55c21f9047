"""Plotly figures, built on the server and drawn by static/js/charts.js.

Each chart exists once a theme; the page carries both and the script draws the one in force. Series colours are
Okabe–Ito's, and every series has a dash pattern or a marker of its own as well.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import plotly.graph_objects as go
from markupsafe import Markup

from app.domain.metrics.decay import Decay, RiskSet
from app.domain.metrics.hazard import HazardFit, chance_band
from app.domain.metrics.intervals import Proportion
from app.domain.metrics.unequal import Unequal
from app.domain.protocol.policy import Protocol
from app.web import wording

FIT_STEPS = 60
"""Pieces the fitted curve is drawn in."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one theme; the neutral ones are those of static/css/theme.css."""

    text: str
    muted: str
    line: str
    surface: str
    observed: str
    published: str
    careful: str
    debugging: str
    band: str


LIGHT = Palette(
    "#1c1d1f", "#63676e", "#e3e4e6", "#ffffff", "#1c1d1f", "#0072b2", "#d55e00", "#009e73", "rgba(213,94,0,0.14)"
)
DARK = Palette(
    "#e8e9eb", "#9aa0a8", "#2d3034", "#1b1d20", "#e8e9eb", "#56b4e9", "#e69f00", "#009e73", "rgba(230,159,0,0.16)"
)
_SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
"""Plotly sets <sub> and <sup> with style attributes, which the content security policy refuses."""
THEMES = {"light": LIGHT, "dark": DARK}
_LEGEND_ABOVE = {"orientation": "h", "x": 1, "y": 1, "xanchor": "right", "yanchor": "bottom"}
_LEGEND_BELOW = {"orientation": "h", "x": 0, "y": -0.18, "xanchor": "left", "yanchor": "top"}
"""Beside the name of the axis there is room for two names."""


SERIES_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8c8c00")
SERIES_DASHES = ("dash", "dot", "dashdot", "longdash", "longdashdot", "solid", "dash", "dot", "dashdot")
SERIES_MARKERS = (
    "square", "triangle-up", "x", "cross", "triangle-down", "star", "pentagon", "diamond-open", "square-open",
)  # fmt: skip
"""Of the second series and those after it; the first has the colour of text, a solid line and circles."""


def decay_chart(index: Decay, policy: Protocol, careful: Sequence[HazardFit] = ()) -> Markup:
    """The decay curve, with careful fits if given, as JSON for a <script type="application/json">, both themes."""
    return in_both_themes(lambda palette: _decay_figure(index, policy, careful, palette))


def arms_chart(arms: Sequence[tuple[str, Decay, Mapping[int, int]]]) -> Markup:
    """Effectiveness by attempt of a baseline and its arms: of each its name, curve, and fresh starts by attempt."""
    return in_both_themes(lambda palette: _arms_figure(arms, palette))


def comparison_chart(runs: Sequence[tuple[str, Decay, HazardFit]], attempts: int) -> Markup:
    """Observed effectiveness of runs with intervals, each with its careful fit: of each its name, curve and fit."""
    return in_both_themes(lambda palette: _comparison_figure(runs, attempts, palette))


def budget_chart(
    budgets: Sequence[float], marks: Sequence[float], shares: Sequence[tuple[int, str, Sequence[Proportion]]]
) -> Markup:
    """Shares solved within budgets of tokens a problem: of each run its place in the comparison, name, and shares.

    `marks`: the budgets named on the axis.
    """
    return in_both_themes(lambda palette: _budget_figure(budgets, marks, shares, palette))


def unequal_chart(found: Unequal) -> Markup:
    """Simulated runs in which nothing declines: their effectiveness by attempt beside the unchanging chance."""
    return in_both_themes(lambda palette: _unequal_figure(found, palette))


def in_both_themes(draw: Callable[[Palette], go.Figure]) -> Markup:
    """A figure as JSON for a <script type="application/json">, drawn once a theme."""
    figures = {name: draw(palette).to_plotly_json() for name, palette in THEMES.items()}
    # "<" cannot end the script element, or open a comment in it, once it is an escape.
    text = json.dumps(figures, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704 — JSON of our own numbers and words, with "<" escaped above


def _decay_figure(index: Decay, policy: Protocol, careful: Sequence[HazardFit], palette: Palette) -> go.Figure:
    """Traces and layout are given at once: adding them one by one takes Plotly three times as long."""
    last = policy.attempts - 1
    curves = [_careful(fit, last, palette) for fit in careful]
    bands = [trace for fit in careful if fit.start == 0 for trace in _band(fit, last, palette)]
    traces = [
        *bands,
        *(curve for curve in curves if curve is not None),
        _points(index.points, lambda attempt: wording.attempt_name(policy, attempt), palette),
    ]
    shapes: list[dict[str, Any]] = []
    annotations = [_axis_title(palette)]
    if index.lambda_ is not None and index.intercept is not None:
        traces.insert(len(bands), _fit(index.intercept, index.lambda_, last, palette))
        for attempt, name in reached(index, last).items():
            shapes.append(_tick(attempt, index.intercept * math.exp(-index.lambda_ * attempt), palette))
            annotations.append(_tick_name(attempt, name, palette))
    return go.Figure(
        data=traces,
        layout=_layout(last, ceiling(index), palette, names=len(traces) - len(bands))
        | {"shapes": shapes, "annotations": annotations},
    )


def _arms_figure(arms: Sequence[tuple[str, Decay, Mapping[int, int]]], palette: Palette) -> go.Figure:
    last = max((len(index.points) - 1 for _, index, _ in arms), default=0)
    highest = max((100 * (one.hazard.estimate or 0.0) for _, index, _ in arms for one in index.points), default=100.0)
    traces = []
    for number, (name, index, started) in enumerate(arms):
        colour, dash, _ = series(number, palette)
        attempts = [point.attempt for point in index.points]
        percents = [100 * (point.hazard.estimate or 0.0) for point in index.points]
        texts = [
            f"{name}<br>attempt {point.attempt}: {point.solved:,} of {point.at_risk:,} solved, {percent:.1f} %"
            + (f"<br>{started[point.attempt]:,} started afresh here" if started.get(point.attempt) else "")
            for point, percent in zip(index.points, percents, strict=True)
        ]
        traces.append(
            {
                "type": "scatter",
                "x": attempts,
                "y": percents,
                "mode": "lines+markers",
                "name": name,
                "line": {"color": colour, "width": 2, "dash": dash},
                "marker": {
                    "color": colour,
                    "size": [13 if started.get(attempt) else 7 for attempt in attempts],
                    "symbol": ["diamond" if started.get(attempt) else "circle" for attempt in attempts],
                },
                "cliponaxis": False,
                "text": texts,
                "hoverinfo": "text",
            }
        )
    layout = _layout(last, _ceiling(highest), palette, names=len(traces)) | {"annotations": [_axis_title(palette)]}
    return go.Figure(data=traces, layout=layout)


def series(number: int, palette: Palette) -> tuple[str, str, str]:
    """Colour, dash and marker of a series by its place; ten are told apart."""
    if number == 0:
        return palette.observed, "solid", "circle"
    place = number - 1
    return (
        SERIES_COLOURS[place % len(SERIES_COLOURS)],
        SERIES_DASHES[place % len(SERIES_DASHES)],
        SERIES_MARKERS[place % len(SERIES_MARKERS)],
    )


def _comparison_figure(runs: Sequence[tuple[str, Decay, HazardFit]], attempts: int, palette: Palette) -> go.Figure:
    traces: list[dict[str, Any]] = []
    for number, (name, index, fit) in enumerate(runs):
        colour, dash, symbol = series(number, palette)
        # Beside each other within half an attempt, so that no interval hides another.
        aside = 0.44 * (number - (len(runs) - 1) / 2) / max(1, len(runs) - 1)
        curve = _careful(fit, attempts - 1, palette)
        if curve is not None:
            traces.append(
                curve
                | {"line": {"color": colour, "width": 1.6, "dash": dash}, "legendgroup": name, "showlegend": False}
                | {"hovertemplate": f"{_plain(name)}<br>{curve['hovertemplate']}"}
            )
        points = _points(index.points, partial("{}<br>attempt {}".format, _plain(name)), palette)
        traces.append(
            points
            | {
                "x": [round(point.attempt + aside, 4) for point in index.points],
                "name": _plain(name),
                "legendgroup": name,
                "marker": {"color": colour, "size": 9, "symbol": symbol},
                "error_y": points["error_y"] | {"color": colour},
            }
        )
    top = max((ceiling(index) for _, index, _ in runs if index.points), default=100.0)
    layout = _layout(attempts - 1, top, palette, names=max(3, len(runs))) | {"annotations": [_axis_title(palette)]}
    layout["xaxis"] |= {"range": [-0.45, attempts - 1 + 0.45]}
    return go.Figure(data=traces, layout=layout)


def _budget_figure(
    budgets: Sequence[float],
    marks: Sequence[float],
    shares: Sequence[tuple[int, str, Sequence[Proportion]]],
    palette: Palette,
) -> go.Figure:
    traces = []
    for number, name, found in shares:
        colour, dash, _ = series(number, palette)
        percents = [round(100 * (share.estimate or 0.0), 2) for share in found]
        traces.append(
            {
                "type": "scatter",
                "x": [round(budget, 1) for budget in budgets],
                "y": percents,
                "mode": "lines",
                "name": _plain(name),
                "line": {"color": colour, "width": 2, "dash": dash, "shape": "hv"},
                "hovertemplate": f"{_plain(name)}<br>%{{y:.1f}} % within %{{x:,.0f}} tokens<extra></extra>",
            }
        )
    layout = _layout(0, 103.0, palette, names=max(3, len(shares)))
    layout["xaxis"] = {key: value for key, value in layout["xaxis"].items() if key not in ("range", "dtick")} | {
        "type": "log",
        "title": {"text": "tokens a problem, logarithmic", "font": {"color": palette.muted, "size": 13}, "standoff": 8},
        "tickvals": list(marks),
        "ticktext": [f"{mark:,.0f}" for mark in marks],
    }
    title = _axis_title(palette) | {"text": "% of problems solved"}
    return go.Figure(data=traces, layout=layout | {"annotations": [title]})


def _plain(name: str) -> str:
    """A name in a text that Plotly reads as markup."""
    return name.replace("&", "&amp;").replace("<", "&lt;").replace("%{", "% {")


def _unequal_figure(found: Unequal, palette: Palette) -> go.Figure:
    attempts = list(range(found.attempts))
    percents, lows, highs = ([100 * one for one in values] for values in (found.hazard, found.low, found.high))
    last = found.attempts - 1
    traces = [
        {
            "type": "scatter",
            "x": [-0.25, last + 0.35],
            "y": [100 * found.chance] * 2,
            "mode": "lines",
            "name": "mean chance, the same throughout",
            "line": {"color": palette.debugging, "width": 2, "dash": "dot"},
            "hovertemplate": "%{y:.1f} % at every attempt<extra></extra>",
        },
        {
            "type": "scatter",
            "x": attempts,
            "y": percents,
            "mode": "lines+markers",
            "name": "of those unsolved: median, 5–95 %",
            "line": {"color": palette.observed, "width": 1.5},
            "marker": {"color": palette.observed, "size": 9},
            "error_y": _whiskers(percents, lows, highs, palette),
            "text": [
                f"attempt {t}: {percent:.1f} %<br>in 90 % of the runs {low:.1f}–{high:.1f} %"
                for t, percent, low, high in zip(attempts, percents, lows, highs, strict=True)
            ],
            "hoverinfo": "text",
        },
    ]
    layout = _layout(last, _ceiling(max(highs)), palette, names=3) | {"annotations": [_axis_title(palette)]}
    return go.Figure(data=traces, layout=layout)


def _layout(last: int, top: float, palette: Palette, *, names: int) -> dict[str, Any]:
    """Percent of the problems still unsolved against attempts, with a legend of so many names."""
    muted = {"color": palette.muted}
    above = names < 3
    return {
        "template": {},
        "font": {"family": "Inter, sans-serif", "size": 13, "color": palette.text},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 44, "r": 16, "t": 28, "b": 44 if above else 76},
        "hoverlabel": {
            "bgcolor": palette.surface,
            "bordercolor": palette.line,
            "font": {"color": palette.text},
        },
        "legend": _LEGEND_ABOVE if above else _LEGEND_BELOW,
        "dragmode": False,
        "xaxis": {
            "title": {"text": "attempt", "font": {**muted, "size": 13}, "standoff": 8},
            "range": [-0.25, last + 0.35],
            "dtick": max(1, math.ceil((last + 1) / 12)),
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
            "tickfont": muted,
        },
        "yaxis": {
            "range": [0, top],
            "gridcolor": palette.line,
            "zeroline": True,
            "zerolinecolor": palette.muted,
            "zerolinewidth": 1,
            "fixedrange": True,
            "tickfont": muted,
            "nticks": 6,
        },
    }


def _points(points: tuple[RiskSet, ...], name: Callable[[int], str], palette: Palette) -> dict[str, Any]:
    """Observed effectiveness with its intervals; `name` says what an attempt is called."""
    shares = [point.hazard for point in points]
    percents = [100 * (share.estimate or 0.0) for share in shares]
    highs = [100 * (share.high or 0.0) for share in shares]
    lows = [100 * (share.low or 0.0) for share in shares]
    return {
        "type": "scatter",
        "x": [point.attempt for point in points],
        "y": percents,
        "mode": "markers",
        "name": "observed, Wilson 95 % interval",
        "marker": {"color": palette.observed, "size": 9},
        # A point at 0 % is as whole as the others.
        "cliponaxis": False,
        "error_y": _whiskers(percents, lows, highs, palette),
        "text": [
            f"{name(point.attempt)}<br>{point.solved:,} of {point.at_risk:,} solved: "
            f"{percent:.1f} %<br>95 % interval {low:.1f}–{high:.1f} %"
            for point, percent, low, high in zip(points, percents, lows, highs, strict=True)
        ],
        "hoverinfo": "text",
    }


def _whiskers(
    middles: Sequence[float], lows: Sequence[float], highs: Sequence[float], palette: Palette
) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [high - middle for high, middle in zip(highs, middles, strict=True)],
        "arrayminus": [middle - low for low, middle in zip(lows, middles, strict=True)],
        "thickness": 1.2,
        "width": 0,
        "color": palette.muted,
    }


def _fit(intercept: float, rate: float, last: int, palette: Palette) -> dict[str, Any]:
    steps = [last * step / FIT_STEPS for step in range(FIT_STEPS + 1)]
    return {
        "type": "scatter",
        "x": [round(t, 4) for t in steps],
        "y": [round(intercept * math.exp(-rate * t), 4) for t in steps],
        "mode": "lines",
        "name": "published fit, a·exp(−λt)",
        "line": {"color": palette.published, "width": 2, "dash": "dash"},
        "hovertemplate": "fit %{y:.1f} % at t = %{x:.1f}<extra></extra>",
    }


def _band(fit: HazardFit, last: int, palette: Palette) -> list[dict[str, Any]]:
    """The pointwise interval around a careful fit: its low edge, and its high one with the area between."""
    steps = [fit.start + (last - fit.start) * step / FIT_STEPS for step in range(FIT_STEPS + 1)]
    band = chance_band(fit, steps)
    if not band:
        return []
    edge = {
        "type": "scatter",
        "x": [round(t, 4) for t in steps],
        "mode": "lines",
        "line": {"width": 0, "color": palette.careful},
        "showlegend": False,
        "hoverinfo": "skip",
    }
    lows = [round(100 * (bounds.low or 0.0), 4) for bounds in band]
    highs = [round(100 * (bounds.high or 0.0), 4) for bounds in band]
    return [edge | {"y": lows}, edge | {"y": highs, "fill": "tonexty", "fillcolor": palette.band}]


def _careful(fit: HazardFit, last: int, palette: Palette) -> dict[str, Any] | None:
    """The fitted chances where λ is finite; without one there is no curve."""
    if fit.lambda_ is None or fit.lambda_.estimate is None or fit.h_start is None:
        return None
    rate, level = fit.lambda_.estimate, 100 * fit.h_start
    steps = [fit.start + (last - fit.start) * step / FIT_STEPS for step in range(FIT_STEPS + 1)]
    whole = fit.start == 0
    return {
        "type": "scatter",
        "x": [round(t, 4) for t in steps],
        "y": [round(level * math.exp(-rate * (t - fit.start)), 4) for t in steps],
        "mode": "lines",
        "name": "careful fit with 95 % band" if whole else "careful fit, t ≥ 1",
        "line": {
            "color": palette.careful if whole else palette.debugging,
            "width": 2,
            "dash": "solid" if whole else "dot",
        },
        "hovertemplate": "careful fit %{y:.1f} % at t = %{x:.1f}<extra></extra>",
    }


def reached(index: Decay, last: int) -> dict[int, str]:
    """Names of the t_θ that fall within the attempts shown, by attempt."""
    names: dict[int, list[str]] = {}
    for theta in wording.SHOWN_THETAS:
        attempt = (index.t_theta or {}).get(theta)
        if attempt is not None and attempt <= last:
            names.setdefault(attempt, []).append("t" + str(theta).translate(_SUBSCRIPT))
    return {attempt: " · ".join(labels) for attempt, labels in names.items()}


def _tick(attempt: int, top: float, palette: Palette) -> dict[str, Any]:
    """A dotted line from the axis up to the fit."""
    line = {"color": palette.published, "width": 1.2, "dash": "dot"}
    return {"type": "line", "x0": attempt, "x1": attempt, "y0": 0, "y1": top, "line": line}


def _tick_name(attempt: int, name: str, palette: Palette) -> dict[str, Any]:
    return {
        "x": attempt,
        "y": 0,
        "text": name,
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "bottom",
        "xshift": 4,
        "font": {"color": palette.published, "size": 12},
    }


def _axis_title(palette: Palette) -> dict[str, Any]:
    """The percent axis, named above it: a title turned on its side is read by nobody."""
    return {
        "text": "% of still unsolved problems solved",
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


def ceiling(index: Decay) -> float:
    """Top of the percent axis: the next ten above every interval; a little over 100 so that a point there is whole."""
    highest = max((100 * (point.hazard.high or 0.0) for point in index.points), default=100.0)
    return _ceiling(highest)


def _ceiling(highest: float) -> float:
    return min(103.0, max(20.0, 10.0 * math.ceil((highest + 2) / 10)))
