"""The figures of a run that are stored once it has ended, so that a board of a thousand runs computes none anew."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.domain.metrics.decay import Decay
from app.domain.metrics.intervals import Estimate, Proportion
from app.domain.metrics.repairs import RepairFigures

METRICS_VERSION = 5
"""Raised with every change of a formula or of what is stored: figures of another version are computed anew."""


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The published index of a run, and the counts that stand beside it.

    Attributes
    ----------
    decay
        The published index; its `n` is N.
    solved, censored
        By attempt, see `app.domain.metrics.decay.risk_sets`.
    excluded, cut_short, ended_early, visible_only, running, waiting
        Trajectories that left, or have not ended; see `DecayCounts`.
    attempts, weak, near_limit, unsandboxed, surplus, rejudged_midway, sandbox_failures, recorded, tokens_unknown,
    possibly_billed
        See `Evidence`.
    repeats
        Debugging attempts (t ≥ 1) whose program equals an earlier one of its trajectory, of all that count.
    judge_versions, sandboxes, memory_tiers
        Verdicts by the judge's version, the isolation ("bubblewrap", "slot", "none"), and how memory was limited.
    repairs, unscored
        Of a run that starts from buggy programs: the scores of each item's last attempt that counts, and how many such
        attempts have none, because the sandbox failed or they wait for it. None and 0 for other runs.
    """

    decay: Decay
    solved: tuple[int, ...]
    censored: tuple[int, ...]
    excluded: int
    cut_short: int
    ended_early: int
    visible_only: int
    running: int
    waiting: int
    attempts: int
    weak: int
    near_limit: int
    unsandboxed: int
    surplus: int
    rejudged_midway: int
    sandbox_failures: int
    recorded: int
    tokens_unknown: int
    possibly_billed: int
    repeats: Proportion
    judge_versions: Mapping[str, int]
    sandboxes: Mapping[str, int]
    memory_tiers: Mapping[str, int]
    repairs: RepairFigures | None
    unscored: int

    @property
    def left_unfinished(self) -> int:
        """Problems whose attempts were cut short or are missing: excluded, censored, ended early, or not ended yet."""
        return self.excluded + self.cut_short + self.ended_early + self.running + self.waiting


def _of_repairs(read: Callable[[RepairFigures], Estimate]) -> Callable[[RunFigures], float | None]:
    return lambda figures: None if figures.repairs is None else read(figures.repairs).estimate


RANKED: Mapping[str, Callable[[RunFigures], float | int | None]] = {
    "e0": lambda figures: figures.decay.e0.estimate,
    "accuracy": lambda figures: figures.decay.final_accuracy.estimate,
    "gain": lambda figures: figures.decay.gain,
    "lambda": lambda figures: figures.decay.lambda_,
    "half_life": lambda figures: figures.decay.half_life,
    "t50": lambda figures: (figures.decay.t_theta or {}).get(50),
    "t80": lambda figures: (figures.decay.t_theta or {}).get(80),
    "r2": lambda figures: figures.decay.r_squared,
    "repeats": lambda figures: figures.repeats.estimate,
    "precision": _of_repairs(lambda repairs: repairs.precision),
    "recall": _of_repairs(lambda repairs: repairs.recall),
    "f1": _of_repairs(lambda repairs: repairs.f1),
    "unit_pass": _of_repairs(lambda repairs: repairs.unit_pass),
    "weak": lambda figures: figures.weak,
    "near_limit": lambda figures: figures.near_limit,
    "unfinished": lambda figures: figures.left_unfinished,
}
"""What a board can be sorted by, each by its name: stored as one number beside the figures, None where undefined."""
