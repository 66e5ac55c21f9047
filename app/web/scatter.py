"""Final accuracy against tokens: what a leaderboard's figures cost, as places in a drawing made by the server."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.web.board import Line

WIDTH, HEIGHT = 1060, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 1040, 14, 262
_LABEL_HEIGHT, _LETTER = 14, 6.6
FEWEST = 2
"""Fewer runs make no comparison."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One run: its place, its interval from `low` to `high`, and its name where there is room for it."""

    x: float
    y: float
    low: float
    high: float
    label: str
    title: str
    alike: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and what stands there."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Scatter:
    """Runs by tokens (logarithmic) and final accuracy (0 to 100 %)."""

    dots: tuple[Dot, ...]
    tokens: tuple[Tick, ...]
    percents: tuple[Tick, ...]
    left: int = _LEFT
    right: int = _RIGHT
    bottom: int = _BOTTOM


def accuracy_against_tokens(lines: Sequence[Line]) -> Scatter | None:
    """The drawing of these lines; None where fewer than two of them have an accuracy and tokens."""
    known = [
        (line, line.row.figures.decay.final_accuracy)
        for line in lines
        if line.row.figures is not None and line.row.figures.decay.n and line.row.tokens > 0
    ]
    if len(known) < FEWEST:
        return None
    logs = [math.log10(line.row.tokens) for line, _ in known]
    first, last = min(logs) - 0.05, max(logs) + 0.05
    room: list[tuple[float, float, float]] = []
    dots = []
    for (line, share), log in zip(known, logs, strict=True):
        x = _LEFT + (_RIGHT - _LEFT) * (log - first) / (last - first)
        y, low, high = (_height(value or 0.0) for value in (share.estimate, share.low, share.high))
        label = line.row.model_name if _fits(x, y, len(line.row.model_name), room) else ""
        percent = f"{100 * (share.estimate or 0.0):.1f} %"
        title = f"{line.row.model_name}, run {line.row.run_id}: {percent} at {line.row.tokens:,} tokens"
        dots.append(Dot(round(x, 1), y, low, high, label, title, not line.differs))
    tokens = tuple(
        Tick(round(_LEFT + (_RIGHT - _LEFT) * (math.log10(value) - first) / (last - first), 1), f"{value:,}")
        for value in _round_numbers(10**first, 10**last)
    )
    return Scatter(tuple(dots), tokens, tuple(Tick(_height(p / 100), str(p)) for p in range(0, 101, 20)))


def _height(share: float) -> float:
    return round(_BOTTOM - (_BOTTOM - _TOP) * share, 1)


def _fits(x: float, y: float, letters: int, room: list[tuple[float, float, float]]) -> bool:
    """Whether a name fits beside its point, clear of those before; if so, its room is taken."""
    end = x + 10 + letters * _LETTER
    clear = all(abs(y - other) >= _LABEL_HEIGHT or x > right or end < left for left, right, other in room)
    fits = clear and end <= WIDTH
    if fits:
        room.append((x, end, y))
    return fits


def _round_numbers(first: float, last: float) -> list[int]:
    """1, 2 and 5 times powers of ten between two positive numbers."""
    powers = range(math.floor(math.log10(first)), math.ceil(math.log10(last)) + 1)
    values = [round(factor * 10**power) for power in powers if power >= 0 for factor in (1, 2, 5)]
    return [value for value in values if first <= value <= last]
