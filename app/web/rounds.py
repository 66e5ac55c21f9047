"""Precision, recall and pass rate over the rounds of a run, and edits beside them, as places in a server's drawing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.db.queries.precision import Group
from app.web.axis import Tick

WIDTH = 640
_LEFT, _TOP, _BOTTOM = 44, 16, 252
_EDITS_BOTTOM = 142
_NAMES = 92
"""Room for the names at the ends of the lines."""
_NAME_HEIGHT = 16
_APART = 7
"""Between the marks of one round, so that no interval hides another."""
SERIES = (("precision", "Precision"), ("recall", "Recall"), ("unit_pass", "Pass rate"))


@dataclass(frozen=True, slots=True)
class Mark:
    """One figure of one round; the ends of its interval where it has one."""

    x: float
    y: float
    low: float | None
    high: float | None
    title: str


@dataclass(frozen=True, slots=True)
class Series:
    """One figure over the rounds. `slug` decides line and mark; `name_y` is where its name stands."""

    slug: str
    name: str
    marks: tuple[Mark, ...]
    name_y: float


@dataclass(frozen=True, slots=True)
class Bar:
    """Mean edits an item in a round, from the axis up to `y`, and a line at what is needed."""

    x: float
    y: float
    width: float
    needed: float
    value: str
    title: str


@dataclass(frozen=True, slots=True)
class Rounds:
    """Both drawings, one under the other: their rounds stand at the same places."""

    series: tuple[Series, ...]
    bars: tuple[Bar, ...]
    rounds: tuple[Tick, ...]
    percents: tuple[Tick, ...]
    edits: tuple[Tick, ...]
    left: int = _LEFT
    right: int = WIDTH - _NAMES
    bottom: int = _BOTTOM
    edits_bottom: int = _EDITS_BOTTOM


def rounds_drawing(groups: Sequence[Group]) -> Rounds | None:
    """The drawing of the rounds that have scores; None with fewer than two of them."""
    scored = [(number, group) for number, group in enumerate(groups, start=1) if group.figures.items]
    if len(scored) < 2:
        return None
    right = WIDTH - _NAMES
    xs = _spread(len(scored), _LEFT + 24, right - 24)
    series = []
    for at, (slug, name) in enumerate(SERIES):
        marks = []
        for x, (number, group) in zip(xs, scored, strict=True):
            found = getattr(group.figures, slug)
            if found.estimate is None:
                continue
            ends = None if found.low is None else (_height(found.low), _height(found.high))
            title = f"{name}, round {number}: {100 * found.estimate:.1f} %" + (
                f", 95 % interval {100 * found.low:.1f}–{100 * found.high:.1f} %" if ends else ""
            )
            low, high = ends or (None, None)
            marks.append(Mark(round(x + (at - 1) * _APART, 1), _height(found.estimate), low, high, title))
        series.append((slug, name, tuple(marks)))
    names = _name_places([marks[-1].y for _, _, marks in series])
    highest = max(max(group.edits, group.edits_needed) / group.figures.items for _, group in scored)
    step = _step(highest)
    top = step * max(1, math.ceil(highest / step))
    width = min(46.0, (right - _LEFT) / len(scored) * 0.6)
    bars = [
        Bar(
            round(x - width / 2, 1),
            _height(group.edits / group.figures.items / top, _EDITS_BOTTOM),
            round(width, 1),
            _height(group.edits_needed / group.figures.items / top, _EDITS_BOTTOM),
            f"{group.edits / group.figures.items:.1f}",
            f"Round {number}: {group.edits / group.figures.items:.2f} edits an item,"
            f" {group.edits_needed / group.figures.items:.2f} needed",
        )
        for x, (number, group) in zip(xs, scored, strict=True)
    ]
    shown = {number for number, _ in scored[:: max(1, math.ceil(len(scored) / 12))]}
    return Rounds(
        tuple(Series(*one, name_y) for one, name_y in zip(series, names, strict=True)),
        tuple(bars),
        tuple(Tick(x, str(number)) for x, (number, _) in zip(xs, scored, strict=True) if number in shown),
        tuple(Tick(_height(percent / 100), str(percent)) for percent in range(0, 101, 20)),
        tuple(Tick(_height(at * step / top, _EDITS_BOTTOM), f"{at * step:g}") for at in range(round(top / step) + 1)),
    )


def _spread(count: int, first: float, last: float) -> list[float]:
    return [round(first + (last - first) * at / (count - 1), 1) for at in range(count)]


def _height(share: float, bottom: int = _BOTTOM) -> float:
    return round(bottom - (bottom - _TOP) * share, 1)


def _step(highest: float) -> float:
    """1, 2 or 5 times a power of ten: at most five steps to the highest value."""
    least = max(highest, 0.5) / 5
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)


def _name_places(heights: Sequence[float]) -> list[float]:
    """Heights moved apart so far that names do not lie on each other, in the order given."""
    order = sorted(range(len(heights)), key=lambda at: heights[at])
    places = list(heights)
    for above, below in pairwise(order):
        places[below] = max(places[below], places[above] + _NAME_HEIGHT)
    return [round(place, 1) for place in places]
