"""How often the careful fit's 95 % interval for λ holds the true λ, and what the fits say where nothing declines.

The first table: problems at six attempts with h_t = E0·exp(−λt). Where eight or more solves are expected among the
debugging attempts, the interval of either fit should cover λ in 92.5–97.5 % of the runs that have one: "!" marks where
it does so too rarely, "+" too often. The latter happens where the truth lies next to the edge of what is possible (E0
0.7 and λ 0: with λ below −0.07 a chance would exceed 1), so that the interval can miss on one side alone. The second
table: every problem has a chance of its own, Beta-distributed, that never changes. Seeded; equal runs are fitted once.

    bench/coverage.py [--repetitions 10000]
"""

import argparse
import sys
import time
from collections.abc import Iterator

import numpy as np

from app.domain.metrics.intervals import Floats
from app.domain.metrics.likelihood import best, log_likelihood
from app.domain.metrics.outcomes import Ints
from app.domain.metrics.unequal import SLACK, fitted_counts, unequal_difficulty

ATTEMPTS = 6
PROBLEMS = (50, 164)
FIRST = (0.3, 0.5, 0.7)
RATES = (0.0, 0.2, 0.5, 1.0)
SHAPES = ((0.3, 0.3), (1.0, 1.0), (2.0, 2.0), (5.0, 5.0), (20.0, 20.0), (0.5, 1.5), (2.0, 6.0))
ENOUGH, LEAST, MOST = 8.0, 0.925, 0.975


def main() -> int:
    """Print both tables; 1 where a cell with enough solves covers too rarely."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=10_000)
    repetitions = parser.parse_args().repetitions
    started = time.perf_counter()
    print(f"{repetitions:,} runs a line; of those with an interval, the share that covers the true λ, in percent")
    print("                          expected      all attempts                    debugging alone (t ≥ 1)")
    print(
        "problems   E0    λ   debugging solves   covers  no interval  no upper end   covers  no interval  no upper end"
    )
    rarely = often = 0
    for seed, (n, first, rate) in enumerate(_cells()):
        hazards = first * np.exp(-rate * np.arange(ATTEMPTS))
        solved, weights = _declining_runs(n, hazards, repetitions, np.random.default_rng(seed))
        expected = _expected_debugging_solves(n, hazards)
        shares = [_coverage(solved, n, weights, start, rate) for start in (0, 1)]
        marks = [_mark(covers) if expected >= ENOUGH else " " for covers, _, _ in shares]
        rarely, often = rarely + marks.count("!"), often + marks.count("+")
        columns = "".join(
            f"{100 * covers:9.1f}{mark}{100 * none:11.1f}  {100 * open_:12.1f}"
            for (covers, none, open_), mark in zip(shares, marks, strict=True)
        )
        print(f"{n:8}  {first:.1f}  {rate:.1f}  {expected:16.1f}{columns}")
    print()
    print("Every problem keeps its own chance, from Beta(a, b): nothing declines, and still, in percent of the runs")
    print("problems     a     b   mean E0   published λ > 0   its median   careful: decay, all   debugging alone")
    for seed, (n, (a, b)) in enumerate((n, shape) for n in PROBLEMS for shape in SHAPES):
        found = unequal_difficulty(n, ATTEMPTS, (a, b), repetitions=repetitions, seed=1000 + seed)
        print(
            f"{n:8}  {a:4.1f}  {b:4.1f}   {100 * found.chance:7.1f}   {100 * found.rate_positive:15.1f}"
            f"   {found.rate:10.2f}   {100 * found.decay:19.1f}   {100 * found.decay_debugging:15.1f}"
        )
    print(f"\ncovered in under {100 * LEAST} %: {rarely} cells, in over {100 * MOST} %: {often}")
    print(f"{time.perf_counter() - started:.0f} s")
    return 1 if rarely else 0


def _mark(covers: float) -> str:
    return "!" if covers < LEAST else "+" if covers > MOST else " "


def _cells() -> Iterator[tuple[int, float, float]]:
    yield from ((n, first, rate) for n in PROBLEMS for first in FIRST for rate in RATES)


def _declining_runs(n: int, hazards: Floats, repetitions: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Distinct S_t of simulated runs, and the share of runs that each of them stands for."""
    left = np.full(repetitions, n)
    solved = np.zeros((repetitions, ATTEMPTS), dtype=np.int64)
    for t, hazard in enumerate(hazards):
        solved[:, t] = rng.binomial(left, hazard)
        left = left - solved[:, t]
    return _distinct(solved)


def _distinct(solved: Ints) -> tuple[Ints, Floats]:
    found, counts = np.unique(solved, axis=0, return_counts=True)
    return found, counts / len(solved)


def _expected_debugging_solves(n: int, hazards: Floats) -> float:
    unsolved = np.concatenate(([1.0], np.cumprod(1 - hazards)))
    return float(n * (unsolved[1] - unsolved[-1]))


def _coverage(solved: Ints, n: int, weights: Floats, start: int, rate: float) -> tuple[float, float, float]:
    """Shares: covering, of the runs with an interval; without an interval; without an upper end, of those with one."""
    which, s, f = fitted_counts(solved, n, start)
    times = np.arange(ATTEMPTS - start, dtype=float)
    rates, largest = best(s, f, times, points=3)
    covered = largest - log_likelihood(s, f, rate * times) <= SLACK
    kept = weights[which]
    with_interval = float(kept.sum())
    return (
        float(kept[covered].sum()) / with_interval,
        max(0.0, 1 - with_interval),
        float(kept[rates == np.inf].sum()) / with_interval,
    )


if __name__ == "__main__":
    sys.exit(main())
