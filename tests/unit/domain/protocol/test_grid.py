"""Grids of temperature × top-p."""

import pytest

from app.domain.errors import InputError
from app.domain.protocol.grid import NO_GRID, SamplingGrid
from app.domain.protocol.policy import Protocol

BASE = Protocol(attempts=10, temperature=0.5, seed=3)


def test_a_cell_for_each_pair_temperature_by_temperature() -> None:
    cells = SamplingGrid.parse("0.1, 0.9", "0.3 0.95 0.3").cells(BASE)
    assert [(cell.temperature, cell.top_p) for cell in cells] == [(0.1, 0.3), (0.1, 0.95), (0.9, 0.3), (0.9, 0.95)]
    assert {(cell.attempts, cell.seed) for cell in cells} == {(10, 3)}


def test_an_axis_without_values_keeps_the_protocols_own() -> None:
    assert NO_GRID.cells(BASE) == (BASE,)
    assert [(cell.temperature, cell.top_p) for cell in SamplingGrid.parse("", "0.3,1").cells(BASE)] == [
        (0.5, 0.3),
        (0.5, 1.0),
    ]


@pytest.mark.parametrize(
    ("temperatures", "top_ps", "message"),
    [
        ("0.1; 0.9", "", "temperature: numbers separated by commas"),
        ("", "0", "top-p: must be above 0 and at most 1, not 0"),
        ("0.1 nan", "", "temperature: must be between 0 and 2, not nan"),
        ("0 .1 .2 .3 .4 .5", "0.1 0.3 0.5 0.7 0.9", "grid: at most 25 cells at once, not 30"),
    ],
)
def test_what_no_endpoint_takes_is_refused(temperatures: str, top_ps: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SamplingGrid.parse(temperatures, top_ps)
