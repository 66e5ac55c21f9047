"""From the trajectories of a run to the counts its decay curve is computed from.

The counts come from columns of the trajectory (one grouped query a run), never from a scan of its attempts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.db.models import ModelEndpoint, ProblemSetRow, Run, Trajectory, TrajectoryOutcome
from app.db.queries.progress import Progress, Wait, progress, run_waits
from app.db.queries.recordings import made_at
from app.db.queries.run import Evidence, run_evidence
from app.domain.errors import NotFoundError
from app.domain.metrics.decay import Decay, decay


@dataclass(frozen=True, slots=True)
class DecayCounts:
    """Counts of trajectories, by the rules of the published index.

    Attributes
    ----------
    solved
        S_t: solved for the first time at attempt t; one entry an attempt of the protocol.
    of
        N: trajectories with at least one judged attempt. A reply without a program counts as judged.
    censored
        Leaving the risk set unsolved after attempt t: cut short, ended early, stopped on the visible tests, or running.
    unfinished
        Of `censored` those that did not end by the protocol's rules: all but those stopped on the visible tests.
    excluded
        Cut short before their first verdict: outside N.
    cut_short
        Cut short after at least one verdict (budget, cancellation, infrastructure).
    ended_early
        Ended on a verdict that a re-judging took back: attempts are missing from there on.
    visible_only
        Ended because the visible tests passed while hidden ones did not.
    running
        Under way with at least one verdict: the figures are provisional while there are any.
    waiting
        Not ended and without a verdict yet: outside N for now.
    """

    solved: tuple[int, ...]
    of: int
    censored: tuple[int, ...]
    unfinished: tuple[int, ...]
    excluded: int
    cut_short: int
    ended_early: int
    visible_only: int
    running: int
    waiting: int

    def decay(self) -> Decay:
        """The published index of these counts."""
        return decay(self.solved, self.of, self.censored)

    @property
    def solved_in_all(self) -> int:
        """ΣS_t."""
        return sum(self.solved)


@dataclass(frozen=True, slots=True)
class TrajectoryGroup:
    """How many trajectories of a run share an outcome, the attempt they were solved at and their verdicts so far."""

    outcome: str | None
    solved_at: int | None
    attempts_judged: int
    count: int


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run in numbers; `tokens` and `cost` None are unknown.

    `evidence` says how far verdicts and totals can be trusted.
    """

    id: int
    status: str
    status_reason: str | None
    dry_run: bool
    wait: Wait | None
    progress: Progress
    model_name: str
    problem_set_name: str
    problem_set_version: int
    problems: int
    ended: int
    judge_version: int | None
    imported_from: str | None
    demo: bool
    counts: DecayCounts
    evidence: Evidence
    decay: Decay
    tokens: int | None
    cost: float | None
    created_at: datetime | None
    """Like `finished_at` of an ended run None where its recording tells no time."""
    finished_at: datetime | None

    def caveats(self) -> dict[str, int]:
        """What must stand beside the figures, by name: see `Evidence`, and `ended_early` of `DecayCounts`."""
        evidence = self.evidence
        return {
            "weak": evidence.weak,
            "near_limit": evidence.near_limit,
            "unsandboxed": evidence.unsandboxed,
            "sandbox_failures": evidence.sandbox_failures,
            "recorded": evidence.recorded,
            "outdated": evidence.outdated,
            "ended_early": self.counts.ended_early,
            "surplus": evidence.surplus,
            "rejudged_midway": evidence.rejudged_midway,
        }


def decay_counts(session: Session, run_id: int) -> DecayCounts:
    """The counts of one run.

    Raises NotFoundError.
    """
    run = session.get(Run, run_id)
    if run is None:
        raise NotFoundError(f"there is no run {run_id}")
    rows = session.execute(
        select(Trajectory.outcome, Trajectory.solved_at, Trajectory.attempts_judged, func.count())
        .where(Trajectory.run_id == run_id)
        .group_by(Trajectory.outcome, Trajectory.solved_at, Trajectory.attempts_judged)
    )
    return count_groups((TrajectoryGroup(*row) for row in rows), run.protocol.attempts)


def count_groups(groups: Iterable[TrajectoryGroup], attempts: int) -> DecayCounts:
    """Sort groups of trajectories into the counts, for a protocol of so many attempts."""
    solved, censored, unfinished = [0] * attempts, [0] * attempts, [0] * attempts
    of = excluded = cut_short = ended_early = visible_only = running = waiting = 0
    for group in groups:
        if group.attempts_judged == 0:
            if group.outcome is None:
                waiting += group.count
            else:
                excluded += group.count
            continue
        of += group.count
        if group.solved_at is not None:
            solved[group.solved_at] += group.count
            continue
        if group.outcome == TrajectoryOutcome.EXHAUSTED:
            continue
        censored[group.attempts_judged - 1] += group.count
        if group.outcome != TrajectoryOutcome.VISIBLE_ONLY:
            unfinished[group.attempts_judged - 1] += group.count
        if group.outcome is None:
            running += group.count
        elif group.outcome == TrajectoryOutcome.VISIBLE_ONLY:
            visible_only += group.count
        elif group.outcome == TrajectoryOutcome.ENDED_EARLY:
            ended_early += group.count
        else:
            cut_short += group.count
    return DecayCounts(
        solved=tuple(solved),
        of=of,
        censored=tuple(censored),
        unfinished=tuple(unfinished),
        excluded=excluded,
        cut_short=cut_short,
        ended_early=ended_early,
        visible_only=visible_only,
        running=running,
        waiting=waiting,
    )


def run_summary(session: Session, run_id: int, judge_version: int) -> RunSummary:
    """The run with its counts, its published index and its caveats. `judge_version` is that of today's rules.

    Raises NotFoundError.
    """
    counts = decay_counts(session, run_id)
    run, model_name, set_name, set_version = session.execute(
        select(Run, ModelEndpoint.name, ProblemSetRow.name, ProblemSetRow.version)
        .join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id)
        .join(ProblemSetRow, ProblemSetRow.id == Run.problem_set_id)
        .where(Run.id == run_id)
    ).one()
    now = datetime.now(UTC)
    created_at, finished_at = made_at(session, run)
    return RunSummary(
        id=run.id,
        status=run.status,
        status_reason=run.status_reason,
        dry_run=run.dry_run,
        wait=run_waits(session, [run], now).get(run.id),
        progress=progress(run, now),
        model_name=model_name,
        problem_set_name=set_name,
        problem_set_version=set_version,
        problems=run.trajectories_total,
        ended=run.trajectories_ended,
        judge_version=run.judge_version,
        imported_from=run.imported_from,
        demo=run.demo,
        counts=counts,
        evidence=run_evidence(session, run_id, judge_version),
        decay=counts.decay(),
        tokens=run.tokens_spent,
        cost=run.cost_spent,
        created_at=created_at,
        finished_at=finished_at,
    )
