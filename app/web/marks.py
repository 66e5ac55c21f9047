"""The fixed colour, icon and word of every verdict, outcome and status, in one place.

`tone` is a class of static/css/components.css; `icon` a symbol of the sprite.
"""

from dataclasses import dataclass

from app.db.models import RunStatus, TrajectoryOutcome
from app.db.queries.run import RUNNING
from app.domain.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Mark:
    """How something is shown. `letter` stands in cells too small for the word."""

    word: str
    icon: str
    tone: str
    letter: str = ""


VERDICTS = {
    Verdict.AC: Mark("Accepted", "check", "ac"),
    Verdict.WA: Mark("Wrong answer", "x", "wa", "W"),
    Verdict.RE: Mark("Runtime error", "zap", "re", "R"),
    Verdict.CE: Mark("Compile error", "code-xml", "ce", "C"),
    Verdict.TLE: Mark("Time limit", "clock", "tle", "T"),
    Verdict.MLE: Mark("Memory limit", "memory-stick", "mle", "M"),
    Verdict.NO_CODE: Mark("No code", "file-question-mark", "none", "N"),
    Verdict.FAILED: Mark("Failed, cause not recorded", "x", "none", "F"),
}
UNJUDGED = Mark("Waiting for a verdict", "hourglass", "muted", "·")

OUTCOMES = {
    TrajectoryOutcome.SOLVED: Mark("Solved", "check", "ac"),
    TrajectoryOutcome.EXHAUSTED: Mark("Unsolved", "x", "wa"),
    TrajectoryOutcome.VISIBLE_ONLY: Mark("Visible tests only", "eye-off", "wa"),
    TrajectoryOutcome.BUDGET: Mark("Budget spent", "wallet", "muted"),
    TrajectoryOutcome.CANCELLED: Mark("Cancelled", "circle-slash", "muted"),
    TrajectoryOutcome.INFRASTRUCTURE: Mark("Infrastructure", "unplug", "infra"),
    TrajectoryOutcome.ENDED_EARLY: Mark("Ended early", "circle-slash", "muted"),
}
UNDER_WAY = Mark("Under way", "circle-dot", "accent")
BACKING_OFF = Mark("Waiting", "hourglass", "tle")

STATUSES = {
    RunStatus.RUNNING: Mark("Running", "circle-dot", "accent"),
    RunStatus.PAUSED: Mark("Paused", "pause", "tle"),
    RunStatus.CANCELLED: Mark("Cancelled", "circle-slash", "muted"),
    RunStatus.COMPLETED: Mark("Completed", "check", "ac"),
}

OUTCOME_FILTERS = {**{outcome.value: mark.word for outcome, mark in OUTCOMES.items()}, RUNNING: UNDER_WAY.word}
"""Values and words of the trajectories table's filter."""


def verdict_mark(verdict: str | None) -> Mark:
    """How a stored verdict is shown; None is an attempt that waits for one."""
    return UNJUDGED if verdict is None else VERDICTS[Verdict(verdict)]


def outcome_mark(outcome: str | None, last_verdict: str | None = None, waiting_for: str | None = None) -> Mark:
    """How a trajectory's state is shown: an exhausted one by its last verdict, one under way by what it waits for."""
    if outcome is None:
        return BACKING_OFF if waiting_for else UNDER_WAY
    if outcome == TrajectoryOutcome.EXHAUSTED and last_verdict is not None:
        return verdict_mark(last_verdict)
    if outcome == TrajectoryOutcome.SOLVED:
        return VERDICTS[Verdict.AC]
    return OUTCOMES[TrajectoryOutcome(outcome)]


def status_mark(status: str) -> Mark:
    """How a run's status is shown."""
    return STATUSES[RunStatus(status)]
