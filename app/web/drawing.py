"""Pictures drawn by the server: the decay chart as SVG and PNG, and the preview cards of shared links.

They show what the pages' charts show (app/web/charts.py), in the light theme, without a browser.
"""

import math
from collections.abc import Sequence
from html import escape

import resvg_py

from app.config import ROOT
from app.domain.metrics.decay import Decay
from app.domain.metrics.hazard import HazardFit, chance_band
from app.domain.metrics.intervals import Estimate, Proportion
from app.domain.protocol.policy import Protocol
from app.web import wording
from app.web.charts import FIT_STEPS, LIGHT, ceiling, reached
from app.web.fits import Fits
from app.web.text import printable, shortened

_FONTS = [str(ROOT / "static/vendor/inter-static" / name) for name in ("inter-regular.ttf", "inter-semibold.ttf")]
CHART = (960, 540)
CARD = (1200, 630)
"""The size that previews of links are shown at."""
PNG_SCALE = 2


def decay_svg(found: Fits, policy: Protocol, title: str, facts: Sequence[str]) -> str:
    """The decay chart with its title, a line of facts and a sentence that says what it shows."""
    width, height = CHART
    index = found.published
    return _document(
        width,
        height,
        [
            f"<title>{_text(title)}</title><desc>{_text(wording.decay_sentence(index, policy))}</desc>",
            _words(40, 44, shortened(title, 80), size=22, weight=600),
            _words(40, 70, shortened(" · ".join(facts), 130), size=14, colour=LIGHT.muted),
            *_plot(index, policy, found.careful, left=64, top=124, width=width - 104, height=height - 208, size=13),
            _words(40, height - 20, shortened(wording.decay_sentence(index, policy), 140), size=13, colour=LIGHT.muted),
        ],
    )


def run_card(index: Decay, policy: Protocol, title: str, where: str, note: str) -> str:
    """The preview card of a run: its name, its figures with their intervals, and its curve."""
    fit = "–" if index.r_squared is None else f"R² {index.r_squared:.2f}{f', {index.quality}' if index.quality else ''}"
    figures = [
        (f"E0, {wording.first_attempt(policy)}", _share(index.e0.estimate), _interval(index.e0)),
        ("Final accuracy", _share(index.final_accuracy.estimate), _interval(index.final_accuracy)),
        ("λ", wording.rate(index), fit),
        ("Half-life", "–" if index.lambda_ is None else wording.half_life(index), "attempts"),
    ]
    parts = _card_head(title, where, note)
    for place, (name, value, detail) in enumerate(figures):
        x, y = 64 + 260 * (place % 2), 282 + 136 * (place // 2)
        parts += [
            _words(x, y, name, size=22, colour=LIGHT.muted),
            _words(x, y + 48, value, size=44, weight=600),
            _words(x, y + 76, detail, size=18, colour=LIGHT.muted),
        ]
    parts += _plot(index, policy, None, left=620, top=262, width=516, height=240, size=16)
    return _document(*CARD, parts)


def board_card(title: str, where: str, note: str, rows: Sequence[tuple[str, Proportion | Estimate]]) -> str:
    """The preview card of a leaderboard: its first rows by name with a share and its interval."""
    parts = _card_head(title, where, note)
    left, span = 560, 440
    for place, (name, share) in enumerate(rows[:5]):
        y = 300 + 56 * place
        parts.append(_words(64, y, shortened(name, 34), size=24))
        parts.append(_line(left, y - 8, left + span, y - 8, LIGHT.line, 2))
        if share.estimate is not None and share.low is not None and share.high is not None:
            parts.append(_line(left + span * share.low, y - 8, left + span * share.high, y - 8, LIGHT.published, 8))
            parts.append(
                f'<circle cx="{left + span * share.estimate:.1f}" cy="{y - 8}" r="8" fill="{LIGHT.observed}"/>'
            )
        parts.append(_words(1136, y, _share(share.estimate), size=24, weight=600, anchor="end"))
    return _document(*CARD, parts)


def png(svg: str, *, scale: int = 1) -> bytes:
    """A picture of ours as PNG, so many times its size. Fonts are ours alone, so that it looks alike everywhere."""
    return resvg_py.svg_to_bytes(
        svg_string=svg,
        zoom=float(scale),
        skip_system_fonts=True,
        font_files=_FONTS,
        font_family="Inter",
        sans_serif_family="Inter",
        background="#ffffff",
    )


def _plot(
    index: Decay,
    policy: Protocol,
    careful: HazardFit | None,
    *,
    left: float,
    top: float,
    width: float,
    height: float,
    size: int,
) -> list[str]:
    """The points and the published fit; with `careful` that one and its band as well, and a legend."""
    last = policy.attempts - 1
    highest = ceiling(index)
    bottom = top + height

    def x(attempt: float) -> float:
        return left + width * (attempt + 0.25) / (last + 0.6)

    def y(percent: float) -> float:
        return bottom - height * percent / highest

    parts = [_words(left - 24, top - 14, "% of still unsolved problems solved", size=size, colour=LIGHT.muted)]
    step = 10 if highest <= 50 else 20
    for percent in range(0, int(highest) + 1, step):
        colour = LIGHT.muted if percent == 0 else LIGHT.line
        parts.append(_line(left, y(percent), left + width, y(percent), colour, 1))
        parts.append(
            _words(left - 8, y(percent) + size * 0.35, str(percent), size=size, colour=LIGHT.muted, anchor="end")
        )
    for attempt in range(0, policy.attempts, max(1, math.ceil(policy.attempts / 12))):
        parts.append(
            _words(x(attempt), bottom + size * 1.6, str(attempt), size=size, colour=LIGHT.muted, anchor="middle")
        )
    parts.append(_words(left + width, bottom + size * 3, "attempt", size=size, colour=LIGHT.muted, anchor="end"))
    steps = [last * number / FIT_STEPS for number in range(FIT_STEPS + 1)]
    band = () if careful is None else chance_band(careful, steps)
    if band:
        # An edge may lie above the axis, where few were left.
        highs = [
            f"{x(t):.1f},{y(min(highest, 100 * (one.high or 0.0))):.1f}" for t, one in zip(steps, band, strict=True)
        ]
        lows = [f"{x(t):.1f},{y(100 * (one.low or 0.0)):.1f}" for t, one in zip(steps, band, strict=True)]
        middle_line = [f"{x(t):.1f},{y(100 * (one.estimate or 0.0)):.1f}" for t, one in zip(steps, band, strict=True)]
        parts.append(
            f'<path d="M{" L".join([*highs, *reversed(lows)])} z" fill="{LIGHT.careful}" fill-opacity="0.14"/>'
        )
        parts.append(f'<path d="M{" L".join(middle_line)}" fill="none" stroke="{LIGHT.careful}" stroke-width="2.2"/>')
    if index.lambda_ is not None and index.intercept is not None:
        a, rate = index.intercept, index.lambda_
        # The fit may begin above the axis, where the first attempt solved nearly all.
        path = " L".join(f"{x(t):.1f},{y(min(highest, a * math.exp(-rate * t))):.1f}" for t in steps)
        parts.append(
            f'<path d="M{path}" fill="none" stroke="{LIGHT.published}" stroke-width="2.2" stroke-dasharray="8 6"/>'
        )
        for attempt, name in reached(index, last).items():
            height_there = y(min(highest, a * math.exp(-rate * attempt)))
            parts.append(_line(x(attempt), bottom, x(attempt), height_there, LIGHT.published, 1.2, dash="2 4"))
            parts.append(_words(x(attempt) + 5, bottom - 6, name, size=size - 1, colour=LIGHT.published))
    for point in index.points:
        share = point.hazard
        if share.estimate is None or share.low is None or share.high is None:
            continue
        middle = x(point.attempt)
        parts.append(_line(middle, y(100 * share.low), middle, y(100 * share.high), LIGHT.muted, 1.4))
        parts.append(f'<circle cx="{middle:.1f}" cy="{y(100 * share.estimate):.1f}" r="5" fill="{LIGHT.observed}"/>')
    if careful is not None:
        right = left + width
        parts.append(f'<circle cx="{right - 206:.1f}" cy="{top - 18:.1f}" r="5" fill="{LIGHT.observed}"/>')
        parts.append(_words(right, top - 14, "observed, Wilson 95 % interval", size=size, anchor="end"))
        if index.lambda_ is not None:
            parts.append(_line(right - 408, top - 18, right - 382, top - 18, LIGHT.published, 2.2, dash="8 6"))
            parts.append(_words(right - 228, top - 14, "published fit, a·exp(−λt)", size=size, anchor="end"))
        if band:
            parts.append(_line(right - 408, top + 2, right - 382, top + 2, LIGHT.careful, 2.2))
            parts.append(_words(right - 374, top + 6, "careful fit, 95 % band", size=size))
    return parts


def _card_head(title: str, where: str, note: str) -> list[str]:
    width, height = CARD
    return [
        f'<rect x="0" y="0" width="{width}" height="12" fill="{LIGHT.published}"/>',
        _words(64, 84, "Halflife", size=26, weight=600, colour=LIGHT.published),
        _words(64, 152, shortened(title, 48), size=46, weight=600),
        _words(64, 200, shortened(where, 90), size=24, colour=LIGHT.muted),
        _words(64, height - 40, shortened(note, 100), size=20, colour=LIGHT.muted),
    ]


def _document(width: int, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' font-family="Inter, sans-serif"><rect width="{width}" height="{height}" fill="{LIGHT.surface}"/>'
        + "".join(parts)
        + "</svg>\n"
    )


def _words(
    x: float, y: float, text: str, *, size: int, weight: int = 400, colour: str = LIGHT.text, anchor: str = "start"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{colour}"'
        f' text-anchor="{anchor}">{_text(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float, dash: str = "") -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"{dashes}/>'


def _text(text: str) -> str:
    return escape(printable(text))


def _interval(share: Proportion) -> str:
    return "" if share.low is None or share.high is None else f"{100 * share.low:.1f} – {100 * share.high:.1f} %"


def _share(fraction: float | None) -> str:
    return "–" if fraction is None else f"{100 * fraction:.1f} %"
