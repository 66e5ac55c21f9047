"""Figures of the catalogue in words."""

import pytest

from app.domain.metrics.intervals import Estimate, EstimateStatus
from app.web.comparison import FigureCell
from app.web.latex import cell_words
from app.web.measures import figure_words

NO_SPREAD = "no interval: resamples do not vary on both sides"


def estimate(value: float | None, low: float | None, high: float | None, status: EstimateStatus) -> Estimate:
    return Estimate(value, low, high, 50, status)


@pytest.mark.parametrize(
    ("found", "unit", "said"),
    [
        (estimate(0.25, 0.125, 0.5, EstimateStatus.OK), "share of problems", ("25.0", "12.5 to 50.0", "")),
        (estimate(0.7, 0.5, None, EstimateStatus.ONE_SIDED), "", ("0.700", "0.500 to no upper end", "one end alone")),
        (
            estimate(None, 1.327, None, EstimateStatus.ONE_SIDED),
            "",
            ("no finite value", "1.327 to no upper end", "one end alone"),
        ),
        (
            estimate(None, None, 2.0, EstimateStatus.ONE_SIDED),
            "iterations",
            ("no finite value", "no lower end to 2", "one end alone"),
        ),
        (estimate(1.0, None, None, EstimateStatus.NO_SPREAD), "", ("1.000", "", NO_SPREAD)),
        (estimate(None, None, None, EstimateStatus.UNDEFINED), "", (None, "", "undefined: nothing to measure")),
    ],
)
def test_a_figure_in_words(found: Estimate, unit: str, said: tuple[str | None, str, str]) -> None:
    assert figure_words(found, unit) == said


def test_a_cell_of_a_table_says_that_its_interval_is_missing() -> None:
    assert cell_words(FigureCell("1.000", "", NO_SPREAD)) == "1.000 (no interval)"
    assert cell_words(FigureCell("0.7", "0.5 to 0.9")) == "0.7 (0.5 to 0.9)"
    assert cell_words(FigureCell("–", "", "undefined: nothing to measure")) == "–"
