r"""The decay curve fitted with care: by the counts themselves, zeros included.

S_t of N_t problems at risk are solved at attempt t, so S_t ~ Binomial(N_t, h_t). The curve

.. math:: h_t = h_s\,e^{-\lambda(t - s)}

starts at the first fitted attempt s: 0 for all attempts, 1 for debugging alone. λ may have any sign; h ≤ 1 is required
at every attempt allowed from s on, also at those that nobody was left for: a curve that stopped at the last solve could
rise to 1 just there, and would do so too often (bench/coverage.py). λ is estimated by maximum likelihood, and
everything derived from it has the profile interval of λ.

Unequal difficulty makes the hazard fall even when no problem's chance changes: the easy problems leave first. A λ above
0 says that the share solved of those still unsolved falls, not why.

References
----------
Venzon, D. J. and Moolgavkar, S. H. (1988). A method for computing profile-likelihood-based confidence intervals.
Applied Statistics 37, 87–94.
Burnham, K. P. and Anderson, D. R. (2002). Model Selection and Multimodel Inference, sections 2.6 and 2.9.
Fader, P. S. and Hardie, B. G. S. (2007). How to project customer retention. J. Interactive Marketing 21, 76–90: the
shifted beta-geometric.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from app.domain.metrics.decay import FLAT, THETAS, RiskSet, attempts_to_lose, risk_sets
from app.domain.metrics.intervals import Floats
from app.domain.metrics.likelihood import best, chances, crossing, level_odds, log_likelihood, outward

MIN_SOLVES = 3
"""With fewer solves in the fitted attempts no rate is told from any other."""
_BORDER = 81
"""Rates at which the border of the likelihood region is followed."""
_HALVINGS = 50
UNDECIDED = 4.0
"""Forms closer than this in AIC are not told apart by these counts."""


class HazardStatus(StrEnum):
    """What the careful fit says about decay, or why it says nothing."""

    DECAY = "decay"
    """The interval of λ lies above 0."""
    NO_DETECTABLE_DECAY = "no_detectable_decay"
    """It does not: 0, or a rise, is compatible."""
    UNBOUNDED = "unbounded"
    """It has no upper end: nothing was solved after the first fitted attempt."""
    TOO_FEW_SOLVES = "too_few_solves"
    TOO_FEW_ATTEMPTS = "too_few_attempts"
    """Fewer than two fitted attempts had a problem at risk."""


class Form(StrEnum):
    """How the hazard may depend on t; u = t − s."""

    EXPONENTIAL = "exponential"
    """h_s·e^(−λu)."""
    CONSTANT = "constant"
    """h_s."""
    POWER = "power"
    """h_s·(1 + u)^(−b)."""
    LINEAR = "linear"
    """h_s + c·u, within [0, 1]."""
    BETA_GEOMETRIC = "shifted_beta_geometric"
    """a/(a + b + u): every problem has a chance of its own, from Beta(a, b), that never changes."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """An estimate with its interval.

    Attributes
    ----------
    estimate
        None where no finite value is best, or none is reached.
    low, high
        None where the interval has no such end.
    """

    estimate: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class FittedForm:
    """One form of curve at its maximum likelihood.

    Attributes
    ----------
    chances
        h_t from the first fitted attempt on.
    aic, delta, weight
        Akaike's criterion, its distance to the best form's, and the share of e^(−Δ/2). Descriptive, no probabilities.
    """

    form: Form
    parameters: int
    chances: tuple[float, ...]
    log_likelihood: float
    aic: float
    delta: float
    weight: float


@dataclass(frozen=True, slots=True)
class HazardFit:
    """The careful fit from attempt `start` on.

    Attributes
    ----------
    points
        S_t and N_t of the fitted attempts that had a problem at risk.
    solves
        ΣS_t over them.
    lambda_
        Per attempt.
    half_life
        ln 2/λ in attempts; 0 where λ is infinite, as its low end is where λ has no upper one.
    t_theta
        θ (percent) → attempts until the hazard has fallen by θ; whole numbers.
    p_constant
        Of the likelihood-ratio test against a constant hazard (χ², one degree of freedom).
    forms
        All forms, the exponential first.
    best
        The form of the lowest AIC; None where another is within `UNDECIDED` of it.

    Without a fit (too few solves or attempts) everything after `solves` is None or empty.
    """

    start: int
    status: HazardStatus
    points: tuple[RiskSet, ...]
    solves: int
    lambda_: Bounds | None = None
    half_life: Bounds | None = None
    t_theta: Mapping[float, Bounds] | None = None
    p_constant: float | None = None
    forms: tuple[FittedForm, ...] = ()
    best: Form | None = None

    @property
    def smallest_half_life(self) -> float | None:
        """The smallest half-life compatible with the counts, in attempts; None where no decay at all is."""
        return None if self.half_life is None else self.half_life.low

    @property
    def h_start(self) -> float | None:
        """h_s, the fitted chance at the first fitted attempt."""
        return self.forms[0].chances[0] if self.forms else None


def fit_hazard(
    solved: Sequence[int],
    of: int,
    censored: Sequence[int] = (),
    *,
    start: int = 0,
    thetas: Sequence[float] = THETAS,
    confidence: float = 0.95,
) -> HazardFit:
    r"""Fit h_t = h_s·e^(−λ(t−s)) by maximum likelihood, with profile intervals.

    .. math:: \ell(h_s, \lambda) = \sum_{t \ge s} S_t \log h_t + (N_t - S_t) \log(1 - h_t)

    The interval of λ holds every λ whose profiled log-likelihood is within half the χ²₁ quantile of the maximum.
    Half-life ln 2/λ and t_θ = ⌈ln(100/(100 − θ))/λ⌉ fall in λ, so their intervals are those of λ turned round.

    Parameters
    ----------
    solved, of, censored
        As for `app.domain.metrics.decay.risk_sets`.
    start
        The first fitted attempt s: 0 for all attempts, 1 for debugging alone.
    thetas
        Percentages in (0, 100).
    confidence
        Coverage in (0, 1).

    Examples
    --------
    >>> fit = fit_hazard([84, 17, 4, 1, 3, 0], 164)
    >>> fit.status.value, round(fit.lambda_.estimate, 3), round(fit.lambda_.low, 3), round(fit.lambda_.high, 3)
    ('decay', 0.878, 0.676, 1.12)
    >>> fit_hazard([84, 0, 0], 164, start=1).status.value
    'too_few_solves'
    """
    points = tuple(point for point in risk_sets(solved, of, censored) if point.attempt >= start)
    solves = sum(point.solved for point in points)
    if len(points) < 2:
        return HazardFit(start, HazardStatus.TOO_FEW_ATTEMPTS, points, solves)
    if solves < MIN_SOLVES:
        return HazardFit(start, HazardStatus.TOO_FEW_SOLVES, points, solves)
    times = np.arange(len(solved) - start, dtype=float)
    successes, failures = np.zeros((1, len(times))), np.zeros((1, len(times)))
    for index, point in enumerate(points):
        successes[0, index], failures[0, index] = point.solved, point.at_risk - point.solved
    lambda_ = _rate_bounds(successes, failures, times, confidence)
    forms = _forms(successes[0], failures[0])
    exponential, constant = forms[0], forms[1]
    ratio = 2 * max(0.0, exponential.log_likelihood - constant.log_likelihood)
    ranked = sorted(forms, key=lambda fitted: fitted.aic)
    return HazardFit(
        start,
        _status(lambda_),
        points,
        solves,
        lambda_,
        _falling(lambda_, lambda rate: math.log(2) / rate, 0.0),
        {theta: _falling(lambda_, _attempts(theta), 1.0) for theta in thetas},
        math.erfc(math.sqrt(ratio / 2)),
        forms,
        ranked[0].form if ranked[1].delta >= UNDECIDED else None,
    )


def chance_band(fit: HazardFit, times: Sequence[float], *, confidence: float = 0.95) -> tuple[Bounds, ...]:
    r"""The fitted chance at some times with its pointwise profile interval; empty where λ is not finite.

    The log-likelihood is concave in (log h_s, λ), so those within half the χ²₁ quantile of the maximum form a convex
    region, and log h_t = log h_s − λ(t − s) is linear over it: its ends at every t lie on the border, which is
    followed from the low end of λ's interval to the high one.

    Parameters
    ----------
    fit
        From `fit_hazard`, of the same confidence.
    times
        From the first fitted attempt to the last allowed one; they need not be whole.

    References
    ----------
    As for λ: Venzon and Moolgavkar (1988). A band pointwise, not for the whole curve at once.

    Examples
    --------
    >>> first, *_ = chance_band(fit_hazard([50, 25], 100), [0])
    >>> round(first.low, 4), round(first.estimate, 4), round(first.high, 4)
    (0.4029, 0.5, 0.5971)
    """
    rate = fit.lambda_
    if rate is None or rate.estimate is None or rate.low is None or rate.high is None or fit.h_start is None:
        return ()
    steps = np.arange(len(fit.forms[0].chances), dtype=float)
    solved, failed = np.zeros(len(steps)), np.zeros(len(steps))
    for point in fit.points:
        place = point.attempt - fit.start
        solved[place], failed[place] = point.solved, point.at_risk - point.solved
    rates = np.linspace(rate.low, rate.high, _BORDER)
    decline = rates[:, None] * steps
    # No chance may exceed 1 at an attempt allowed.
    most = decline.min(-1)
    odds = level_odds(solved, failed, decline)
    middle = most - np.log1p(1 / odds)
    slack = NormalDist().inv_cdf((1 + confidence) / 2) ** 2 / 2
    least = fit.forms[0].log_likelihood - slack

    def outside(level: Floats) -> npt.NDArray[np.bool_]:
        log_chance = level[:, None] - decline
        failing = xlogy(failed, -np.expm1(np.minimum(log_chance, 0.0)))
        return np.asarray((solved * log_chance + failing).sum(-1) < least)

    far = np.ones(_BORDER)
    while (~outside(middle - far)).any():
        far = far * 2
    ends = []
    for inner, outer in ((middle, middle - far), (middle, most)):
        for _ in range(_HALVINGS):
            half = (inner + outer) / 2
            beyond = outside(half)
            inner, outer = np.where(beyond, inner, half), np.where(beyond, half, outer)
        ends.append(inner)
    later = np.asarray(times, dtype=float)[:, None] - fit.start
    lows, highs = ends[0] - rates * later, ends[1] - rates * later
    fitted = math.log(fit.h_start) - rate.estimate * later[:, 0]
    return tuple(
        Bounds(math.exp(middle), math.exp(min(low, middle)), min(1.0, math.exp(max(high, middle))))
        for middle, low, high in zip(fitted.tolist(), lows.min(-1).tolist(), highs.max(-1).tolist(), strict=True)
    )


def _status(rate: Bounds) -> HazardStatus:
    if rate.high is None:
        return HazardStatus.UNBOUNDED
    return HazardStatus.DECAY if rate.low is not None and rate.low > FLAT else HazardStatus.NO_DETECTABLE_DECAY


def _falling(rate: Bounds, of: Callable[[float], float], at_infinity: float) -> Bounds:
    """Bounds of what falls in λ and is not reached where that is not above 0; `at_infinity` is its limit."""

    def reached(value: float | None) -> float | None:
        return of(value) if value is not None and value > FLAT else None

    infinite = rate.estimate is None and rate.high is None
    estimate = at_infinity if infinite else reached(rate.estimate)
    return Bounds(estimate, at_infinity if rate.high is None else reached(rate.high), reached(rate.low))


def _attempts(theta: float) -> Callable[[float], float]:
    return lambda rate: float(attempts_to_lose(theta, rate))


def _rate_bounds(solved: Floats, failed: Floats, times: Floats, confidence: float) -> Bounds:
    """λ with its profile interval; `solved` and `failed` hold one set."""
    slack = NormalDist().inv_cdf((1 + confidence) / 2) ** 2 / 2
    (rate,), (largest,) = best(solved, failed, times)
    estimate = float(rate) if math.isfinite(rate) else None

    def inside(rates: Floats) -> Floats:
        profile = log_likelihood(solved[:, None], failed[:, None], rates[..., None] * times)
        return np.asarray(profile - largest + slack)

    def end(direction: float) -> float:
        """From inside the interval outwards; with an estimate at infinity, from there inwards."""
        if estimate is not None:
            middle = np.array([estimate])
            return float(crossing(inside, middle, outward(inside, middle, direction))[0])
        far = outward(lambda rates: -inside(rates), np.zeros(1), -direction)
        return float(crossing(inside, far, outward(inside, far, direction))[0])

    return Bounds(estimate, end(-1.0) if rate > -math.inf else None, end(1.0) if rate < math.inf else None)


def _binomial(solved: float, failed: float, chance: float) -> float:
    """A term of the log-likelihood, with 0·log 0 = 0."""
    return (solved * math.log(chance) if solved else 0.0) + (failed * math.log1p(-chance) if failed else 0.0)


def _forms(solved: Floats, failed: Floats) -> tuple[FittedForm, ...]:
    """Every form at its maximum, with AIC over all of them."""
    steps = np.arange(len(solved), dtype=float)
    level = float(solved.sum() / (solved.sum() + failed.sum()))
    found = {
        Form.EXPONENTIAL: (2, _declining(solved, failed, steps)),
        Form.CONSTANT: (1, np.full(len(solved), level)),
        Form.POWER: (2, _declining(solved, failed, np.log1p(steps))),
        Form.LINEAR: (2, _linear(solved, failed)),
        Form.BETA_GEOMETRIC: (2, _beta_geometric(solved, failed)),
    }
    terms = {
        form: sum(_binomial(s, f, h) for s, f, h in zip(solved, failed, values, strict=True))
        for form, (_, values) in found.items()
    }
    criteria = {form: 2 * found[form][0] - 2 * terms[form] for form in found}
    least = min(criteria.values())
    shares = {form: math.exp((least - value) / 2) for form, value in criteria.items()}
    return tuple(
        FittedForm(
            form,
            parameters,
            tuple(float(value) for value in values),
            terms[form],
            criteria[form],
            criteria[form] - least,
            shares[form] / sum(shares.values()),
        )
        for form, (parameters, values) in found.items()
    )


def _declining(solved: Floats, failed: Floats, times: Floats) -> Floats:
    """h_t of the decline λ·x at the maximum, which may lie at infinity."""
    (rate,), _ = best(solved[None], failed[None], times)
    if math.isfinite(rate):
        return chances(solved, failed, rate * times)
    alone = solved > 0
    return np.where(alone, solved / np.maximum(solved + failed, 1), 0.0)


def _beta_geometric(solved: Floats, failed: Floats) -> Floats:
    """h_t = μ/(1 + φu) at the maximum, where μ = a/(a + b) and φ = 1/(a + b) ≥ 0.

    The profile in φ may have more than one maximum, so it is tried over the whole range, then closer and closer.
    """
    steps = np.arange(len(solved), dtype=float)
    if solved[0] == solved.sum():
        return _declining(solved, failed, steps)  # φ → ∞: every problem is either solved at once or never
    tried = np.concatenate(([0.0], np.geomspace(1e-4, 1e4, 81)))
    while True:
        likelihoods = log_likelihood(solved, failed, np.log1p(tried[:, None] * steps))
        place = int(likelihoods.argmax())
        low, high = tried[max(place - 1, 0)], tried[min(place + 1, len(tried) - 1)]
        if high - low <= 1e-7 * (1 + high):
            return chances(solved, failed, np.log1p(tried[place] * steps))
        tried = np.linspace(low, high, 33)


def _linear(solved: Floats, failed: Floats) -> Floats:
    """h_t on the line between its ends p and q, both in [0, 1], at the maximum; concave in (p, q)."""
    back = np.linspace(0, 1, len(solved))
    rows = [(float(s), float(f), float(r)) for s, f, r in zip(solved, failed, back, strict=True)]

    def score(p: float, q: float, towards_q: bool) -> float:
        total = 0.0
        for s, f, r in rows:
            share, h = (r if towards_q else 1 - r), p + (q - p) * r
            if share and s:
                total += share * s / h if h > 0 else math.inf
            if share and f:
                total -= share * f / (1 - h) if h < 1 else math.inf
        return total

    def best_p(q: float) -> float:
        return _falling_root(lambda p: score(p, q, False))

    q = _falling_root(lambda q: score(best_p(q), q, True))
    p = best_p(q)
    return p + (q - p) * back


def _falling_root(f: Callable[[float], float]) -> float:
    """Where a falling function, which may be infinite, crosses 0 within [0, 1]; else the end that it points to."""
    if f(0.0) <= 0:
        return 0.0
    if f(1.0) >= 0:
        return 1.0
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return (low + high) / 2
