"""The plane of precision and pass rate: where points stand, and that nothing hides anything."""

from dataclasses import replace

from app.domain.metrics.behaviour import USUAL_CUT_OFFS
from app.domain.metrics.intervals import Estimate, EstimateStatus
from app.domain.metrics.repairs import RepairFigures
from app.web.board import Line
from app.web.plane import plane
from app.web.published import SINGLE
from tests.unit.web.test_scatter import line


def run(name: str, precision: Estimate, unit_pass: Estimate, *differs: str) -> Line:
    found = line(name, 10, 5, *differs)
    assert found.row.figures is not None
    repairs = RepairFigures(7, 3, precision, precision, precision, unit_pass)
    return replace(found, row=replace(found.row, figures=replace(found.row.figures, repairs=repairs)))


def of(value: float, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(value, low, high, 3, EstimateStatus.OK)


def test_places_cut_offs_and_intervals() -> None:
    drawn = plane([run("a", of(0.5), of(0.8, 0.6, 0.9), "other attempts")], None, USUAL_CUT_OFFS)
    assert drawn is not None
    (point,) = drawn.points
    # Pass rates 0.6 to 0.9 take the axis from 50 to 100 % over x = 48 … 1040; precisions 0.5 and 0.6 from 40 to 70 %
    # over y = 470 … 16.
    assert [tick.label for tick in drawn.across] == ["50", "60", "70", "80", "90", "100"]
    assert [tick.label for tick in drawn.upright] == ["40", "50", "60", "70"]
    assert (point.x, point.y) == (643.2, 318.7)
    assert (point.across, point.upright) == ((246.4, 841.6), None)
    assert (drawn.x, drawn.y) == (464.6, 167.3)
    assert (point.published, point.alike) == (False, False)
    assert point.title == "a, run 1: precision 50.0 %, pass rate 80.0 %, 7 items"


def test_published_rows_are_hollow_and_every_name_is_clear_of_the_others() -> None:
    drawn = plane([], SINGLE, USUAL_CUT_OFFS)
    assert drawn is not None
    assert [point.published for point in drawn.points] == [True] * 9
    labels = [point.label for point in drawn.points]
    assert [label and label.text for label in labels] == [row.name for row in SINGLE.rows]
    spans = [
        (one.x, one.x + 6.6 * len(one.text), one.y)
        if one.side == "start"
        else (one.x - 6.6 * len(one.text), one.x, one.y)
        for one in labels
        if one is not None
    ]
    for at, (left, right, y) in enumerate(spans):
        for other_left, other_right, other_y in spans[:at]:
            assert abs(y - other_y) >= 14 or left > other_right or right < other_left
    assert [region.text for region in drawn.regions] == [
        "weak but precise", "pass with precision", "weak and imprecise", "pass-oriented: regenerating",
    ]  # fmt: skip


def test_nothing_to_place_is_no_plane() -> None:
    undefined = Estimate(None, None, None, 0, EstimateStatus.UNDEFINED)
    assert plane([run("a", undefined, undefined), line("b", 10, 5)], None, USUAL_CUT_OFFS) is None
