"""Runs over the API."""

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from app.db.base import LARGEST_ID
from app.db.models import RunStatus
from app.db.queries import runs as queries
from app.db.queries.decay_counts import RunSummary, run_summary
from app.db.queries.fresh_starts import fresh_starts
from app.db.queries.grid import grid_of
from app.db.queries.progress import Progress, Wait, WaitKind
from app.db.queries.recordings import imported_run
from app.db.queries.run import run_head, run_trajectories
from app.db.queries.trajectory import trajectory_detail
from app.domain.protocol.grid import MOST_CELLS, SamplingGrid
from app.domain.protocol.policy import (
    MAX_ATTEMPTS,
    MAX_CPU_SECONDS,
    MAX_MEMORY_MB,
    MAX_SYSTEM_PROMPT,
    MAX_TEMPERATURE,
    MIN_MEMORY_MB,
    Disclosure,
    History,
    Prompts,
    Protocol,
    Start,
    StopOn,
)
from app.domain.protocol.restart import FreshStart, RestartRule
from app.judge.judge import JUDGE_VERSION
from app.services.add_arms import ArmRequest, start_arms
from app.services.control_run import cancel_run, pause_run, resume_run
from app.services.plan_run import Basis, Range, plan_run
from app.services.remove_recording import remove_recording
from app.services.retry_run import retry_run
from app.services.retry_scores import retry_scores
from app.services.submit_run import DEFAULT_IN_FLIGHT, RunRequest, submit_run
from app.web import pace
from app.web.deps import AppState, RowId, State
from app.web.documents import trajectory_document
from app.web.forms import LARGEST_COUNT, MOST_ARMS, MOST_IN_FLIGHT
from app.web.fresh_starts import document
from app.web.grid import document as grid_document
from app.web.text import printable
from app.web.waking import wake_resumed, wake_run

router = APIRouter(prefix="/api/runs", tags=["runs"])


ArmText = Annotated[
    str, Field(max_length=40, description="`t50`, `t50:12`, `once:2`, `every:2`, `adaptive:2`, `resample` …")
]


class ArmsIn(BaseModel):
    """Arms to start beside a baseline. `t50`: once, after the t_50 of the baseline's curve, when that has
    ended; `t50:12`: of the curve of run 12, which has ended.

    `independent` arms share no attempts with the baseline.
    """

    arms: list[ArmText] = Field(min_length=1, max_length=MOST_ARMS)
    independent: bool = False


class FreshStartIn(BaseModel):
    """When the conversation is cleared; `after` is the rule's n, for `once`, `every`, `adaptive` and `reference`."""

    rule: RestartRule = RestartRule.NONE
    after: int | None = Field(default=None, ge=1, le=MAX_ATTEMPTS)


class GridIn(BaseModel):
    """A run for each temperature × top-p; an empty list leaves the protocol's own value."""

    temperature: list[float] = Field(default=[], max_length=MOST_CELLS)
    top_p: list[float] = Field(default=[], max_length=MOST_CELLS)

    def grid(self) -> SamplingGrid:
        """As the service takes it. Raises InputError."""
        return SamplingGrid(tuple(self.temperature), tuple(self.top_p))


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
    system_prompt: str | None = Field(default=None, max_length=MAX_SYSTEM_PROMPT)
    fresh_start: FreshStartIn = FreshStartIn()
    prompts: Prompts = Prompts.HALFLIFE
    hint: bool = False
    temperature: float | None = Field(default=None, ge=0, le=MAX_TEMPERATURE, description="null: the model's own")
    top_p: float | None = Field(default=None, gt=0, le=1, description="null: the model's own")

    def protocol(self) -> Protocol:
        """As the rules take it. Raises InputError."""
        return Protocol(**(self.model_dump() | {"fresh_start": FreshStart(**self.fresh_start.model_dump())}))


class RunIn(BaseModel):
    """A run to start. `problems` are keys of the set, null for all of it.

    `difficulties` and `first` narrow them further. Of a run that starts from buggy programs `items` names those wanted,
    as PROBLEM/KEY or KEY alone, and `items_per_k` draws so many for each number of bugs. `dry_run`: one problem with
    one attempt, left out of boards.
    """

    problem_set_id: int = Field(ge=1, le=LARGEST_ID)
    model_id: int = Field(ge=1, le=LARGEST_ID)
    protocol: ProtocolIn = ProtocolIn()
    problems: list[str] | None = None
    difficulties: list[str] | None = None
    first: int | None = Field(default=None, ge=1, le=LARGEST_COUNT)
    items: list[str] | None = None
    items_per_k: int | None = Field(default=None, ge=1, le=LARGEST_COUNT)
    budget_tokens: int | None = Field(default=None, ge=1, le=LARGEST_COUNT)
    budget_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    in_flight: int = Field(default=DEFAULT_IN_FLIGHT, ge=1, le=MOST_IN_FLIGHT)
    dry_run: bool = False
    arms: list[ArmText] = Field(default=[], max_length=MOST_ARMS)
    arms_independent: bool = False
    grid: GridIn = GridIn()

    def request(self) -> RunRequest:
        """As the service takes it. Raises InputError."""
        return RunRequest(
            problem_set_id=self.problem_set_id,
            endpoint_id=self.model_id,
            protocol=self.protocol.protocol(),
            problems=self.problems,
            difficulties=self.difficulties,
            first=self.first,
            items=self.items,
            items_per_k=self.items_per_k,
            budget_tokens=self.budget_tokens,
            budget_cost=self.budget_cost,
            max_in_flight=self.in_flight,
            dry_run=self.dry_run,
            arms=tuple(ArmRequest.parse(text) for text in self.arms),
            arms_independent=self.arms_independent,
            grid=self.grid.grid(),
        )


class RangeOut(BaseModel):
    """From the least to the most that is to be expected."""

    low: float
    high: float


class MessageOut(BaseModel):
    """One message of a conversation."""

    role: str
    content: str


class PlanOut(BaseModel):
    """What a run would use, by the `basis`, and the first messages of the trajectory `shown`.

    `earlier_runs`: each range is a 95 % prediction interval from `measured` trajectories of `runs`. `prompts`: its ends
    are the least and the most there can be. `local`: the model is a program that uses no tokens. A `cost` of null is
    unknown.
    """

    trajectories: int
    requests: RangeOut
    tokens: RangeOut
    cost: RangeOut | None
    basis: Basis
    runs: list[int]
    measured: int
    shown: str
    messages: list[MessageOut]


class WaitOut(BaseModel):
    """What a run waits for: a person (it is paused), the retry of failed steps, or a worker."""

    kind: WaitKind
    text: str
    problems: int
    reason: str | None
    next_try_at: datetime | None
    since: datetime | None

    @classmethod
    def of(cls, wait: Wait | None) -> Self | None:
        """From the query's result."""
        if wait is None:
            return None
        return cls(
            kind=wait.kind,
            text=printable(pace.waiting(wait, datetime.now(UTC))),
            problems=wait.problems,
            reason=None if wait.reason is None else printable(wait.reason),
            next_try_at=wait.next_try_at,
            since=wait.since,
        )


class ProgressOut(BaseModel):
    """Seconds a run has been running without its pauses, problems ended a minute, and seconds left at that rate."""

    seconds: float
    problems_per_minute: float | None
    seconds_left: float | None

    @classmethod
    def of(cls, found: Progress) -> Self:
        """From the query's result."""
        return cls(seconds=found.seconds, problems_per_minute=found.per_minute, seconds_left=found.seconds_left)


class RunLineOut(BaseModel):
    """A run in a list. `tokens` and `cost` null are unknown.

    `judging_outdated`: its verdicts are by other rules than today's. `imported_from` is the format of the recording
    that it was imported from, null for a run made here; `demo`: it is shipped to show what it shows. `created_at` and
    `finished_at` are null where its recording tells no time.
    """

    id: int
    model: str
    problem_set: str
    problem_set_version: int
    judge_version: int | None
    judging_outdated: bool
    imported_from: str | None
    demo: bool
    status: str
    status_reason: str | None
    dry_run: bool
    waiting: WaitOut | None
    progress: ProgressOut
    problems: int
    ended: int
    solved: int
    tokens: int | None
    cost: float | None
    created_at: datetime | None
    finished_at: datetime | None


class RunListOut(BaseModel):
    """Up to fifty runs of `total`. Pass `next_after` as `after`, in the same order, for those behind them."""

    runs: list[RunLineOut]
    total: int
    next_after: str | None


class PointOut(BaseModel):
    """S_t and N_t of one attempt, and S_t/N_t with its Wilson interval; fractions."""

    attempt: int
    solved: int
    at_risk: int
    hazard: float | None
    low: float | None
    high: float | None


class DisagreementOut(BaseModel):
    """An attempt that was judged here, and not as it is recorded. `counts`: its verdict is in the figures."""

    trajectory: int
    label: str
    attempt: int
    recorded: str
    judged: str
    counts: bool


class RecordingOut(BaseModel):
    """Where an imported run comes from. `unknown` names the conditions that its recording does not say.

    `re_executed`: every recorded program was judged here when it was imported; `disagreements` are the verdicts that
    came out otherwise. `skipped` are records that were left out: their place, and why.
    """

    file_name: str
    sha256: str
    imported_at: datetime
    re_executed: bool
    unknown: list[str]
    skipped: list[dict[str, str]]
    notes: list[str]
    disagreements: list[DisagreementOut]

    @classmethod
    def read(cls, session: Session, run_id: int) -> Self | None:
        """That of a run, None for one that was made here."""
        found = imported_run(session, run_id)
        if found is None:
            return None
        row = found.recording
        return cls(
            file_name=printable(row.file_name),
            sha256=row.sha256,
            imported_at=row.imported_at,
            re_executed=row.re_executed,
            unknown=list(found.unknown),
            skipped=row.skipped,
            notes=row.notes,
            disagreements=[
                DisagreementOut(
                    trajectory=one.trajectory_id,
                    label=one.label,
                    attempt=one.attempt_index,
                    recorded=one.recorded,
                    judged=one.judged,
                    counts=one.counts,
                )
                for one in found.disagreements
            ],
        )


class RunOut(BaseModel):
    """A run with its published decay index. Shares are fractions; null is undefined or unknown.

    `caveats` counts what limits trust in the figures: weak, near-limit and unsandboxed verdicts, executions that failed
    for the sandbox's sake, outdated verdicts, and what a re-judging left: trajectories that ended early, surplus
    attempts, and attempts re-judged midway. `created_at` and `finished_at` of an ended run are null where its recording
    tells no time.
    """

    id: int
    model: str
    problem_set: str
    problem_set_version: int
    judge_version: int | None
    judging_outdated: bool
    imported_from: str | None
    demo: bool
    recording: RecordingOut | None
    caveats: dict[str, int]
    status: str
    status_reason: str | None
    dry_run: bool
    waiting: WaitOut | None
    progress: ProgressOut
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
    tokens: int | None
    tokens_unknown: int
    cost: float | None
    created_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(cls, summary: RunSummary, recording: RecordingOut | None) -> Self:
        """From the query's result."""
        index = summary.decay
        return cls(
            id=summary.id,
            model=summary.model_name,
            problem_set=summary.problem_set_name,
            problem_set_version=summary.problem_set_version,
            judge_version=summary.judge_version,
            judging_outdated=summary.judge_version not in (None, JUDGE_VERSION),
            imported_from=summary.imported_from,
            demo=summary.demo,
            recording=recording,
            caveats=summary.caveats(),
            status=summary.status,
            status_reason=summary.status_reason,
            dry_run=summary.dry_run,
            waiting=WaitOut.of(summary.wait),
            progress=ProgressOut.of(summary.progress),
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
def list_runs(
    state: State,
    status: RunStatus | None = None,
    model_id: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None,
    problem_set: str | None = None,
    search: str | None = None,
    sort: queries.SortKey = queries.SortKey.NEWEST,
    falling: bool = True,
    after: str | None = None,
) -> RunListOut:
    """Runs, newest first or as sorted, narrowed as on their page."""
    texts = (None if text is None else text.replace("\0", "") or None for text in (problem_set, search))
    narrowed = queries.RunFilter(status, model_id, *texts)
    with state.db.read() as session:
        page = queries.list_runs(session, narrowed, queries.RunOrder(sort, falling), after)
    lines = [
        RunLineOut(
            id=row.id,
            model=row.model_name,
            problem_set=row.problem_set_name,
            problem_set_version=row.problem_set_version,
            judge_version=row.judge_version,
            judging_outdated=row.judge_version not in (None, JUDGE_VERSION),
            imported_from=row.imported_from,
            demo=row.demo,
            status=row.status,
            status_reason=row.status_reason,
            dry_run=row.dry_run,
            waiting=WaitOut.of(row.wait),
            progress=ProgressOut.of(row.progress),
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
    return RunListOut(runs=lines, total=page.total, next_after=page.next_after)


@router.post("", status_code=201)
def create_run(state: State, body: RunIn) -> RunOut:
    """Start a run, or one for each cell of a grid: then the first of them is told."""
    run_id = submit_run(state.db, body.request())
    wake_run(state, run_id)
    return _run(state, run_id)


@router.post("/plan")
def plan(state: State, body: RunIn, shown: str | None = None) -> PlanOut:
    """What a run would send and use; nothing is started. `shown` names the trajectory whose messages are wanted."""
    with state.db.read() as session:
        found = plan_run(session, body.request(), shown)
    estimate = found.estimate
    return PlanOut(
        trajectories=estimate.trajectories,
        requests=_range(estimate.requests),
        tokens=_range(estimate.tokens),
        cost=None if estimate.cost is None else _range(estimate.cost),
        basis=estimate.basis,
        runs=list(estimate.runs),
        measured=estimate.measured,
        shown=found.shown,
        messages=[MessageOut(role=message.role, content=printable(message.content)) for message in found.messages],
    )


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


@router.get("/{run_id}/fresh-starts")
def get_fresh_starts(state: State, run_id: RowId) -> dict[str, Any]:
    """The comparison of fresh starts that a run belongs to: every arm against its baseline."""
    with state.db.read() as session:
        return document(fresh_starts(session, run_id))


@router.post("/{run_id}/fresh-starts", status_code=201)
def add_arms(state: State, run_id: RowId, body: ArmsIn) -> dict[str, Any]:
    """Start arms beside a run."""
    arms = tuple(ArmRequest.parse(text) for text in body.arms)
    for arm_id in start_arms(state.db, run_id, arms, shares=not body.independent):
        wake_run(state, arm_id)
    return get_fresh_starts(state, run_id)


@router.get("/{run_id}/grid")
def get_grid(state: State, run_id: RowId) -> dict[str, Any]:
    """The cells of the grid that a run belongs to, each against the first. Shares are fractions; null is undefined."""
    with state.db.read() as session:
        return grid_document(grid_of(session, run_id))


@router.delete("/{run_id}", status_code=204)
def remove_imported_run(state: State, run_id: RowId) -> None:
    """Remove an imported run wholly, with all its attempts. A run made here is not removed."""
    remove_recording(state.db, run_id)


@router.post("/{run_id}/cancel")
def cancel(state: State, run_id: RowId) -> RunOut:
    """Stop a run; what was judged before is kept."""
    cancel_run(state.db, run_id)
    return _run(state, run_id)


@router.post("/{run_id}/pause")
def pause(state: State, run_id: RowId) -> RunOut:
    """Hand out no further steps of a run; those under way are finished."""
    pause_run(state.db, run_id)
    return _run(state, run_id)


@router.post("/{run_id}/scores")
def score_again(state: State, run_id: RowId) -> RunOut:
    """Score the repairs of a run that have no score: the sandbox failed at it, or it was never asked for."""
    retry_scores(state.db, run_id)
    wake_run(state, run_id)
    return _run(state, run_id)


@router.post("/{run_id}/retry")
def retry(state: State, run_id: RowId) -> RunOut:
    """Go on with the problems that infrastructure cut short; nothing judged is asked again."""
    retry_run(state.db, run_id)
    wake_resumed(state, run_id)
    return _run(state, run_id)


@router.post("/{run_id}/resume")
def resume(state: State, run_id: RowId) -> RunOut:
    """Let a paused run go on."""
    resume_run(state.db, run_id)
    wake_resumed(state, run_id)
    return _run(state, run_id)


def _range(values: Range) -> RangeOut:
    return RangeOut(low=values.low, high=values.high)


def _run(state: AppState, run_id: int) -> RunOut:
    with state.db.read() as session:
        return RunOut.of(run_summary(session, run_id, JUDGE_VERSION), RecordingOut.read(session, run_id))
