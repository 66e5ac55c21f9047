"""Precision against unit-test pass rate: where runs and published rows stand, as places in a server's drawing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.metrics.behaviour import Behaviour, CutOffs
from app.domain.metrics.intervals import Estimate
from app.domain.metrics.repairs import RepairFigures
from app.web.axis import Tick
from app.web.board import Line
from app.web.published import PublishedTable

WIDTH = 1060
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 1040, 16, 470
_LABEL_HEIGHT, _LETTER = 14, 6.6
_STEP = 0.1
_CLEAR = 10

BEHAVIOURS = {
    Behaviour.PRECISE: "pass with precision",
    Behaviour.WEAK_PRECISE: "weak but precise",
    Behaviour.WEAK_IMPRECISE: "weak and imprecise",
    Behaviour.PASS_ORIENTED: "pass-oriented: regenerating",
}


@dataclass(frozen=True, slots=True)
class Label:
    """A name at its point; `side` is its end that touches it."""

    x: float
    y: float
    text: str
    side: str


@dataclass(frozen=True, slots=True)
class Point:
    """A run, with the ends of both intervals where it has them, or a published row, which is drawn hollow."""

    x: float
    y: float
    across: tuple[float, float] | None
    upright: tuple[float, float] | None
    label: Label | None
    title: str
    published: bool
    alike: bool = True


@dataclass(frozen=True, slots=True)
class Plane:
    """Pass rate to the right and precision upwards, in percent. `x`, `y`: where the cut-offs lie."""

    points: tuple[Point, ...]
    regions: tuple[Label, ...]
    across: tuple[Tick, ...]
    upright: tuple[Tick, ...]
    x: float
    y: float
    left: int = _LEFT
    right: int = _RIGHT
    top: int = _TOP
    bottom: int = _BOTTOM


@dataclass(frozen=True, slots=True)
class _Place:
    name: str
    figures: RepairFigures | None
    precision: float
    unit_pass: float
    title: str
    alike: bool


def plane(lines: Sequence[Line], table: PublishedTable | None, cut_offs: CutOffs) -> Plane | None:
    """The plane of these runs, with a published table's rows among them; None where there is nothing to place."""
    places = [place for line in lines if (place := _of_run(line)) is not None]
    places += [] if table is None else _of_table(table)
    if not places:
        return None
    runs = [place.figures for place in places if place.figures is not None]
    across = _Axis(
        [*(place.unit_pass for place in places), cut_offs.unit_pass], [one.unit_pass for one in runs], _LEFT, _RIGHT
    )
    upright = _Axis(
        [*(place.precision for place in places), cut_offs.precision], [one.precision for one in runs], _BOTTOM, _TOP
    )
    x, y = across.at(cut_offs.unit_pass), upright.at(cut_offs.precision)
    regions = _regions(x, y)
    spots = [(across.at(place.unit_pass), upright.at(place.precision)) for place in places]
    room = [(left - 7, left + 7, top) for left, top in spots]
    room += [_span(region) for region in regions]
    points = []
    for place, (left, top) in zip(places, spots, strict=True):
        label = _label(place, left, top, room)
        if label is not None:
            room.append(_span(label))
        points.append(
            Point(
                left,
                top,
                None if place.figures is None else across.interval(place.figures.unit_pass),
                None if place.figures is None else upright.interval(place.figures.precision),
                label,
                place.title,
                place.figures is None,
                place.alike,
            )
        )
    return Plane(tuple(points), regions, across.ticks(), upright.ticks(), x, y)


def _of_run(line: Line) -> _Place | None:
    figures = None if line.row.figures is None else line.row.figures.repairs
    if figures is None or figures.precision.estimate is None or figures.unit_pass.estimate is None:
        return None
    precision, unit_pass = figures.precision.estimate, figures.unit_pass.estimate
    title = (
        f"{line.row.model_name}, run {line.row.run_id}: precision {100 * precision:.1f} %,"
        f" pass rate {100 * unit_pass:.1f} %, {figures.items:,} items"
    )
    return _Place(f"{line.row.model_name} · {line.row.run_id}", figures, precision, unit_pass, title, not line.differs)


def _of_table(table: PublishedTable) -> list[_Place]:
    return [
        _Place(
            row.name,
            None,
            *row.place,
            f"{row.name}, published ({table.title}): precision {row.precision} %, pass rate {row.unit_pass} %",
            alike=True,
        )
        for row in table.rows
        if row.place is not None
    ]


class _Axis:
    """Whole tens of percent around all that is to be placed, intervals included, from one pixel to another."""

    def __init__(self, places: Sequence[float], spans: Sequence[Estimate], first: float, last: float) -> None:
        shares = [*places, *(end for span in spans for end in (span.low, span.high) if end is not None)]
        self._low = max(0.0, math.floor(min(shares) / _STEP - 0.5) * _STEP)
        self._high = min(1.0, math.ceil(max(shares) / _STEP + 0.5) * _STEP)
        self._first, self._last = first, last

    def at(self, share: float) -> float:
        return round(self._first + (self._last - self._first) * (share - self._low) / (self._high - self._low), 1)

    def interval(self, span: Estimate) -> tuple[float, float] | None:
        return None if span.low is None or span.high is None else (self.at(span.low), self.at(span.high))

    def ticks(self) -> tuple[Tick, ...]:
        tens = range(round(10 * self._low), round(10 * self._high) + 1)
        return tuple(Tick(self.at(ten / 10), str(10 * ten)) for ten in tens)


def _regions(x: float, y: float) -> tuple[Label, ...]:
    corners = {
        Behaviour.WEAK_PRECISE: (_LEFT + 8, _TOP + 14, "start", x - _LEFT, y - _TOP),
        Behaviour.PRECISE: (_RIGHT - 8, _TOP + 14, "end", _RIGHT - x, y - _TOP),
        Behaviour.WEAK_IMPRECISE: (_LEFT + 8, _BOTTOM - 8, "start", x - _LEFT, _BOTTOM - y),
        Behaviour.PASS_ORIENTED: (_RIGHT - 8, _BOTTOM - 8, "end", _RIGHT - x, _BOTTOM - y),
    }
    return tuple(
        Label(left, top, BEHAVIOURS[behaviour], side)
        for behaviour, (left, top, side, width, height) in corners.items()
        if width > len(BEHAVIOURS[behaviour]) * _LETTER + 16 and height > 2 * _LABEL_HEIGHT
    )


def _label(place: _Place, x: float, y: float, room: Sequence[tuple[float, float, float]]) -> Label | None:
    """The name behind its point, before it, or a line above or below; None where all are taken.

    That of a run stands off its interval.
    """
    for down in (0, -_LABEL_HEIGHT, _LABEL_HEIGHT) if place.figures is None else (-_CLEAR, _CLEAR):
        for shift, side in ((9, "start"), (-9, "end")):
            label = Label(round(x + shift, 1), round(y + down, 1), place.name, side)
            left, right, height = _span(label)
            clear = all(abs(height - at) >= _LABEL_HEIGHT or left > end or right < start for start, end, at in room)
            if clear and left >= _LEFT and right <= WIDTH:
                return label
    return None


def _span(label: Label) -> tuple[float, float, float]:
    width = len(label.text) * _LETTER
    return (label.x, label.x + width, label.y) if label.side == "start" else (label.x - width, label.x, label.y)
