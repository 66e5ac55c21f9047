"""Figures over rounds: where the marks and the bars stand."""

from app.db.queries.precision import Group
from app.domain.metrics.intervals import Estimate, EstimateStatus
from app.domain.metrics.repairs import RepairFigures
from app.web.rounds import rounds_drawing


def group(number: int, precision: float | None, edits: int, needed: int) -> Group:
    """Ten items, or none where there is no precision."""
    status = EstimateStatus.UNDEFINED if precision is None else EstimateStatus.OK
    found = Estimate(precision, precision, precision, 4, status)
    full = Estimate(None if precision is None else 1.0, None, None, 4, status)
    return Group(str(number), RepairFigures(0 if precision is None else 10, 4, found, full, full, full), edits, needed)


def test_marks_stand_beside_each_other_and_bars_beside_what_is_needed() -> None:
    drawn = rounds_drawing([group(0, 0.75, 20, 10), group(1, 0.5, 40, 10)])
    assert drawn is not None
    precision, recall, _ = drawn.series
    # From 0 to 100 % over y = 252 … 16; rounds at x = 68 and 524, marks 7 apart.
    assert [(mark.x, mark.y, mark.low) for mark in precision.marks] == [(61.0, 75.0, 75.0), (517.0, 134.0, 134.0)]
    assert [(mark.x, mark.y, mark.low) for mark in recall.marks] == [(68.0, 16.0, None), (524.0, 16.0, None)]
    # Recall and pass rate end in one place: their names stand apart.
    assert [series.name_y for series in drawn.series] == [134.0, 16.0, 32.0]
    # Means of 2 and 4 edits, 1 needed, on an axis to 4 in steps of 1 over y = 142 … 16.
    assert [tick.label for tick in drawn.edits] == ["0", "1", "2", "3", "4"]
    assert [(bar.y, bar.needed, bar.value) for bar in drawn.bars] == [(79.0, 110.5, "2.0"), (16.0, 110.5, "4.0")]


def test_one_round_with_scores_is_no_course() -> None:
    assert rounds_drawing([group(0, 0.75, 20, 10), group(1, None, 0, 0)]) is None
