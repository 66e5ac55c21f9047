"""Every figure of a run of 1,000 problems and ten attempts with 2,000 resamples. The aim is one second.

Beside it the plain way for one of these figures, the published λ: resample the problems, count, `curve_fit`, in a loop.
The resampled rates of both are compared, so that the quick way is also the right one.
"""

import statistics
import time
import warnings

import numpy as np
from scipy.optimize import OptimizeWarning, curve_fit

from app.domain.metrics.catalogue import measured
from app.domain.metrics.decay import fitted_rates
from app.domain.metrics.intervals import RESAMPLES, Floats, Resamples
from app.domain.metrics.outcomes import UNSOLVED, VERDICTS, Outcomes
from app.domain.verdicts import Verdict

PROBLEMS, ATTEMPTS, TIMES = 1000, 10, 5


def main() -> None:
    """Print one line for each way."""
    outcomes = _run()
    wall, cores = [], []
    for _ in range(TIMES):
        started, used = time.perf_counter(), time.process_time()
        found = measured(outcomes)
        wall.append(time.perf_counter() - started)
        cores.append(time.process_time() - used)
    figures = sum(len(values) for values in found.values())
    print(f"{PROBLEMS:,} problems × {ATTEMPTS} attempts, {len(outcomes.verdict):,} judged; {RESAMPLES:,} resamples")
    print(f"all {figures} figures        median {statistics.median(wall):6.2f} s   of a core {min(cores):6.2f} s")
    started, used = time.perf_counter(), time.process_time()
    plain = _plain(outcomes)
    wall_plain, cores_plain = time.perf_counter() - started, time.process_time() - used
    print(f"λ alone, curve_fit loop       {wall_plain:6.2f} s   of a core {cores_plain:6.2f} s")
    print(f"for all figures the loop takes {cores_plain / min(cores):.1f} times as long, for one of them")
    print(f"largest difference of a resampled λ: {np.nanmax(np.abs(plain - _ours(outcomes))):.1e}")


def _run() -> Outcomes:
    """A run whose hazard falls, with every verdict, repeats and some problems cut short."""
    rng = np.random.default_rng(1)
    solved_at, judged = np.full(PROBLEMS, UNSOLVED), np.full(PROBLEMS, ATTEMPTS)
    for t in range(ATTEMPTS):
        hit = (solved_at == UNSOLVED) & (rng.random(PROBLEMS) < 0.4 * np.exp(-0.3 * t))
        solved_at[hit], judged[hit] = t, t + 1
    cut = (solved_at == UNSOLVED) & (rng.random(PROBLEMS) < 0.1)
    judged[cut] = rng.integers(1, ATTEMPTS, cut.sum())
    trajectory = np.repeat(np.arange(PROBLEMS), judged)
    attempt = np.concatenate([np.arange(count) for count in judged])
    right = solved_at[trajectory] == attempt
    wrong = rng.choice([code for code, verdict in enumerate(VERDICTS) if verdict is not Verdict.AC], len(right))
    cases = np.full(len(right), 20)
    return Outcomes(
        attempts=ATTEMPTS,
        unit=np.arange(PROBLEMS),
        problem=np.arange(PROBLEMS),
        solved_at=solved_at,
        judged=judged,
        finished=~cut,
        trajectory=trajectory,
        segment=np.zeros_like(trajectory),
        verdict=np.where(right, VERDICTS.index(Verdict.AC), wrong),
        passed=np.where(right, 20, rng.integers(0, 20, len(right))),
        executed=cases,
        total=cases,
        passes_visible=right | (rng.random(len(right)) < 0.1),
        repeats=(attempt > 0) & (rng.random(len(right)) < 0.2),
        tokens=rng.integers(300, 2000, len(right)).astype(float),
        cost=rng.random(len(right)) / 100,
    )


def _plain(outcomes: Outcomes) -> Floats:
    """λ of the same resamples, one after the other."""
    drawn = np.random.default_rng(0).integers(PROBLEMS, size=(RESAMPLES, PROBLEMS))
    rates = []
    for problems in drawn:
        solved_at, judged = outcomes.solved_at[problems], outcomes.judged[problems]
        points = []
        for t in range(ATTEMPTS):
            at_risk, solved = int((judged > t).sum()), int((solved_at == t).sum())
            if at_risk and solved:
                points.append((t, round(100 * solved / at_risk, 4)))
        t_kept, percent = zip(*points, strict=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimizeWarning)
            try:
                (_, rate), _ = curve_fit(
                    lambda t, a, rate: a * np.exp(-rate * t),
                    np.array(t_kept, dtype=float),
                    np.array(percent),
                    p0=(percent[0], 0.5),
                    bounds=(0, np.inf),
                    maxfev=10_000,
                )
            except RuntimeError:
                rate = np.nan
        rates.append(float(rate))
    return np.array(rates)


def _ours(outcomes: Outcomes) -> Floats:
    """λ of the same resamples, all at once."""
    counts = Resamples(PROBLEMS).counts
    steps = np.arange(ATTEMPTS)
    solved, at_risk = outcomes.solved_at[:, None] == steps, outcomes.judged[:, None] > steps
    return fitted_rates(counts @ solved, counts @ at_risk)


if __name__ == "__main__":
    main()
