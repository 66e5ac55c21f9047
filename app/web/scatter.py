"""Final accuracy against tokens or cost: what figures cost, as places in a drawing made by the server."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.web.axis import Tick
from app.web.board import BY_SLUG, Bounds, Line

WIDTH = 1060
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 1040, 14, 262
_LABEL_HEIGHT, _LETTER = 14, 6.6
FEWEST = 2
"""Fewer runs make no comparison."""


class Axis(StrEnum):
    """What is spent."""

    TOKENS = "tokens"
    COST = "cost"


Span = tuple[float, float, float]
"""From one x to another, at a height."""


@dataclass(frozen=True, slots=True)
class Label:
    """A name at the side of its point; `side` is its end that touches it."""

    x: float
    text: str
    side: str


@dataclass(frozen=True, slots=True)
class Dot:
    """One run: its place, its interval from `low` to `high`, and its name where there is room for it."""

    x: float
    y: float
    low: float
    high: float
    label: Label | None
    title: str
    alike: bool


@dataclass(frozen=True, slots=True)
class Scatter:
    """Runs by what they spent (logarithmic) and final accuracy (0 to 100 %). `missing`: runs without either."""

    axis: Axis
    dots: tuple[Dot, ...]
    missing: int
    ticks: tuple[Tick, ...]
    percents: tuple[Tick, ...]
    left: int = _LEFT
    right: int = _RIGHT
    bottom: int = _BOTTOM


def accuracy_against(axis: Axis, lines: Sequence[Line]) -> Scatter | None:
    """The drawing of these lines; None where fewer than two of them have an accuracy and spent something known."""
    known = [
        (line, share, spent)
        for line in lines
        if (share := _accuracy(line)) is not None and share.estimate is not None and (spent := _spent(axis, line)) > 0
    ]
    if len(known) < FEWEST:
        return None
    logs = [math.log10(spent) for _, _, spent in known]
    first, last = min(logs) - 0.05, max(logs) + 0.05
    places = [
        (round(_LEFT + (_RIGHT - _LEFT) * (log - first) / (last - first), 1), _height(share.estimate or 0.0))
        for log, (_, share, _) in zip(logs, known, strict=True)
    ]
    room = [(x - 6, x + 6, y) for x, y in places]
    dots = []
    for (line, share, spent), (x, y) in zip(known, places, strict=True):
        low, high = (y if end is None else _height(end) for end in (share.low, share.high))
        name = line.row.model_name
        percent = f"{100 * (share.estimate or 0.0):.1f} %"
        title = f"{name}, run {line.row.run_id}: {percent} at {_amount(axis, spent)}"
        behind = (x + 7, x + 8 + len(name) * _LETTER, y)
        before = (x - 8 - len(name) * _LETTER, x - 7, y)
        label = None
        if _fits(behind, room):
            label = Label(x + 9, name, "start")
            room.append(behind)
        elif _fits(before, room):
            label = Label(x - 9, name, "end")
            room.append(before)
        dots.append(Dot(x, y, low, high, label, title, not line.differs))
    ticks = tuple(
        Tick(round(_LEFT + (_RIGHT - _LEFT) * (math.log10(value) - first) / (last - first), 1), f"{value:,.12g}")
        for value in round_numbers(10**first, 10**last)
    )
    percents = tuple(Tick(_height(p / 100), str(p)) for p in range(0, 101, 20))
    return Scatter(axis, tuple(dots), len(lines) - len(known), ticks, percents)


def _accuracy(line: Line) -> Bounds | None:
    """As the board's column has it; an interval without ends is a point."""
    column = BY_SLUG["accuracy"].bounds
    return None if column is None else column(line.row)


def _spent(axis: Axis, line: Line) -> float:
    return (line.row.tokens if axis is Axis.TOKENS else line.row.cost) or 0


def _amount(axis: Axis, spent: float) -> str:
    return f"{spent:,} tokens" if axis is Axis.TOKENS else f"${spent:,.4f}"


def _height(share: float) -> float:
    return round(_BOTTOM - (_BOTTOM - _TOP) * share, 1)


def _fits(place: Span, room: Sequence[Span]) -> bool:
    """Whether a name has room there, clear of points and of names before it."""
    left, right, y = place
    clear = all(abs(y - other) >= _LABEL_HEIGHT or left > end or right < start for start, end, other in room)
    return clear and left >= _LEFT and right <= WIDTH


def round_numbers(first: float, last: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two positive numbers."""
    powers = range(math.floor(math.log10(first)), math.ceil(math.log10(last)) + 1)
    # Divided where the power is negative: 2/1000 is the nearest number to 0.002, 2·0.001 is not.
    values = [factor * 10**power if power >= 0 else factor / 10**-power for power in powers for factor in (1, 2, 5)]
    return [value for value in values if first <= value <= last]
