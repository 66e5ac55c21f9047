"""The careful fit: curves that the counts lie on exactly, a direct search of the likelihood, and the named statuses."""

import math

import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import chi2, chi2_contingency

from app.domain.metrics.decay import risk_sets
from app.domain.metrics.hazard import Bounds, Form, HazardFit, HazardStatus, chance_band, fit_hazard


def chances_of(fit: HazardFit, form: Form) -> tuple[float, ...]:
    return next(one.chances for one in fit.forms if one.form is form)


def profiled(solved: list[int], of: int, rate: float, start: int = 0) -> float:
    """The log-likelihood at λ, the level found by Brent's search over log h_s."""
    points = [(p.attempt - start, p.solved, p.at_risk) for p in risk_sets(solved, of) if p.attempt >= start]
    top = min(rate * u for u, _, _ in points)

    def minus(level: float) -> float:
        total = 0.0
        for u, s, n in points:
            log_h = level - rate * u
            total += s * log_h + ((n - s) * math.log(-math.expm1(log_h)) if n > s and log_h < 0 else 0.0)
            if n > s and log_h >= 0:
                return math.inf
        return -total

    found = minimize_scalar(minus, bounds=(top - 30, top), method="bounded", options={"xatol": 1e-11})
    return -float(min(found.fun, minus(top)))


@pytest.mark.parametrize(
    ("solved", "of", "form", "hazards"),
    [
        # At risk 512, 256, 192: a half, a quarter, an eighth. λ = ln 2.
        ([256, 64, 24], 512, Form.EXPONENTIAL, (1 / 2, 1 / 4, 1 / 8)),
        # 384, 192, 144, 120: (1/2)/(1 + u), that is b = 1.
        ([192, 48, 24, 15], 384, Form.POWER, (1 / 2, 1 / 4, 1 / 6, 1 / 8)),
        # 1000, 500, 300, 210.
        ([500, 200, 90, 42], 1000, Form.LINEAR, (0.5, 0.4, 0.3, 0.2)),
        # 120, 60, 40, 30: 1/(2 + u), every problem's chance uniform on [0, 1] and constant.
        ([60, 20, 10, 6], 120, Form.BETA_GEOMETRIC, (1 / 2, 1 / 3, 1 / 4, 1 / 5)),
        # 64, 48, 36: a quarter of those left each time.
        ([16, 12, 9], 64, Form.CONSTANT, (1 / 4, 1 / 4, 1 / 4)),
    ],
)
def test_a_form_that_the_counts_lie_on_is_found(
    solved: list[int], of: int, form: Form, hazards: tuple[float, ...]
) -> None:
    fit = fit_hazard(solved, of)
    assert chances_of(fit, form) == pytest.approx(hazards, abs=1e-6)
    # No curve can be more likely than the observed shares themselves.
    likelihoods = {one.form: one.log_likelihood for one in fit.forms}
    assert max(likelihoods.values()) == pytest.approx(likelihoods[form])


def test_exact_halving() -> None:
    fit = fit_hazard([256, 64, 24], 512, thetas=(50, 80))
    assert fit.lambda_ is not None
    assert fit.lambda_.estimate == pytest.approx(math.log(2), abs=1e-9)
    assert fit.half_life is not None
    assert fit.half_life.estimate == pytest.approx(1.0, abs=1e-8)
    assert fit.t_theta is not None
    assert (fit.t_theta[50].estimate, fit.t_theta[80].estimate) == (1, 3)
    assert fit.h_start == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize(
    ("solved", "of", "start"),
    [
        ([84, 17, 4, 1, 3, 0], 164, 0),
        ([84, 17, 4, 1, 3, 0], 164, 1),
        ([5, 6, 2, 7, 1], 60, 0),
        ([3, 9, 8], 20, 0),  # the last attempt solves all that is left: h reaches 1
        ([0, 3, 0, 0], 10, 0),
    ],
)
def test_the_maximum_and_the_ends_against_a_direct_search(solved: list[int], of: int, start: int) -> None:
    fit = fit_hazard(solved, of, start=start)
    rate = fit.lambda_
    assert rate is not None
    assert None not in (rate.estimate, rate.low, rate.high)
    best = minimize_scalar(
        lambda value: -profiled(solved, of, value, start), bounds=(-4, 4), method="bounded", options={"xatol": 1e-9}
    )
    assert rate.estimate == pytest.approx(best.x, abs=1e-5)
    assert fit.forms[0].log_likelihood == pytest.approx(-best.fun, abs=1e-7)
    for end in (rate.low, rate.high):
        # By definition twice the difference is the 95 % quantile of χ² with one degree of freedom.
        assert 2 * (-best.fun - profiled(solved, of, end or 0.0, start)) == pytest.approx(chi2.ppf(0.95, 1), abs=1e-5)


def test_two_attempts_are_a_two_by_two_table() -> None:
    # 30 of 100, then 7 of 70: λ̂ = ln(0.3/0.1) = ln 3, and the test against a constant hazard is the G-test.
    fit = fit_hazard([30, 7], 100)
    assert fit.lambda_ is not None
    assert fit.lambda_.estimate == pytest.approx(math.log(3), abs=1e-9)
    expected = chi2_contingency([[30, 70], [7, 63]], correction=False, lambda_="log-likelihood").pvalue
    assert fit.p_constant == pytest.approx(expected, rel=1e-6)
    # The curves with two free parameters all go through both points; nothing tells them apart.
    assert fit.best is None


def test_statuses() -> None:
    decay = fit_hazard([84, 17, 4, 1, 3, 0], 164)
    assert decay.status is HazardStatus.DECAY
    # 64, 48, 36 at risk, a quarter solved each time: λ̂ = 0, its interval symmetric enough to hold 0.
    level = fit_hazard([16, 12, 9], 64)
    assert level.status is HazardStatus.NO_DETECTABLE_DECAY
    assert level.lambda_ is not None
    assert level.lambda_.estimate == pytest.approx(0.0, abs=1e-9)
    # No half-life is the best, but none below ln 2 over the upper end is compatible.
    assert level.half_life == Bounds(None, math.log(2) / (level.lambda_.high or 0.0), None)
    assert level.smallest_half_life == level.half_life.low
    assert level.p_constant == pytest.approx(1.0)
    rising = fit_hazard([10, 18, 36], 100)
    assert rising.status is HazardStatus.NO_DETECTABLE_DECAY
    assert rising.lambda_ is not None
    assert (rising.lambda_.high or 0.0) < 0
    assert rising.half_life == Bounds(None, None, None)


def test_without_later_solves_the_interval_has_no_upper_end() -> None:
    # 8 of 20 at once, then nothing. At λ → ∞ the likelihood is that of 8 of 20 alone: 8 ln 0.4 + 12 ln 0.6 = −15.407…
    fit = fit_hazard([8, 0, 0], 20)
    assert fit.status is HazardStatus.UNBOUNDED
    assert fit.lambda_ is not None
    assert (fit.lambda_.estimate, fit.lambda_.high) == (None, None)
    low = fit.lambda_.low or 0.0
    supremum = 8 * math.log(0.4) + 12 * math.log(0.6)
    assert fit.forms[0].log_likelihood == pytest.approx(supremum)
    assert 2 * (supremum - profiled([8, 0, 0], 20, low)) == pytest.approx(3.841459, abs=1e-5)
    assert fit.half_life == Bounds(0.0, 0.0, math.log(2) / low)
    assert fit.t_theta is not None
    assert fit.t_theta[50] == Bounds(1, 1, math.ceil(math.log(2) / low))
    # The mirror image: everything at the last attempt. λ has no lower end and lies below 0.
    late = fit_hazard([0, 0, 8], 20)
    assert late.lambda_ is not None
    assert (late.lambda_.estimate, late.lambda_.low) == (None, None)
    assert late.lambda_.high is not None
    assert late.lambda_.high < 0


@pytest.mark.parametrize(
    ("solved", "of", "start", "status"),
    [
        ([], 0, 0, HazardStatus.TOO_FEW_ATTEMPTS),
        ([9], 20, 0, HazardStatus.TOO_FEW_ATTEMPTS),
        ([9, 3], 20, 1, HazardStatus.TOO_FEW_ATTEMPTS),
        ([20, 0, 0], 20, 0, HazardStatus.TOO_FEW_ATTEMPTS),
        ([0, 0, 0], 20, 0, HazardStatus.TOO_FEW_SOLVES),
        ([9, 1, 0, 1], 20, 1, HazardStatus.TOO_FEW_SOLVES),
    ],
)
def test_undefined_is_a_status(solved: list[int], of: int, start: int, status: HazardStatus) -> None:
    fit = fit_hazard(solved, of, start=start)
    assert fit.status is status
    assert (fit.lambda_, fit.half_life, fit.t_theta, fit.p_constant, fit.h_start, fit.best) == (None,) * 6
    assert fit.forms == ()


def test_weights_of_the_forms() -> None:
    fit = fit_hazard([84, 17, 4, 1, 3, 0], 164)
    assert sum(one.weight for one in fit.forms) == pytest.approx(1.0)
    by_form = {one.form: one for one in fit.forms}
    exponential, constant = by_form[Form.EXPONENTIAL], by_form[Form.CONSTANT]
    # ΣS/ΣN: at risk 164, 80, 63, 59, 58, 55 are 479 in all, 109 of them solved.
    assert constant.chances == pytest.approx([109 / 479] * 6)
    assert constant.log_likelihood == pytest.approx(109 * math.log(109 / 479) + 370 * math.log(370 / 479))
    assert constant.aic == pytest.approx(2 - 2 * constant.log_likelihood)
    assert exponential.weight / constant.weight == pytest.approx(math.exp((constant.aic - exponential.aic) / 2))
    # The power curve is within ΔAIC 4 of the exponential one: undecided.
    assert by_form[Form.POWER].delta < 4
    assert fit.best is None


def test_duplicated_problems_leave_the_estimates_and_narrow_the_interval() -> None:
    once, twice = fit_hazard([84, 17, 4, 1, 3, 0], 164), fit_hazard([168, 34, 8, 2, 6, 0], 328)
    assert once.lambda_ is not None
    assert twice.lambda_ is not None
    assert once.lambda_.estimate == pytest.approx(twice.lambda_.estimate, abs=1e-8)
    assert (twice.lambda_.high or 9) < (once.lambda_.high or 0)
    for form in Form:
        assert chances_of(once, form) == pytest.approx(chances_of(twice, form), abs=1e-6)


def test_censored_problems_leave_the_risk_set_without_a_failure() -> None:
    # 100: 50 solved, 10 cut short → 40 at risk: 10 solved. λ̂ = ln((50/100)/(10/40)) = ln 2.
    fit = fit_hazard([50, 10], 100, [10, 0])
    assert fit.lambda_ is not None
    assert fit.lambda_.estimate == pytest.approx(math.log(2), abs=1e-9)


def test_the_chance_stays_possible_at_attempts_that_nobody_was_left_for() -> None:
    # 50: 24, 14 and the last 12 solved; three attempts more were allowed. A curve through 14 of 26 and 12 of 12 would
    # pass 1 at t = 3. Shorter, with nothing allowed after the last solve, it may go through both.
    fit, short = fit_hazard([24, 14, 12, 0, 0, 0], 50, start=1), fit_hazard([24, 14, 12], 50, start=1)
    assert fit.forms[0].chances == pytest.approx(sorted(fit.forms[0].chances))
    assert fit.forms[0].chances[-1] == pytest.approx(1.0)
    assert short.forms[0].chances == pytest.approx((14 / 26, 1.0))
    for one in fit.forms:
        assert all(0 <= chance <= 1 + 1e-12 for chance in one.chances), one.form


def test_the_band_of_two_attempts_is_that_of_two_shares() -> None:
    # The curve goes through both points, so the chance at each is bounded by its own likelihood: of 50 of 100 it is
    # 50·log(1 − 4d²) = −1.9207 at a half ± d, d = √((1 − e^−0.038415)/4) = 0.09706.
    first, second = chance_band(fit_hazard([50, 10], 100), [0, 1])
    assert (first.low, first.high) == (pytest.approx(0.40294, abs=2e-5), pytest.approx(0.59706, abs=2e-5))

    def distance(chance: float) -> float:
        """2·(largest log-likelihood − that of the chance), 10 of 50."""
        return 2 * (10 * math.log(0.2 / chance) + 40 * math.log(0.8 / (1 - chance)))

    assert [distance(bound or 0.0) for bound in (second.low, second.high)] == pytest.approx(
        [chi2.ppf(0.95, 1)] * 2, rel=1e-3
    )


def test_the_band_stays_a_chance_and_needs_a_finite_rate() -> None:
    fit = fit_hazard([2, 3, 4], 20)
    band = chance_band(fit, [0, 0.5, 1, 2])
    assert [one.estimate for one in band][::2] == pytest.approx([fit.forms[0].chances[0], fit.forms[0].chances[1]])
    for one in band:
        assert 0 < (one.low or 0) < (one.estimate or 0) < (one.high or 0) <= 1
    assert chance_band(fit_hazard([84, 0, 0], 164), [0]) == ()
