"""What the trajectories of a run came to, as columns: the input of every figure that is more than counts by attempt."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.metrics.intervals import (
    Estimate,
    EstimateStatus,
    Floats,
    IntervalMethod,
    Resamples,
    resampled,
    wilson,
)
from app.domain.metrics.repairs import Repairs
from app.domain.verdicts import Verdict

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

VERDICTS = tuple(Verdict)
"""Verdicts by their code in `Outcomes.verdict`."""
UNSOLVED = -1


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """A run in columns. Trajectories without a verdict, and attempts that do not count, are not among them.

    Attributes
    ----------
    attempts
        Of the protocol, the first answer included.
    unit
        Number of the independent unit of each trajectory, from 0 on without gaps: its base task.
    problem
        Likewise of its problem. Trajectories of one problem are samples and are averaged; problems of one unit are
        variants of one base task.
    solved_at
        Attempt of the first AC, or `UNSOLVED`.
    judged
        Attempts with a verdict, at least 1.
    finished
        False where it was cut short or still runs: censored.
    trajectory
        Row of the trajectory of each attempt; attempts are sorted by it, then by number.
    segment
        Fresh starts of its trajectory before it.
    verdict
        Index into `VERDICTS`.
    passed, executed, total
        Cases; 0 where a reply held no program.
    passes_visible
        Every visible case passed, and there was one.
    repeats
        The program equals an earlier one of its trajectory.
    tokens, cost
        NaN where unknown.
    uncounted, unshown, unseen
        Attempts whose recording does not say how many cases, or how many visible ones, passed, or has no program; None
        where there are none.
    repairs
        Scores of each item's last attempt that counts, where it has one; None of a run that repairs no known bugs.
    """

    attempts: int
    unit: Ints
    problem: Ints
    solved_at: Ints
    judged: Ints
    finished: Bools
    trajectory: Ints
    segment: Ints
    verdict: Ints
    passed: Ints
    executed: Ints
    total: Ints
    passes_visible: Bools
    repeats: Bools
    tokens: Floats
    cost: Floats
    repairs: Repairs | None = None
    uncounted: Bools | None = None
    unshown: Bools | None = None
    unseen: Bools | None = None

    @property
    def units(self) -> int:
        """Independent units."""
        return int(self.unit.max()) + 1 if len(self.unit) else 0

    @property
    def simple(self) -> bool:
        """One trajectory a unit: counts of trajectories are counts of independent units."""
        return len(self.unit) == self.units

    @property
    def first(self) -> Bools:
        """Whether an attempt is the first of its trajectory."""
        return np.asarray(np.diff(self.trajectory, prepend=-1) > 0)

    @property
    def followed(self) -> Bools:
        """Whether another attempt of the same trajectory follows, which answers it: no fresh start lies between."""
        same = np.diff(self.trajectory, append=len(self.unit)) == 0
        return np.asarray(same & (np.diff(self.segment, append=0) == 0))

    def by_unit(self, *columns: Floats | Bools) -> Floats:
        """Values of trajectories, averaged over the samples of a problem and summed over a unit: units × columns."""
        return self._summed(self.unit, self._weight(), columns)

    def attempts_by_unit(self, *columns: Floats | Bools) -> Floats:
        """Values of attempts, likewise."""
        return self._summed(self.unit[self.trajectory], self._weight()[self.trajectory], columns)

    def solved_by_attempt(self) -> Ints:
        """S_t, trajectories."""
        return np.bincount(self.solved_at[self.solved_at >= 0], minlength=self.attempts)

    def left_by_attempt(self, *, finished: bool = True) -> Ints:
        """Trajectories that left unsolved after attempt t; without those that `finished`, the censored ones."""
        left = (self.solved_at == UNSOLVED) & (~self.finished | finished)
        return np.bincount(self.judged[left] - 1, minlength=self.attempts)

    def _summed(self, unit: Ints, weight: Floats, columns: tuple[Floats | Bools, ...]) -> Floats:
        sums = np.zeros((self.units, len(columns)))
        for index, column in enumerate(columns):
            sums[:, index] = np.bincount(unit, weight * column.astype(np.float64), self.units)
        return sums

    def _weight(self) -> Floats:
        samples = np.bincount(self.problem) if len(self.problem) else np.zeros(0, dtype=np.int64)
        return 1 / samples[self.problem]


def ratio(rows: Floats, resamples: Resamples, *, scale: float = 1.0, most: float = 1.0) -> Estimate:
    """scale·Σ(first column)/Σ(second) over units, with its interval within [0, most]; undefined over nothing.

    A quantity that is unknown for any unit makes it unknown.
    """
    if np.isnan(rows).any():
        return Estimate(None, None, None, len(rows), EstimateStatus.UNKNOWN)

    def value(totals: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(totals[..., 1] > 0, scale * totals[..., 0] / totals[..., 1], np.nan)

    return resampled(rows, value, resamples, limits=(0.0, most))


def share(outcomes: Outcomes, successes: Bools, resamples: Resamples) -> Estimate:
    """The share of problems: Wilson's interval where each is a unit of one sample, else by resampling units."""
    if outcomes.simple:
        found = wilson(int(successes.sum()), outcomes.units)
        if found.estimate is None:
            return Estimate(None, None, None, 0, EstimateStatus.UNDEFINED)
        return Estimate(found.estimate, found.low, found.high, found.n, EstimateStatus.OK, IntervalMethod.WILSON)
    return ratio(outcomes.by_unit(successes, np.ones(len(successes))), resamples)
