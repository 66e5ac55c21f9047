"""Shares of problems solved, of a cell of a grid or of problems of one difficulty, as pages and files show them."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from app.db.queries.tiers import Counted
from app.domain.metrics.intervals import Proportion
from app.domain.metrics.survival import SolvedWithin, median_iterations

UNRATED = "not rated"
_ORDER = ("easy", "medium", "hard")


class Figure(StrEnum):
    """Which share a table shows."""

    ISR = "isr"
    FIRST = "pass1"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class FigureWords:
    """What a figure is called, and its paragraph on "How it is computed"."""

    label: str
    anchor: str


FIGURES = {
    Figure.ISR: FigureWords("ISR@k, solved within k attempts", "isr"),
    Figure.FIRST: FigureWords("pass@1, solved at the first attempt", "pass"),
    Figure.FINAL: FigureWords("Final accuracy", "final-accuracy"),
}


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its interval, fractions; None where undefined. There is no interval where `n` are not independent.

    `n` counts trajectories.
    """

    estimate: float | None
    low: float | None
    high: float | None
    n: int


NOTHING = Share(None, None, None, 0)


def figure_of(text: str) -> Figure:
    """As an address names it; the usual one where it names none."""
    return Figure(text) if text in set(Figure) else Figure.ISR


def share_of(counted: Counted | None, figure: Figure) -> Share:
    """One figure of some problems of a run."""
    if counted is None:
        return NOTHING
    found: SolvedWithin | Proportion
    match figure:
        case Figure.ISR:
            found = counted.isr
        case Figure.FIRST:
            found = counted.first
        case Figure.FINAL:
            found = counted.final
    low, high = (found.low, found.high) if counted.alone else (None, None)
    return Share(found.estimate, low, high, counted.of)


def mis_of(counted: Counted | None) -> float | None:
    """Median iterations to solve as published; None without problems."""
    if counted is None or not counted.of:
        return None
    return float(median_iterations(np.array([*counted.solved, counted.of], dtype=float)))


def tier_name(difficulty: str | None) -> str:
    """What a difficulty is called."""
    return UNRATED if difficulty is None else difficulty


def ordered_tiers(found: Iterable[str | None]) -> list[str | None]:
    """Difficulties from the easiest on; those of other names after them, and the unrated last."""

    def place(difficulty: str | None) -> tuple[int, str]:
        if difficulty is None:
            return len(_ORDER) + 1, ""
        return (_ORDER.index(difficulty), "") if difficulty in _ORDER else (len(_ORDER), difficulty)

    return sorted(set(found), key=place)
