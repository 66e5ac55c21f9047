"""One run: what it is, the evidence behind its figures, its grid and its trajectories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, case, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.db.models import (
    Attempt,
    BuggyProgramRow,
    ModelEndpoint,
    ModelRequestRow,
    ProblemRow,
    ProblemSetRow,
    RequestState,
    Run,
    SupersededJudgement,
    Trajectory,
    TrajectoryOutcome,
)
from app.db.queries.labels import trajectory_label
from app.domain.errors import NotFoundError
from app.domain.ports import Sampling
from app.domain.verdicts import Verdict

PAGE = 50
GRID_COLUMNS = 400
"""Problems drawn one by one in the grid: more would make a page of over 100 kB compressed."""

RUNNING = "running"
"""The filter value for trajectories that have not ended; the others are outcomes."""


@dataclass(frozen=True, slots=True)
class RunHead:
    """The rows that say what a run is. The endpoint comes without its key."""

    run: Run
    endpoint: ModelEndpoint
    problem_set: ProblemSetRow

    @property
    def sampling(self) -> Sampling:
        """As it is sent."""
        return self.run.protocol.sampling(self.endpoint.sampling)

    @property
    def live(self) -> bool:
        """Whether the page may still change: steps are left, or end while the run is paused or cancelled."""
        return self.run.trajectories_ended < self.run.trajectories_total


@dataclass(frozen=True, slots=True)
class Evidence:
    """Counts over the attempts of a run that say how far its verdicts and totals can be trusted.

    Verdicts are counted where they count: `surplus` attempts lie behind the end that a re-judging moved forward.
    """

    attempts: int
    weak: int
    near_limit: int
    unsandboxed: int
    outdated: int
    """Verdicts by other rules than today's."""
    surplus: int
    rejudged_midway: int
    """Attempts with a replaced verdict that others followed: those answer feedback on the old one."""
    sandbox_failures: int
    """Executions that failed for the sandbox's sake and were tried again."""
    recorded: int
    """Verdicts as a recording has them, which no judge of ours gave."""
    debugging: int
    """Debugging attempts (t ≥ 1) whose program is known, if there is one."""
    repeats: int
    """Those of them whose program equals an earlier one of their trajectory."""
    tokens_unknown: int
    cost_unknown: int
    possibly_billed: int
    infrastructure: int
    """Trajectories that infrastructure cut short, which can be retried."""


@dataclass(frozen=True, slots=True)
class GridColumn:
    """One trajectory of the grid; `verdicts` by attempt, None where the attempt waits for its verdict."""

    trajectory_id: int
    label: str
    outcome: str | None
    verdicts: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """The first columns of a run; `total` is how many there are in all."""

    columns: tuple[GridColumn, ...]
    total: int


@dataclass(frozen=True, slots=True)
class TrajectoryLine:
    """One line of the trajectories table. `cost` and `tokens` None are unknown, as no attempt has them all."""

    id: int
    position: int
    label: str
    outcome: str | None
    outcome_reason: str | None
    waiting_for: str | None
    step: str | None
    attempts: int
    last_verdict: str | None
    cases_passed: int | None
    cases_total: int | None
    tokens: int | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class TrajectoryPage:
    """Up to fifty trajectories; `next_after` continues, None at the end."""

    rows: tuple[TrajectoryLine, ...]
    next_after: int | None


def run_head(session: Session, run_id: int) -> RunHead:
    """The run with its model and problem set.

    Raises NotFoundError.
    """
    row = session.execute(
        select(Run, ModelEndpoint, ProblemSetRow)
        .join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id)
        .join(ProblemSetRow, ProblemSetRow.id == Run.problem_set_id)
        .where(Run.id == run_id)
    ).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no run {run_id}")
    return RunHead(*row)


_COUNTED = or_(Attempt.attempt_index < Trajectory.attempts_judged, Attempt.verdict.is_(None))
"""Not surplus: before the end of its trajectory, or waiting for its verdict."""
_SEEN = or_(Attempt.syntax_hash.is_not(None), Attempt.verdict.is_(None), Attempt.verdict == Verdict.NO_CODE)
"""Not of a recording without programs, of which nobody knows which are repeated."""
_DEBUGGING = _COUNTED & (Attempt.attempt_index > 0) & _SEEN


def run_evidence(session: Session, run_id: int, judge_version: int) -> Evidence:
    """Count what the banners and footnotes of a run's page need, in one pass over its attempts.

    `judge_version` is that of today's rules.
    """
    counts = session.execute(
        select(
            func.count(),
            times(_COUNTED & Attempt.weak),
            times(_COUNTED & Attempt.near_limit),
            times(_COUNTED & (Attempt.sandbox == "none")),
            times(_COUNTED & (Attempt.judge_version != judge_version)),
            times(~_COUNTED),
            times(_DEBUGGING),
            times(_DEBUGGING & Attempt.repeats_attempt.is_not(None)),
            times(Attempt.prompt_tokens.is_(None) | Attempt.completion_tokens.is_(None)),
            times(Attempt.cost.is_(None)),
            times(_COUNTED & Attempt.judge_version.is_(None) & (Attempt.verdict != Verdict.NO_CODE)),
        )
        .select_from(Attempt)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(Trajectory.run_id == run_id)
    ).one()
    rejudged_midway = session.scalar(
        select(func.count(Attempt.id.distinct()))
        .join(SupersededJudgement, SupersededJudgement.attempt_id == Attempt.id)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(
            Trajectory.run_id == run_id,
            SupersededJudgement.verdict != SupersededJudgement.replaced_by,
            Attempt.attempt_index < Trajectory.attempts_judged - 1,
        )
    )
    possibly_billed = session.scalar(
        select(func.count())
        .select_from(ModelRequestRow)
        .join(Trajectory, Trajectory.id == ModelRequestRow.trajectory_id)
        .where(Trajectory.run_id == run_id, ModelRequestRow.state == RequestState.POSSIBLY_BILLED)
    )
    sandbox_failures, infrastructure = session.execute(
        select(
            func.coalesce(func.sum(Trajectory.sandbox_failures), 0),
            times(Trajectory.outcome == TrajectoryOutcome.INFRASTRUCTURE),
        ).where(Trajectory.run_id == run_id)
    ).one()
    (
        attempts, weak, near_limit, unsandboxed, outdated, surplus, debugging, repeats, tokens_unknown, cost_unknown,
        recorded,
    ) = counts  # fmt: skip
    return Evidence(
        attempts=attempts,
        weak=weak,
        near_limit=near_limit,
        unsandboxed=unsandboxed,
        outdated=outdated,
        surplus=surplus,
        rejudged_midway=rejudged_midway or 0,
        sandbox_failures=sandbox_failures,
        recorded=recorded,
        debugging=debugging,
        repeats=repeats,
        tokens_unknown=tokens_unknown,
        cost_unknown=cost_unknown,
        possibly_billed=possibly_billed or 0,
        infrastructure=infrastructure,
    )


def times(condition: ColumnElement[bool]) -> ColumnElement[int]:
    """How many rows meet a condition; 0 where there are no rows at all."""
    return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)


def run_grid(session: Session, run_id: int, *, by_solution: bool) -> Grid:
    """Verdicts by problem and attempt.

    `by_solution` orders columns by the attempt that solved them; otherwise they keep their place, so that a
    page of a run under way does not shift.
    """
    order = (
        [Trajectory.solved_at.is_(None), Trajectory.solved_at, Trajectory.position]
        if by_solution
        else [Trajectory.position]
    )
    trajectories = session.execute(
        _labelled(Trajectory.id, Trajectory.outcome)
        .where(Trajectory.run_id == run_id)
        .order_by(*order)
        .limit(GRID_COLUMNS)
    ).all()
    verdicts: dict[int, list[str | None]] = {row.id: [] for row in trajectories}
    attempts = session.execute(
        select(Attempt.trajectory_id, Attempt.verdict)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(Attempt.trajectory_id.in_(verdicts), _COUNTED)
        .order_by(Attempt.trajectory_id, Attempt.attempt_index)
    )
    for trajectory_id, verdict in attempts:
        verdicts[trajectory_id].append(verdict)
    total = session.scalar(select(func.count()).select_from(Trajectory).where(Trajectory.run_id == run_id))
    columns = (
        GridColumn(row.id, trajectory_label(row.key, row.buggy_key), row.outcome, tuple(verdicts[row.id]))
        for row in trajectories
    )
    return Grid(tuple(columns), total or 0)


def run_verdicts(session: Session, run_id: int) -> list[tuple[str | None, ...]]:
    """The verdicts of every trajectory by attempt, without surplus ones."""
    found: dict[int, list[str | None]] = {
        trajectory_id: [] for trajectory_id in session.scalars(select(Trajectory.id).where(Trajectory.run_id == run_id))
    }
    attempts = session.execute(
        select(Attempt.trajectory_id, Attempt.verdict)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(Trajectory.run_id == run_id, _COUNTED)
        .order_by(Attempt.trajectory_id, Attempt.attempt_index)
    )
    for trajectory_id, verdict in attempts:
        found[trajectory_id].append(verdict)
    return [tuple(verdicts) for verdicts in found.values()]


def run_trajectories(session: Session, run_id: int, outcome: str | None, after: int | None) -> TrajectoryPage:
    """Trajectories behind position `after`, in order, narrowed to an outcome or to `RUNNING`."""
    query = (
        _labelled(
            Trajectory.id,
            Trajectory.position,
            Trajectory.outcome,
            Trajectory.outcome_reason,
            Trajectory.waiting_for,
            Trajectory.step,
            Trajectory.attempts_judged,
        )
        .where(Trajectory.run_id == run_id)
        .order_by(Trajectory.position)
        .limit(PAGE + 1)
    )
    if after is not None:
        query = query.where(Trajectory.position > after)
    if outcome == RUNNING:
        query = query.where(Trajectory.outcome.is_(None))
    elif outcome is not None:
        query = query.where(Trajectory.outcome == outcome)
    found = session.execute(query).all()
    shown = found[:PAGE]
    totals = _attempt_totals(session, [row.id for row in shown])
    rows = []
    for row in shown:
        total = totals.get(row.id, _NOTHING)
        rows.append(
            TrajectoryLine(
                id=row.id,
                position=row.position,
                label=trajectory_label(row.key, row.buggy_key),
                outcome=row.outcome,
                outcome_reason=row.outcome_reason,
                waiting_for=row.waiting_for,
                step=row.step,
                attempts=row.attempts_judged,
                last_verdict=total.last_verdict,
                cases_passed=total.cases_passed,
                cases_total=total.cases_total,
                tokens=total.tokens,
                cost=total.cost,
            )
        )
    return TrajectoryPage(tuple(rows), rows[-1].position if len(found) > PAGE else None)


@dataclass(frozen=True, slots=True)
class _Totals:
    last_verdict: str | None
    cases_passed: int | None
    cases_total: int | None
    tokens: int | None
    cost: float | None


_NOTHING = _Totals(None, None, None, 0, 0.0)


def _attempt_totals(session: Session, trajectory_ids: Sequence[int]) -> dict[int, _Totals]:
    """Sums over the attempts of a page of trajectories (at most 50 times the protocol's attempts).

    Surplus attempts have used tokens, but their verdicts do not count.
    """
    totals: dict[int, _Totals] = {}
    rows = session.execute(
        select(
            Attempt.trajectory_id,
            Attempt.verdict,
            _COUNTED.label("counted"),
            Attempt.cases_passed,
            Attempt.cases_total,
            Attempt.prompt_tokens,
            Attempt.completion_tokens,
            Attempt.cost,
        )
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(Attempt.trajectory_id.in_(trajectory_ids))
        .order_by(Attempt.trajectory_id, Attempt.attempt_index)
    )
    for row in rows:
        so_far = totals.get(row.trajectory_id, _NOTHING)
        judged = row.verdict is not None and row.counted
        known = row.prompt_tokens is not None and row.completion_tokens is not None
        totals[row.trajectory_id] = _Totals(
            last_verdict=row.verdict if judged else so_far.last_verdict,
            cases_passed=row.cases_passed if judged else so_far.cases_passed,
            cases_total=row.cases_total if judged else so_far.cases_total,
            tokens=so_far.tokens + row.prompt_tokens + row.completion_tokens
            if known and so_far.tokens is not None
            else None,
            cost=so_far.cost + row.cost if row.cost is not None and so_far.cost is not None else None,
        )
    return totals


def _labelled(*columns: InstrumentedAttribute[Any]) -> Select[*tuple[Any, ...]]:
    """A query over trajectories that also fetches what `trajectory_label` needs."""
    entities: list[Any] = [*columns, ProblemRow.key, BuggyProgramRow.key.label("buggy_key")]
    return (
        select(*entities)
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .outerjoin(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
    )
