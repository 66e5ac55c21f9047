"""The published index: the authors' own vectors, and cases worked out by hand."""

import json
import math
from pathlib import Path

import pytest

from app.domain.metrics.decay import Decay, DecayStatus, Quality, attempts_to_lose, decay, risk_sets

VECTORS = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "ddi" / "ddi_vectors.json"


@pytest.mark.shared_data
@pytest.mark.skipif(not VECTORS.exists(), reason=f"the published vectors are not at {VECTORS}")
def test_published_vectors_are_reproduced() -> None:
    vectors = json.loads(VECTORS.read_text())
    assert len(vectors) == 33
    for vector in vectors:
        got = decay(vector["solved_at_attempt"], vector["n_problems"])
        name = vector["key"]
        assert [p.effectiveness_percent for p in got.points] == vector["effectiveness_percent"], name
        assert 100 * (got.final_accuracy.estimate or 0) == pytest.approx(vector["final_accuracy_percent"], abs=1e-4)
        if vector["lambda_"] is None:
            assert got.lambda_ is None, name
            assert got.t_theta is None
            continue
        assert got.lambda_ == pytest.approx(vector["lambda_"], abs=2e-4), name
        assert got.r_squared == pytest.approx(vector["r_squared"], abs=1e-3), name
        assert got.intercept == pytest.approx(vector["fitted_e0_percent"], rel=1e-3), name
        reached = {str(theta): t for theta, t in (got.t_theta or {}).items() if t is not None}
        assert reached == vector["t_theta"], name


def test_risk_sets_follow_who_is_left() -> None:
    # 10 problems: 4 solved → 6 left; 3 solved and 1 censored → 2 left; 0 solved; 2 solved → nobody; no t = 4.
    sets = risk_sets([4, 3, 0, 2, 0], 10, [0, 1, 0, 0])
    assert [(s.attempt, s.solved, s.at_risk) for s in sets] == [(0, 4, 10), (1, 3, 6), (2, 0, 2), (3, 2, 2)]
    # I_1 = 100·3/6 = 50 and I_0 = 100·4/10 = 40.
    assert [s.effectiveness_percent for s in sets] == [40.0, 50.0, 0.0, 100.0]


def test_effectiveness_is_rounded_to_four_decimals() -> None:
    # 100·1/3 = 33.333…
    assert risk_sets([1], 3)[0].effectiveness_percent == 33.3333


def test_exact_halving_gives_ln_2() -> None:
    # Of 512: 256 solved (50 %), of 256: 64 (25 %), of 192: 24 (12.5 %), of 168: 10.5 is no count, so stop at three
    # points: I = 50·2^-t exactly, λ = ln 2, half-life 1, t_50 = 1, t_80 = ceil(log2 5) = 3, R² = 1.
    got = decay([256, 64, 24], 512)
    assert got.status is DecayStatus.FITTED
    assert got.lambda_ == pytest.approx(math.log(2), abs=1e-6)
    assert got.half_life == pytest.approx(1.0, abs=1e-6)
    assert got.intercept == pytest.approx(50.0, abs=1e-5)
    assert got.r_squared == pytest.approx(1.0, abs=1e-9)
    assert got.t_theta is not None
    assert (got.t_theta[50], got.t_theta[80]) == (1, 3)
    # Three points leave one degree of freedom: no word for the quality.
    assert got.quality is None
    assert got.e0.estimate == 0.5
    assert got.final_accuracy.estimate == pytest.approx(344 / 512)
    assert got.gain == pytest.approx(88 / 512)


def test_points_of_zero_are_left_out_and_the_rest_keep_their_attempt() -> None:
    # As above with an attempt in which nothing was solved: t = 0, 1, 3 with I = 50, 25 and of 192: 12 = 6.25 %,
    # which lies on 50·2^-t at t = 3. Had the points moved together, λ would not be ln 2.
    got = decay([256, 64, 0, 12], 512)
    assert got.lambda_ == pytest.approx(math.log(2), abs=1e-6)
    assert got.fitted_points == 3


@pytest.mark.parametrize(
    ("solved", "of", "status"),
    [
        ([], 10, DecayStatus.NO_DATA),
        ([0], 0, DecayStatus.NO_DATA),
        ([0, 0, 0, 0], 10, DecayStatus.TOO_FEW_POINTS),
        ([10, 0, 0, 0], 10, DecayStatus.TOO_FEW_POINTS),
        ([5, 2, 0, 0], 10, DecayStatus.TOO_FEW_POINTS),
    ],
)
def test_undefined_is_a_status(solved: list[int], of: int, status: DecayStatus) -> None:
    got = decay(solved, of)
    assert got.status is status
    assert (got.lambda_, got.r_squared, got.half_life, got.t_theta, got.quality) == (None,) * 5


def test_rising_effectiveness_is_flat_and_reaches_nothing() -> None:
    # 10 %, then 20 %, then 50 %: the best non-negative λ is 0.
    got = decay([10, 18, 36], 100)
    assert got.status is DecayStatus.FLAT
    assert got.lambda_ == 0.0
    assert got.half_life is None
    assert got.t_theta == {50: None, 80: None, 90: None, 95: None, 99: None}
    # A horizontal line at the mean explains nothing of the variance.
    assert got.r_squared == pytest.approx(0.0, abs=1e-6)


def test_duplicated_problems_leave_the_estimates_unchanged() -> None:
    once = decay([84, 17, 4, 1, 3, 0], 164)
    twice = decay([168, 34, 8, 2, 6, 0], 328)
    assert once.lambda_ == pytest.approx(twice.lambda_)
    assert once.quality is Quality.EXCELLENT
    assert once.t_theta == twice.t_theta


@pytest.mark.parametrize(("theta", "expected"), [(50, 1), (75, 2), (80, 3), (90, 4), (87.5, 3)])
def test_attempts_to_lose_at_a_half_life_of_one(theta: float, expected: int) -> None:
    # λ = ln 2: after t attempts 1 − 2^-t is lost. 75 % is lost exactly at 2 and 87.5 % exactly at 3: no rounding up.
    assert attempts_to_lose(theta, math.log(2)) == expected


@pytest.mark.parametrize("bad", [([-1], 3, ()), ([2, 2], 3, ()), ([1], 3, (3,)), ([1, 2], 3, (1, 0))])
def test_impossible_counts_are_refused(bad: tuple[list[int], int, tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match=r"negative|solved"):
        decay(*bad)


def test_no_result_holds_nan() -> None:
    for solved, of in (([0], 1), ([1], 1), ([1, 1, 1], 3), ([3, 3, 3], 9)):
        got: Decay = decay(solved, of)
        numbers = [got.lambda_, got.r_squared, got.half_life, got.intercept, got.gain]
        assert all(number is None or math.isfinite(number) for number in numbers)
