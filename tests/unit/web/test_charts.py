"""The decay chart as it reaches the page."""

import json
from typing import Any

import pytest

from app.domain.metrics.decay import decay
from app.domain.metrics.hazard import fit_hazard
from app.domain.metrics.intervals import wilson
from app.domain.protocol.policy import Protocol
from app.web.charts import budget_chart, comparison_chart, decay_chart


def figure(solved: list[int], of: int, theme: str = "light") -> dict[str, Any]:
    return json.loads(decay_chart(decay(solved, of), Protocol(attempts=6)))[theme]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_points_carry_their_interval_and_their_counts(theme: str) -> None:
    fit, points = figure([96, 23, 16, 5, 2, 4], 164, theme)["data"]
    assert fit["line"]["dash"] == "dash"
    assert points["x"] == [0, 1, 2, 3, 4, 5]
    assert points["y"][0] == pytest.approx(100 * 96 / 164)
    assert points["text"][1].startswith("Attempt 1<br>23 of 68 solved: 33.8 %")


def test_ticks_stand_at_the_theta_within_the_attempts_shown() -> None:
    # λ = 0.339: t_50 = 3, t_80 = 5, t_90 = 7, and 7 lies beyond attempt 5.
    layout = figure([96, 23, 16, 5, 2, 4], 164)["layout"]
    assert [shape["x0"] for shape in layout["shapes"]] == [3, 5]
    assert [note["text"] for note in layout["annotations"][1:]] == ["t₅₀", "t₈₀"]


def test_without_a_fit_there_are_points_alone() -> None:
    drawn = figure([5, 0, 1], 10)
    assert [trace["mode"] for trace in drawn["data"]] == ["markers"]
    assert "shapes" not in drawn["layout"]


def test_the_json_cannot_end_its_script_element() -> None:
    assert "<" not in decay_chart(decay([5, 2, 1], 10), Protocol(attempts=3))


def test_careful_fits_are_drawn_from_their_first_attempt_on() -> None:
    # 256, 64, 24 of 512: a half, a quarter, an eighth; both careful fits go through every point.
    solved, of = [256, 64, 24], 512
    careful = [fit_hazard(solved, of, start=start) for start in (0, 1)]
    drawn = json.loads(decay_chart(decay(solved, of), Protocol(attempts=3), careful))["light"]
    whole, debugging = (
        next(t for t in drawn["data"] if t.get("name") == name)
        for name in ("careful fit with 95 % band", "careful fit, t ≥ 1")
    )
    assert (whole["x"][0], whole["x"][-1], debugging["x"][0]) == (0, 2, 1)
    assert (whole["y"][0], whole["y"][-1]) == (pytest.approx(50, abs=1e-3), pytest.approx(12.5, abs=1e-3))
    assert debugging["y"][0] == pytest.approx(25, abs=1e-3)
    assert whole["line"]["dash"] != debugging["line"]["dash"]
    # The band of all attempts: its low edge first, then the high one, filled down to it.
    low, high = drawn["data"][:2]
    assert (high["fill"], low["showlegend"], high["showlegend"]) == ("tonexty", False, False)
    assert all(below < middle < above for below, middle, above in zip(low["y"], whole["y"], high["y"], strict=True))


def test_without_a_finite_rate_no_careful_curve_is_drawn() -> None:
    careful = [fit_hazard([8, 0, 0], 20, start=start) for start in (0, 1)]
    drawn = json.loads(decay_chart(decay([8, 0, 0], 20), Protocol(attempts=3), careful))["light"]
    assert [trace["mode"] for trace in drawn["data"]] == ["markers"]


def test_ten_runs_are_told_apart_and_their_intervals_stand_side_by_side() -> None:
    fits = [(decay([5, 2, 1], 20), fit_hazard([5, 2, 1], 20)) for _ in range(10)]
    drawn = json.loads(comparison_chart([(f"m{n} %{{x}}<b>", *fit) for n, fit in enumerate(fits)], 3))["light"]
    points = [trace for trace in drawn["data"] if trace["mode"] == "markers"]
    curves = [trace for trace in drawn["data"] if trace["mode"] == "lines"]
    assert len({(one["marker"]["color"], one["marker"]["symbol"]) for one in points}) == 10
    assert len({(one["line"]["color"], one["line"]["dash"]) for one in curves}) == 10
    assert [one["x"][1] for one in points] == sorted({one["x"][1] for one in points})
    assert (points[0]["x"][1], points[-1]["x"][1]) == (0.78, 1.22)
    assert points[0]["name"] == "m0 % {x}&lt;b>"


def test_budgets_rise_in_steps() -> None:
    shares = [wilson(0, 4), wilson(1, 4), wilson(3, 4)]
    (trace,) = json.loads(budget_chart([100, 200, 500], [100, 500], [(2, "m", shares)]))["light"]["data"]
    assert (trace["x"], trace["y"], trace["line"]["shape"]) == ([100, 200, 500], [0, 25, 75], "hv")
    assert trace["line"]["dash"] == "dot"
