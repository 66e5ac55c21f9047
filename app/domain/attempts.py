"""Attempts as the rules of a run see them."""

from dataclasses import dataclass

from app.domain.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One stored attempt of a trajectory, in order of `index` (0 is the first answer).

    `segment` counts fresh starts: 0 until the first. `verdict` is None while the program waits to be judged.
    `repeats`: its program equals an earlier one of the trajectory.
    """

    index: int
    segment: int
    verdict: Verdict | None
    visible_passed: int = 0
    visible_total: int = 0
    repeats: bool = False

    @property
    def solved(self) -> bool:
        """Every test passed."""
        return self.verdict is Verdict.AC

    @property
    def passes_visible(self) -> bool:
        """Every visible test passed, and there was at least one; or every test passed."""
        return self.solved or 0 < self.visible_total == self.visible_passed
