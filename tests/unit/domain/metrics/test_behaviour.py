"""Classes of behaviour: what is printed of them is reproduced."""

import pytest

from app.domain.metrics.behaviour import Behaviour, CutOffs
from app.domain.metrics.intervals import Estimate, EstimateStatus
from app.web.published import SINGLE, PublishedRow

WORDS = {
    "pass with precision": Behaviour.PRECISE,
    "weak but precise": Behaviour.WEAK_PRECISE,
    "weak and imprecise": Behaviour.WEAK_IMPRECISE,
    "pass-oriented": Behaviour.PASS_ORIENTED,
    # The one thinking model that has a word of its own: its place is that of the pass-oriented.
    "imprecise reasoning": Behaviour.PASS_ORIENTED,
}


@pytest.mark.parametrize("row", SINGLE.rows, ids=lambda row: row.name)
def test_the_usual_cut_offs_give_the_printed_words(row: PublishedRow) -> None:
    assert row.place is not None
    assert CutOffs().of(*row.place) is WORDS[row.remark]


def test_at_a_cut_off_is_high() -> None:
    assert CutOffs().of(0.60, 0.71) is Behaviour.PRECISE
    assert CutOffs().of(0.5999, 0.71) is Behaviour.PASS_ORIENTED


def test_classes_that_the_intervals_reach_are_all_named() -> None:
    def of(value: float | None, low: float | None = None, high: float | None = None) -> Estimate:
        return Estimate(value, low, high, 5, EstimateStatus.OK)

    # Precision 0.55 to 0.65 lies on both sides of 0.60; the pass rate stays above 0.71.
    assert CutOffs().compatible(of(0.62, 0.55, 0.65), of(0.8, 0.75, 0.9)) == (
        Behaviour.PRECISE,
        Behaviour.PASS_ORIENTED,
    )
    assert CutOffs().compatible(of(0.62), of(0.8)) == (Behaviour.PRECISE,)
    assert CutOffs().compatible(of(None), of(0.8)) == ()
