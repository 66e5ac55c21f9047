"""What a run would send and use, told before it is started: nothing is stored."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import func, select
from sqlalchemy.orm import Session, undefer

from app.db.models import (
    Attempt,
    BuggyProgramRow,
    EndpointKind,
    ModelEndpoint,
    ProblemRow,
    Run,
    RunStatus,
    Trajectory,
    TrajectoryOutcome,
)
from app.db.queries.labels import trajectory_label
from app.domain.errors import InputError
from app.domain.metrics.prediction import predicted_total
from app.domain.ports import Message
from app.domain.protocol.policy import History, Protocol
from app.domain.protocol.prompts import conversation
from app.services.spending import Prices
from app.services.submit_run import RunRequest, check_model, chosen_problems, named_rows, starting_points

FEWEST_MEASURED = 5
"""Trajectories of earlier runs below which their spread says too little."""
_EARLIER_RUNS = 20
_PROMPTS_READ = 40
"""Reading the definitions of a large set takes seconds; so many, spread over it, stand for the rest."""
_FEWEST_CHARACTERS, _MOST_CHARACTERS = 3.0, 4.0
"""A token in English and code: the published tokenizers lie between."""
_TEMPLATE_TOKENS = 10
"""What a chat template adds to a message."""
_FEEDBACK_TOKENS = 200
_LEAST_WHOLE = 0.9
"""Share of a run's trajectories that must have come to their end: those cut short are the long ones."""
_WHOLE = (TrajectoryOutcome.SOLVED, TrajectoryOutcome.EXHAUSTED, TrajectoryOutcome.VISIBLE_ONLY)


class Basis(StrEnum):
    """What an estimate rests on."""

    EARLIER_RUNS = "earlier_runs"
    """This endpoint's completed runs on the set, with the same start, prompts, conversation and stopping rule."""
    PROMPTS = "prompts"
    """The length of the prompts and of the references, and the most tokens an answer may have."""
    LOCAL = "local"
    """A program of ours: it uses no tokens."""


@dataclass(frozen=True, slots=True)
class Range:
    """From the least to the most that is to be expected."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What so many trajectories will use, those of every cell of a grid. `cost` is None where a price is unknown.

    `runs` and `measured` trajectories of them are the basis, or the first prompts of `measured` trajectories are.
    With earlier runs each range is a 95 % prediction interval, else its ends are the least and the most there can be.
    """

    trajectories: int
    requests: Range
    tokens: Range
    cost: Range | None
    basis: Basis
    runs: tuple[int, ...]
    measured: int


@dataclass(frozen=True, slots=True)
class RunPlan:
    """An estimate, and the first messages of the trajectory `shown`; `labels` names all of them, in order.

    `max_tokens` is the most an answer may have.
    """

    estimate: Estimate
    shown: str
    messages: tuple[Message, ...]
    labels: tuple[str, ...]
    max_tokens: int


_Start = tuple[ProblemRow, BuggyProgramRow | None]


def plan_run(session: Session, request: RunRequest, shown: str | None = None) -> RunPlan:
    """The plan of a run; `shown` names the trajectory whose first messages are wanted, None the first.

    Raises InputError naming the field, NotFoundError for an unknown problem set or endpoint.
    """
    problem_set, endpoint = named_rows(session, request)
    check_model(request, endpoint)
    chosen = chosen_problems(session, problem_set, request)
    starts = starting_points(problem_set, chosen, request)
    labels = tuple(trajectory_label(problem.key, None if buggy is None else buggy.key) for problem, buggy in starts)
    if shown is not None and shown not in labels:
        raise InputError(f"shown problem: {shown} is not among those chosen")
    index = 0 if shown is None else labels.index(shown)
    local = endpoint.kind == EndpointKind.REPAIR_SEARCH
    return RunPlan(
        estimate=_estimate(session, request, endpoint, starts),
        shown=labels[index],
        messages=() if local else _first_messages(session, [starts[index]], request.protocol)[0][0],
        labels=labels,
        max_tokens=endpoint.sampling.max_tokens,
    )


def _estimate(session: Session, request: RunRequest, endpoint: ModelEndpoint, starts: Sequence[_Start]) -> Estimate:
    n, attempts = len(starts) * len(request.cells), request.protocol.attempts
    at_most = Range(n, n * attempts)
    if endpoint.kind == EndpointKind.REPAIR_SEARCH:
        return Estimate(n, at_most, Range(0, 0), Range(0, 0), Basis.LOCAL, (), 0)
    prices = Prices(endpoint.price_input, endpoint.price_output)
    runs, used = _measured(session, request)
    if len(used) >= FEWEST_MEASURED:
        return _by_earlier_runs(at_most, runs, used, prices)
    return _by_prompts(session, request, endpoint.sampling.max_tokens, starts, at_most, prices)


def _by_earlier_runs(
    at_most: Range, runs: tuple[int, ...], used: Sequence[tuple[int, int, int]], prices: Prices
) -> Estimate:
    n = int(at_most.low)

    def total(values: Sequence[float], *, within: Range | None = None) -> Range:
        low, high = predicted_total(values, n)
        bounds = within or Range(0, math.inf)
        return Range(*(min(max(end, bounds.low), bounds.high) for end in (low, high)))

    costs = [cost for _, prompt, answer in used if (cost := prices.cost(prompt, answer)) is not None]
    return Estimate(
        trajectories=n,
        requests=total([float(requests) for requests, _, _ in used], within=at_most),
        tokens=total([float(prompt + answer) for _, prompt, answer in used]),
        cost=total(costs) if costs else None,
        basis=Basis.EARLIER_RUNS,
        runs=runs,
        measured=len(used),
    )


def _measured(session: Session, request: RunRequest) -> tuple[tuple[int, ...], list[tuple[int, int, int]]]:
    """Runs alike, and requests, prompt and answer tokens of each of their whole trajectories.

    A run with more attempts serves as well: it is read as if it had ended after as many as are planned.
    """
    policy = request.protocol
    earlier = session.execute(
        select(Run.id, Run.protocol, Run.trajectories_total)
        .where(
            Run.endpoint_id == request.endpoint_id,
            Run.problem_set_id == request.problem_set_id,
            # Of a run under way, or cut short, the problems that ended first are the easy ones.
            Run.status == RunStatus.COMPLETED,
            Run.dry_run.is_(False),
        )
        .order_by(Run.id.desc())
        .limit(_EARLIER_RUNS)
    )
    alike = {run_id: total for run_id, protocol, total in earlier if _alike(protocol, policy)}
    within = Attempt.attempt_index < policy.attempts
    rows = session.execute(
        select(
            Trajectory.run_id,
            Trajectory.outcome,
            func.count(),
            func.count(Attempt.prompt_tokens + Attempt.completion_tokens),
            func.sum(Attempt.prompt_tokens),
            func.sum(Attempt.completion_tokens),
        )
        .join(Attempt, Attempt.trajectory_id == Trajectory.id)
        .where(Trajectory.run_id.in_(alike), within, Attempt.attempt_index < Trajectory.attempts_judged)
        .group_by(Trajectory.id, Trajectory.run_id, Trajectory.outcome)
    )
    by_run: dict[int, list[tuple[int, int, int]]] = {run_id: [] for run_id in sorted(alike)}
    for run_id, outcome, requests, known, prompt, answer in rows:
        if (
            prompt is not None
            and answer is not None
            and requests == known
            and (outcome in _WHOLE or requests == policy.attempts)
        ):
            by_run[run_id].append((requests, prompt, answer))
    runs = tuple(run_id for run_id, used in by_run.items() if used and len(used) >= _LEAST_WHOLE * alike[run_id])
    return runs, [used for run_id in runs for used in by_run[run_id]]


def _alike(earlier: Protocol, planned: Protocol) -> bool:
    """Whether tokens used under one protocol say what another will use."""
    return (
        earlier.attempts >= planned.attempts
        and earlier.start is planned.start
        and earlier.history is planned.history
        and earlier.stop_on is planned.stop_on
        and earlier.fresh_start == planned.fresh_start
        and earlier.prompts is planned.prompts
    )


def _by_prompts(
    session: Session, request: RunRequest, max_tokens: int, starts: Sequence[_Start], at_most: Range, prices: Prices
) -> Estimate:
    """The least: each first answer is as short as the reference and solves its problem. The most: none ever does."""
    policy, n = request.protocol, int(at_most.low)
    step = max(1, math.ceil(len(starts) / _PROMPTS_READ))
    read = _first_messages(session, starts[::step], policy)
    least_prompt = most_prompt = least_answer = 0.0
    turns = [min(t, 1) if policy.history is History.LAST else t for t in range(policy.attempts)]
    for messages, reference in read:
        characters = sum(len(message.content) for message in messages)
        template = _TEMPLATE_TOKENS * len(messages)
        least_prompt += characters / _MOST_CHARACTERS
        least_answer += min(len(reference) / _MOST_CHARACTERS, max_tokens)
        most_prompt += policy.attempts * (characters / _FEWEST_CHARACTERS + template)
        most_prompt += sum(turns) * (max_tokens + _FEEDBACK_TOKENS + 2 * _TEMPLATE_TOKENS)
    scale = n / len(read)
    least = round(least_prompt * scale), round(least_answer * scale)
    most = round(most_prompt * scale), n * policy.attempts * max_tokens
    costs = prices.cost(*least), prices.cost(*most)
    return Estimate(
        trajectories=n,
        requests=at_most,
        tokens=Range(sum(least), sum(most)),
        cost=None if costs[0] is None or costs[1] is None else Range(costs[0], costs[1]),
        basis=Basis.PROMPTS,
        runs=(),
        measured=len(read),
    )


def _first_messages(
    session: Session, starts: Sequence[_Start], policy: Protocol
) -> list[tuple[tuple[Message, ...], str]]:
    """The first messages of each trajectory, and the source of its problem's reference."""
    problems = {
        row.id: row.definition
        for row in session.scalars(
            select(ProblemRow)
            .where(ProblemRow.id.in_({problem.id for problem, _ in starts}))
            .options(undefer(ProblemRow.definition))
            .execution_options(populate_existing=True)
        )
    }
    buggy = {
        row.id: row.definition.program
        for row in session.scalars(
            select(BuggyProgramRow)
            .where(BuggyProgramRow.id.in_({buggy.id for _, buggy in starts if buggy is not None}))
            .options(undefer(BuggyProgramRow.definition))
            .execution_options(populate_existing=True)
        )
    }
    found = []
    for row, given in starts:
        problem = problems[row.id]
        messages = conversation(problem, policy, None if given is None else buggy[given.id], [])
        found.append((messages, "".join(problem.reference.files.values())))
    return found
