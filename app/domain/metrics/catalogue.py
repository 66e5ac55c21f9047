"""Every figure of a run, once: what it is called, what it means, and how it is computed from the run's outcomes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from app.domain.metrics.decay import FLAT, fitted_rates
from app.domain.metrics.hazard import MIN_SOLVES, HazardStatus, fit_hazard
from app.domain.metrics.intervals import (
    RESAMPLES,
    Estimate,
    EstimateStatus,
    Floats,
    IntervalMethod,
    Resamples,
    resampled,
)
from app.domain.metrics.likelihood import best_rate
from app.domain.metrics.outcomes import UNSOLVED, Bools, Outcomes, ratio, share
from app.domain.metrics.refinement import (
    ERRORS,
    change_share,
    fix_rate,
    hidden_failure_share,
    repeat_share,
    solved_per_1000_tokens,
    solved_per_cost,
)
from app.domain.metrics.repairs import Repairs, macro_average
from app.domain.metrics.survival import (
    SurvivalStatus,
    median_iterations,
    median_survival,
    pass_at_k,
    solved_within,
    unsolved_share,
)

Measured = Mapping[str, Estimate]
"""Estimates by key: the empty key alone, or one entry an iteration or a verdict."""


@dataclass(frozen=True, slots=True)
class Measures:
    """Every figure of a run: by slug, then by key."""

    values: Mapping[str, Mapping[str, Estimate]]

    def of(self, slug: str, key: str = "") -> Estimate | None:
        """One of them; None where the run has no such key, as ISR@10 of six attempts."""
        return self.values.get(slug, {}).get(key)

    def number(self, slug: str, key: str = "") -> float | None:
        """Its estimate; None where there is none."""
        found = self.of(slug, key)
        return None if found is None else found.estimate


class Direction(StrEnum):
    """Which way is better."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure.

    Attributes
    ----------
    slug
        Its name in addresses, documents and columns.
    label, unit
        For people. Shares are fractions.
    low, high
        Its range; infinite where it has no end.
    version
        Raised with every change of its formula.
    anchor
        Its paragraph under "How it is computed".
    measure
        From a run and resamples of its units to estimates by key.
    """

    slug: str
    label: str
    unit: str
    low: float
    high: float
    direction: Direction
    version: int
    anchor: str
    measure: Callable[[Outcomes, Resamples], Measured]


def measured(outcomes: Outcomes, *, seed: int = 0, size: int = RESAMPLES) -> dict[str, Measured]:
    """Every figure of the catalogue by its slug, all intervals from the same resamples."""
    resamples = Resamples(outcomes.units, seed, size)
    return {metric.slug: metric.measure(outcomes, resamples) for metric in CATALOGUE}


def _one(measure: Callable[[Outcomes, Resamples], Estimate]) -> Callable[[Outcomes, Resamples], Measured]:
    return lambda outcomes, resamples: {"": measure(outcomes, resamples)}


def _hazard_rows(outcomes: Outcomes) -> Floats:
    """S_0 … and N_0 … of each unit."""
    columns = range(outcomes.attempts)
    solved = [outcomes.solved_at == t for t in columns]
    return outcomes.by_unit(*solved, *(outcomes.judged > t for t in columns))


def _survival_rows(outcomes: Outcomes, k: int) -> Floats:
    """d_1 … d_k and r_1 … r_k of each unit: what ended unsolved by its own rules stays at risk."""
    stays = outcomes.finished & (outcomes.solved_at == UNSOLVED)
    solved = [outcomes.solved_at == t for t in range(k)]
    return outcomes.by_unit(*solved, *((outcomes.judged > t) | stays for t in range(k)))


def _published_rate(outcomes: Outcomes, resamples: Resamples) -> Estimate:
    def value(totals: Floats) -> Floats:
        return fitted_rates(*np.split(totals, 2, axis=-1))

    return resampled(_hazard_rows(outcomes), value, resamples, limits=(0.0, math.inf))


def _published_half_life(outcomes: Outcomes, resamples: Resamples) -> Estimate:
    rate = _published_rate(outcomes, resamples)

    def turned(value: float | None) -> float | None:
        return math.log(2) / value if value is not None and value > FLAT else None

    estimate, low, high = turned(rate.estimate), turned(rate.high), turned(rate.low)
    status = EstimateStatus.UNDEFINED if estimate is None else rate.status
    if status is EstimateStatus.OK and high is None:
        status = EstimateStatus.ONE_SIDED
    return Estimate(estimate, low, high, rate.n, status, rate.method if estimate is not None else None)


def _careful_rate(start: int) -> Callable[[Outcomes, Resamples], Estimate]:
    def of(outcomes: Outcomes, resamples: Resamples) -> Estimate:
        if not outcomes.simple:
            return resampled(_hazard_rows(outcomes)[:, _from(start, outcomes.attempts)], _likeliest_rates, resamples)
        fit = fit_hazard(
            outcomes.solved_by_attempt().tolist(), outcomes.units, outcomes.left_by_attempt().tolist(), start=start
        )
        rate = fit.lambda_
        if rate is None:
            return Estimate(None, None, None, outcomes.units, EstimateStatus.UNDEFINED)
        whole = fit.status is not HazardStatus.UNBOUNDED and rate.estimate is not None
        status = EstimateStatus.OK if whole else EstimateStatus.ONE_SIDED
        return Estimate(rate.estimate, rate.low, rate.high, outcomes.units, status, IntervalMethod.PROFILE)

    return of


def _from(start: int, attempts: int) -> list[int]:
    return [*range(start, attempts), *range(attempts + start, 2 * attempts)]


def _likeliest_rates(totals: Floats) -> Floats:
    """λ of the careful fit for totals that need not be whole; NaN where no finite one is best."""
    if not totals.shape[-1]:  # one attempt alone has no debugging
        return np.full(totals.shape[:-1], np.nan)
    if totals.shape[-1] < 4:
        return np.full(totals.shape[:-1], np.nan)  # one attempt or none declines in nothing
    flat = totals.reshape(-1, totals.shape[-1])
    solved, at_risk = np.split(flat, 2, axis=-1)
    later, earlier = solved[:, 1:].sum(-1) > 0, solved[:, :-1].sum(-1) > 0
    kept = later & earlier & (solved.sum(-1) >= MIN_SOLVES) & (at_risk > solved).any(-1)
    rates = np.full(len(flat), np.nan)
    if kept.any():
        times = np.arange(solved.shape[-1], dtype=float)
        rates[kept] = best_rate(solved[kept], (at_risk - solved)[kept], times, points=3)
    return rates.reshape(totals.shape[:-1])


def _gain(outcomes: Outcomes, resamples: Resamples) -> Estimate:
    return share(outcomes, outcomes.solved_at > 0, resamples)


def _isr(outcomes: Outcomes, resamples: Resamples) -> Measured:
    return {str(k): _solved_within(outcomes, resamples, k) for k in range(1, outcomes.attempts + 1)}


def _solved_within(outcomes: Outcomes, resamples: Resamples, k: int) -> Estimate:
    if not outcomes.simple:
        rows = _survival_rows(outcomes, k)
        return resampled(rows, lambda totals: 1 - unsolved_share(totals), resamples, limits=(0.0, 1.0))
    censored = outcomes.left_by_attempt(finished=False).tolist()
    found = solved_within(outcomes.solved_by_attempt().tolist(), outcomes.units, censored, k=k)
    if found.status is not SurvivalStatus.OK:
        return Estimate(None, None, None, found.n, EstimateStatus.UNDEFINED)
    return Estimate(found.estimate, found.low, found.high, found.n, EstimateStatus.OK, IntervalMethod.WILSON)


def _median_iterations(outcomes: Outcomes, resamples: Resamples) -> Estimate:
    solved = [outcomes.solved_at == t for t in range(outcomes.attempts)]
    rows = outcomes.by_unit(*solved, np.ones(len(outcomes.unit)))
    return resampled(rows, median_iterations, resamples, limits=(1.0, outcomes.attempts + 1.0))


def _median_survival(outcomes: Outcomes, resamples: Resamples) -> Estimate:
    k = outcomes.attempts
    found = resampled(_survival_rows(outcomes, k), median_survival, resamples, limits=(1.0, float(k)))
    missing = found.estimate is None and outcomes.units > 0
    return replace(found, status=EstimateStatus.NOT_REACHED) if missing else found


def _pass_at_k(outcomes: Outcomes, resamples: Resamples) -> Measured:
    """Of first answers; k up to the fewest samples of a problem."""
    samples = np.bincount(outcomes.problem)
    right = np.bincount(outcomes.problem, outcomes.solved_at == 0).astype(int)
    found = {}
    for k in range(1, (int(samples.min()) if len(samples) else 1) + 1):
        chances = np.array([pass_at_k(n, c, k=k) for n, c in zip(samples.tolist(), right.tolist(), strict=True)])
        rows = outcomes.by_unit(chances[outcomes.problem], np.ones(len(outcomes.problem)))
        first = share(outcomes, outcomes.solved_at == 0, resamples)
        found[str(k)] = first if outcomes.simple else ratio(rows, resamples)
    return found


def _fix_rates(count_last: bool) -> Callable[[Outcomes, Resamples], Measured]:
    def of(outcomes: Outcomes, resamples: Resamples) -> Measured:
        rates = {verdict.value: fix_rate(outcomes, resamples, verdict, count_last=count_last) for verdict in ERRORS}
        return {"all": fix_rate(outcomes, resamples, count_last=count_last), **rates}

    return of


def _of_tasks(found: Repairs, resamples: Resamples) -> Resamples:
    return Resamples(len(np.unique(found.task)), resamples.seed, resamples.size)


def _of_repairs(read: Callable[[Repairs], Floats | Bools]) -> Callable[[Outcomes, Resamples], Measured]:
    """A macro average over items; a run that repairs no known bugs has none."""

    def of(outcomes: Outcomes, resamples: Resamples) -> Measured:
        found = outcomes.repairs
        if found is None:
            return {}
        return {"": macro_average(found, read(found), _of_tasks(found, resamples))}

    return of


_INF = math.inf
CATALOGUE: tuple[Metric, ...] = (
    Metric(
        "e0", "E0, solved at the first attempt", "share of problems", 0, 1, Direction.HIGHER, 1, "e0",
        _one(lambda outcomes, resamples: share(outcomes, outcomes.solved_at == 0, resamples)),
    ),
    Metric(
        "accuracy", "Final accuracy", "share of problems", 0, 1, Direction.HIGHER, 1, "final-accuracy",
        _one(lambda outcomes, resamples: share(outcomes, outcomes.solved_at >= 0, resamples)),
    ),
    Metric("gain", "Gain by debugging", "share of problems", 0, 1, Direction.HIGHER, 1, "gain", _one(_gain)),
    Metric(
        "lambda", "λ, published fit", "per attempt", 0, _INF, Direction.LOWER, 1, "lambda", _one(_published_rate),
    ),
    Metric(
        "half_life", "Half-life, published fit", "attempts", 0, _INF, Direction.HIGHER, 1, "half-life",
        _one(_published_half_life),
    ),
    Metric(
        "careful_lambda", "λ, careful fit, all attempts", "per attempt", -_INF, _INF, Direction.LOWER, 1, "careful",
        _one(_careful_rate(0)),
    ),
    Metric(
        "careful_lambda_debugging", "λ, careful fit, debugging alone", "per attempt", -_INF, _INF, Direction.LOWER, 1,
        "careful", _one(_careful_rate(1)),
    ),
    Metric("isr", "ISR@k, solved within k attempts", "share of problems", 0, 1, Direction.HIGHER, 1, "isr", _isr),
    Metric(
        "mis", "Median iterations to solve, as published", "iterations", 1, _INF, Direction.LOWER, 1, "mis",
        _one(_median_iterations),
    ),
    Metric(
        "median_iteration", "Median iterations to solve, Kaplan–Meier", "iterations", 1, _INF, Direction.LOWER, 1,
        "mis", _one(_median_survival),
    ),
    Metric("pass_at_k", "pass@k of first answers", "share of problems", 0, 1, Direction.HIGHER, 1, "pass", _pass_at_k),
    Metric(
        "fix_rate", "Fix rate, of errors that another attempt followed", "share of errors", 0, 1, Direction.HIGHER, 1,
        "fix-rate", _fix_rates(count_last=False),
    ),
    Metric(
        "fix_rate_counting_last", "Fix rate, last errors counted as well", "share of errors", 0, 1, Direction.HIGHER,
        1, "fix-rate", _fix_rates(count_last=True),
    ),
    Metric(
        "improved", "Debugging attempts that pass more cases", "share of attempts", 0, 1, Direction.HIGHER, 1, "change",
        _one(lambda outcomes, resamples: change_share(outcomes, resamples, 1)),
    ),
    Metric(
        "unchanged", "Debugging attempts that pass as many", "share of attempts", 0, 1, Direction.NEITHER, 1, "change",
        _one(lambda outcomes, resamples: change_share(outcomes, resamples, 0)),
    ),
    Metric(
        "regressed", "Regressions: debugging attempts that pass fewer", "share of attempts", 0, 1, Direction.LOWER, 1,
        "change", _one(lambda outcomes, resamples: change_share(outcomes, resamples, -1)),
    ),
    Metric(
        "hidden_failures", "Visible cases pass, a hidden one fails", "share of attempts", 0, 1, Direction.LOWER, 1,
        "hidden-failures", _one(hidden_failure_share),
    ),
    Metric(
        "repeats", "Repeated programs", "share of debugging attempts", 0, 1, Direction.LOWER, 1, "repeats",
        _one(repeat_share),
    ),
    Metric(
        "solved_per_1000_tokens", "Solved for each 1,000 tokens", "problems", 0, _INF, Direction.HIGHER, 1,
        "efficiency", _one(solved_per_1000_tokens),
    ),
    Metric(
        "solved_per_cost", "Solved for each unit of cost", "problems", 0, _INF, Direction.HIGHER, 1, "efficiency",
        _one(solved_per_cost),
    ),
    Metric(
        "precision", "Precision of repairs", "share of edits, average of items", 0, 1, Direction.HIGHER, 1, "precision",
        _of_repairs(lambda repairs: repairs.precision),
    ),
    Metric(
        "recall", "Recall of repairs", "share of bugs, average of items", 0, 1, Direction.HIGHER, 1, "recall",
        _of_repairs(lambda repairs: repairs.recall),
    ),
    Metric(
        "f1", "F1 of repairs", "share, average of items", 0, 1, Direction.HIGHER, 1, "repair-f1",
        _of_repairs(lambda repairs: repairs.f1),
    ),
    Metric(
        "unit_pass", "Repairs that pass all tests", "share of items", 0, 1, Direction.HIGHER, 1, "unit-pass",
        _of_repairs(lambda repairs: repairs.unit_pass),
    ),
    Metric(
        "cut_short", "Cut short", "share of problems", 0, 1, Direction.LOWER, 1, "excluded",
        _one(lambda outcomes, resamples: share(outcomes, ~outcomes.finished, resamples)),
    ),
)  # fmt: skip
BY_SLUG = {metric.slug: metric for metric in CATALOGUE}
RANKED_MEASURES: Mapping[str, tuple[str, str]] = {
    **{f"isr_{k}": ("isr", str(k)) for k in (2, 3, 5, 10)},
    "mis": ("mis", ""),
    "median_iteration": ("median_iteration", ""),
    "pass_1": ("pass_at_k", "1"),
    "careful_lambda": ("careful_lambda", ""),
    "careful_lambda_debugging": ("careful_lambda_debugging", ""),
    "fix_rate": ("fix_rate", "all"),
    "improved": ("improved", ""),
    "regressed": ("regressed", ""),
    "hidden_failures": ("hidden_failures", ""),
    "solved_per_1000_tokens": ("solved_per_1000_tokens", ""),
    "solved_per_cost": ("solved_per_cost", ""),
}
"""What a board can show of them and be sorted by, each by a name: slug and key."""
