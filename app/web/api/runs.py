"""Runs over the API."""

from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from app.db.base import LARGEST_ID
from app.db.queries import runs as queries
from app.db.queries.decay_counts import RunSummary, run_summary
from app.db.queries.run import run_head, run_trajectories
from app.db.queries.trajectory import trajectory_detail
from app.domain.protocol.policy import (
    MAX_ATTEMPTS,
    MAX_CPU_SECONDS,
    MAX_MEMORY_MB,
    MIN_MEMORY_MB,
    Disclosure,
    History,
    Protocol,
    Start,
    StopOn,
)
from app.judge.judge import JUDGE_VERSION
from app.services.control_run import cancel_run, resume_run
from app.services.submit_run import DEFAULT_IN_FLIGHT, RunRequest, submit_run
from app.web.deps import AppState, RowId, State
from app.web.documents import trajectory_document
from app.web.forms import LARGEST_COUNT, MOST_IN_FLIGHT
from app.web.waking import wake_resumed, wake_run

router = APIRouter(prefix="/api/runs", tags=["runs"])


class ProtocolIn(BaseModel):
    """How the run proceeds."""

    start: Start = Start.GENERATE
    attempts: int = Field(default=6, ge=1, le=MAX_ATTEMPTS)
    disclosure: Disclosure = Disclosure.VISIBLE
    stop_on: StopOn = StopOn.ALL
    history: History = History.FULL
    seed: int = Field(default=0, ge=0, le=LARGEST_ID)
    cpu_seconds: float | None = Field(default=None, gt=0, le=MAX_CPU_SECONDS)
    memory_mb: int | None = Field(default=None, ge=MIN_MEMORY_MB, le=MAX_MEMORY_MB)


class RunIn(BaseModel):
    """A run to start. `problems` are keys of the set, null for all of it."""

    problem_set_id: int = Field(ge=1, le=LARGEST_ID)
    model_id: int = Field(ge=1, le=LARGEST_ID)
    protocol: ProtocolIn = ProtocolIn()
    problems: list[str] | None = None
    budget_tokens: int | None = Field(default=None, ge=1, le=LARGEST_COUNT)
    budget_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    in_flight: int = Field(default=DEFAULT_IN_FLIGHT, ge=1, le=MOST_IN_FLIGHT)


class RunLineOut(BaseModel):
    """A run in a list. `cost` null is unknown; `judging_outdated`: its verdicts are by other rules than today's."""

    id: int
    model: str
    problem_set: str
    problem_set_version: int
    judge_version: int
    judging_outdated: bool
    status: str
    problems: int
    ended: int
    solved: int
    tokens: int
    cost: float | None
    created_at: datetime
    finished_at: datetime | None


class RunListOut(BaseModel):
    """Up to fifty runs, newest first. Pass `next_before` as `before` for older ones."""

    runs: list[RunLineOut]
    next_before: int | None


class PointOut(BaseModel):
    """S_t and N_t of one attempt, and S_t/N_t with its Wilson interval; fractions."""

    attempt: int
    solved: int
    at_risk: int
    hazard: float | None
    low: float | None
    high: float | None


class RunOut(BaseModel):
    """A run with its published decay index. Shares are fractions; null is undefined or unknown.

    `caveats` counts what limits trust in the figures: weak, near-limit and unsandboxed verdicts, executions that failed
    for the sandbox's sake, outdated verdicts, and what a re-judging left: trajectories that ended early, surplus
    attempts, and attempts re-judged midway.
    """

    id: int
    model: str
    problem_set: str
    problem_set_version: int
    judge_version: int
    judging_outdated: bool
    caveats: dict[str, int]
    status: str
    status_reason: str | None
    problems: int
    ended: int
    solved_at_attempt: list[int]
    excluded: int
    censored: list[int]
    points: list[PointOut]
    fit_status: str
    e0: float | None
    final_accuracy: float | None
    lambda_: float | None = Field(serialization_alias="lambda")
    intercept_percent: float | None
    r_squared: float | None
    half_life: float | None
    t_theta: dict[int, int | None] | None
    tokens: int
    tokens_unknown: int
    cost: float | None
    created_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, summary: RunSummary) -> Self:
        """From the query's result."""
        index = summary.decay
        return cls(
            id=summary.id,
            model=summary.model_name,
            problem_set=summary.problem_set_name,
            problem_set_version=summary.problem_set_version,
            judge_version=summary.judge_version,
            judging_outdated=summary.judge_version != JUDGE_VERSION,
            caveats=summary.caveats(),
            status=summary.status,
            status_reason=summary.status_reason,
            problems=summary.problems,
            ended=summary.ended,
            solved_at_attempt=list(summary.counts.solved),
            excluded=summary.counts.excluded,
            censored=list(summary.counts.censored),
            points=[
                PointOut(
                    attempt=point.attempt,
                    solved=point.solved,
                    at_risk=point.at_risk,
                    hazard=point.hazard.estimate,
                    low=point.hazard.low,
                    high=point.hazard.high,
                )
                for point in index.points
            ],
            fit_status=index.status,
            e0=index.e0.estimate,
            final_accuracy=index.final_accuracy.estimate,
            lambda_=index.lambda_,
            intercept_percent=index.intercept,
            r_squared=index.r_squared,
            half_life=index.half_life,
            t_theta=None if index.t_theta is None else {int(theta): t for theta, t in index.t_theta.items()},
            tokens=summary.tokens,
            tokens_unknown=summary.evidence.tokens_unknown,
            cost=summary.cost,
            created_at=summary.created_at,
            finished_at=summary.finished_at,
        )


class TrajectoryLineOut(BaseModel):
    """A trajectory in a list; `attempts` is how many of them count."""

    id: int
    label: str
    outcome: str | None
    attempts: int
    last_verdict: str | None
    cases_passed: int | None
    cases_total: int | None


class TrajectoryListOut(BaseModel):
    """Up to fifty trajectories. Pass `next_after` as `after` for more."""

    trajectories: list[TrajectoryLineOut]
    next_after: int | None


@router.get("")
def list_runs(state: State, before: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None) -> RunListOut:
    """Runs, newest first."""
    with state.db.read() as session:
        page = queries.list_runs(session, queries.RunFilter(), before)
    lines = [
        RunLineOut(
            id=row.id,
            model=row.model_name,
            problem_set=row.problem_set_name,
            problem_set_version=row.problem_set_version,
            judge_version=row.judge_version,
            judging_outdated=row.judge_version != JUDGE_VERSION,
            status=row.status,
            problems=row.problems,
            ended=row.ended,
            solved=row.solved,
            tokens=row.tokens,
            cost=row.cost,
            created_at=row.created_at,
            finished_at=row.finished_at,
        )
        for row in page.rows
    ]
    return RunListOut(runs=lines, next_before=page.next_before)


@router.post("", status_code=201)
def create_run(state: State, body: RunIn) -> RunOut:
    """Start a run."""
    run_id = submit_run(
        state.db,
        RunRequest(
            problem_set_id=body.problem_set_id,
            endpoint_id=body.model_id,
            protocol=Protocol(**body.protocol.model_dump()),
            problems=body.problems,
            budget_tokens=body.budget_tokens,
            budget_cost=body.budget_cost,
            max_in_flight=body.in_flight,
        ),
    )
    wake_run(state, run_id)
    return _run(state, run_id)


@router.get("/{run_id}")
def get_run(state: State, run_id: RowId) -> RunOut:
    """One run."""
    return _run(state, run_id)


@router.get("/{run_id}/trajectories")
def list_trajectories(
    state: State, run_id: RowId, after: Annotated[int | None, Query(ge=0, le=LARGEST_ID)] = None
) -> TrajectoryListOut:
    """Trajectories of a run in order."""
    with state.db.read() as session:
        run_head(session, run_id)
        page = run_trajectories(session, run_id, None, after)
    return TrajectoryListOut(
        trajectories=[
            TrajectoryLineOut(
                id=row.id,
                label=row.label,
                outcome=row.outcome,
                attempts=row.attempts,
                last_verdict=row.last_verdict,
                cases_passed=row.cases_passed,
                cases_total=row.cases_total,
            )
            for row in page.rows
        ],
        next_after=page.next_after,
    )


@router.get("/{run_id}/trajectories/{trajectory_id}")
def get_trajectory(state: State, run_id: RowId, trajectory_id: RowId) -> dict[str, Any]:
    """One trajectory with every attempt. What a hidden case holds is told only where the protocol discloses all."""
    with state.db.read() as session:
        return trajectory_document(trajectory_detail(session, run_id, trajectory_id))


@router.post("/{run_id}/cancel")
def cancel(state: State, run_id: RowId) -> RunOut:
    """Stop a run; what was judged before is kept."""
    cancel_run(state.db, run_id)
    return _run(state, run_id)


@router.post("/{run_id}/resume")
def resume(state: State, run_id: RowId) -> RunOut:
    """Let a paused run go on."""
    resume_run(state.db, run_id)
    wake_resumed(state, run_id)
    return _run(state, run_id)


def _run(state: AppState, run_id: int) -> RunOut:
    with state.db.read() as session:
        return RunOut.of(run_summary(session, run_id, JUDGE_VERSION))
