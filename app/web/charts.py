"""Plotly figures, built on the server and drawn by static/js/charts.js.

Each chart exists once a theme; the page carries both and the script draws the one in force. Series colours are
Okabe–Ito's, and every series has a dash pattern or a marker of its own as well.
"""

import json
import math
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from markupsafe import Markup

from app.domain.metrics.decay import Decay, RiskSet
from app.domain.protocol.policy import Protocol
from app.web import wording


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one theme; the neutral ones are those of static/css/theme.css."""

    text: str
    muted: str
    line: str
    surface: str
    observed: str
    published: str


LIGHT = Palette("#1c1d1f", "#63676e", "#e3e4e6", "#ffffff", "#1c1d1f", "#0072b2")
DARK = Palette("#e8e9eb", "#9aa0a8", "#2d3034", "#1b1d20", "#e8e9eb", "#56b4e9")
_SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
"""Plotly sets <sub> and <sup> with style attributes, which the content security policy refuses."""
THEMES = {"light": LIGHT, "dark": DARK}


def decay_chart(index: Decay, policy: Protocol) -> Markup:
    """The decay curve as JSON for a <script type="application/json">, both themes."""
    figures = {name: json.loads(_decay_figure(index, policy, palette).to_json()) for name, palette in THEMES.items()}
    # "<" cannot end the script element, or open a comment in it, once it is an escape.
    text = json.dumps(figures, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704 — JSON of our own numbers and words, with "<" escaped above


def _decay_figure(index: Decay, policy: Protocol, palette: Palette) -> go.Figure:
    last = policy.attempts - 1
    figure = go.Figure()
    if index.lambda_ is not None and index.intercept is not None:
        _add_fit(figure, index.intercept, index.lambda_, last, palette)
    _add_points(figure, index.points, policy, palette)
    figure.update_layout(
        template=go.layout.Template(),
        font={"family": "Inter, sans-serif", "size": 13, "color": palette.text},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 44, "r": 16, "t": 28, "b": 44},
        hoverlabel={"bgcolor": palette.surface, "bordercolor": palette.line, "font": {"color": palette.text}},
        legend={"x": 1, "y": 1, "xanchor": "right", "yanchor": "top", "bgcolor": "rgba(0,0,0,0)"},
        dragmode=False,
        xaxis={
            "title": {"text": "attempt", "font": {"color": palette.muted, "size": 13}, "standoff": 8},
            "range": [-0.25, last + 0.35],
            "dtick": max(1, math.ceil(policy.attempts / 12)),
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
            "tickfont": {"color": palette.muted},
        },
        yaxis={
            "range": [0, _ceiling(index)],
            "gridcolor": palette.line,
            "zeroline": True,
            "zerolinecolor": palette.muted,
            "zerolinewidth": 1,
            "fixedrange": True,
            "tickfont": {"color": palette.muted},
            "nticks": 6,
        },
        annotations=[
            {
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
        ],
    )
    _add_ticks(figure, index, last, palette)
    return figure


def _add_points(figure: go.Figure, points: tuple[RiskSet, ...], policy: Protocol, palette: Palette) -> None:
    shares = [point.hazard for point in points]
    percents = [100 * (share.estimate or 0.0) for share in shares]
    highs = [100 * (share.high or 0.0) for share in shares]
    lows = [100 * (share.low or 0.0) for share in shares]
    figure.add_trace(
        go.Scatter(
            x=[point.attempt for point in points],
            y=percents,
            mode="markers",
            name="observed, Wilson 95 % interval",
            marker={"color": palette.observed, "size": 9},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [high - percent for high, percent in zip(highs, percents, strict=True)],
                "arrayminus": [percent - low for low, percent in zip(lows, percents, strict=True)],
                "thickness": 1.2,
                "width": 0,
                "color": palette.muted,
            },
            text=[
                f"{wording.attempt_name(policy, point.attempt)}<br>{point.solved:,} of {point.at_risk:,} solved: "
                f"{percent:.1f} %<br>95 % interval {low:.1f}–{high:.1f} %"
                for point, percent, low, high in zip(points, percents, lows, highs, strict=True)
            ],
            hoverinfo="text",
        )
    )


def _add_fit(figure: go.Figure, intercept: float, rate: float, last: int, palette: Palette) -> None:
    t = np.linspace(0, last, 61)
    percent = intercept * np.exp(-rate * t)
    figure.add_trace(
        go.Scatter(
            x=t.round(4).tolist(),
            y=percent.round(4).tolist(),
            mode="lines",
            name="published fit, a·exp(−λt)",
            line={"color": palette.published, "width": 2, "dash": "dash"},
            hovertemplate="fit %{y:.1f} % at t = %{x:.1f}<extra></extra>",
        )
    )


def _add_ticks(figure: go.Figure, index: Decay, last: int, palette: Palette) -> None:
    """Mark each t_θ that falls within the attempts shown: a dotted line up to the fit, with its name."""
    if index.intercept is None or index.lambda_ is None:
        return
    names: dict[int, list[str]] = {}
    for theta in wording.SHOWN_THETAS:
        reached = (index.t_theta or {}).get(theta)
        if reached is not None and reached <= last:
            names.setdefault(reached, []).append("t" + str(theta).translate(_SUBSCRIPT))
    for attempt, labels in names.items():
        top = index.intercept * math.exp(-index.lambda_ * attempt)
        figure.add_shape(
            type="line",
            x0=attempt,
            x1=attempt,
            y0=0,
            y1=top,
            line={"color": palette.published, "width": 1.2, "dash": "dot"},
        )
        figure.add_annotation(
            x=attempt,
            y=0,
            text=" · ".join(labels),
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            xshift=4,
            font={"color": palette.published, "size": 12},
        )


def _ceiling(index: Decay) -> float:
    """Top of the percent axis: the next ten above every interval, with room for the legend."""
    highest = max((100 * (point.hazard.high or 0.0) for point in index.points), default=90.0)
    return min(105.0, max(20.0, 10 * math.ceil((highest + 12) / 10)))
