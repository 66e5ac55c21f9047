"""Starting a run."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from app.db.base import LARGEST_ID
from app.db.models import (
    BuggyProgramRow,
    EndpointKind,
    ModelEndpoint,
    ProblemRow,
    ProblemSetRow,
    Run,
    RunStatus,
    Trajectory,
)
from app.db.session import Database
from app.domain.errors import InputError, NotFoundError
from app.domain.protocol.grid import NO_GRID, SamplingGrid
from app.domain.protocol.policy import Protocol, Start
from app.domain.protocol.prompts import PROMPTS_VERSIONS
from app.domain.protocol.restart import NO_FRESH_START
from app.domain.work import Step
from app.judge.judge import JUDGE_VERSION
from app.services.add_arms import ArmRequest, add_arms, add_cells
from app.services.steps.transitions import due_now

DEFAULT_IN_FLIGHT = 32
"""Trajectories of one run under way at once: a large run leaves room for a small one."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a person asks for. Budgets None are unlimited.

    `problems` are keys of the set, None for all of it; `difficulties` narrows them to those of a difficulty, and
    `first` to so many of what is left, in the set's order. Of a run that starts from buggy programs, `items` names
    those wanted, as PROBLEM/KEY, or KEY alone where one problem has it; `items_per_k` draws so many for each number of
    bugs.

    `dry_run`: one problem of them with one attempt, to see that all of it works.
    """

    problem_set_id: int
    endpoint_id: int
    protocol: Protocol
    problems: Sequence[str] | None = None
    difficulties: Sequence[str] | None = None
    first: int | None = None
    items: Sequence[str] | None = None
    items_per_k: int | None = None
    budget_tokens: int | None = None
    budget_cost: float | None = None
    max_in_flight: int = DEFAULT_IN_FLIGHT
    dry_run: bool = False
    arms: Sequence[ArmRequest] = ()
    """Arms of a fresh-start comparison, whose baseline the run is."""
    arms_independent: bool = False
    """Whether the arms share no attempts with their baseline."""
    grid: SamplingGrid = NO_GRID
    """Makes a run of each of its cells; the run asked for is the first."""

    @property
    def cells(self) -> tuple[Protocol, ...]:
        """The protocol of each run, one where there is no grid."""
        return self.grid.cells(self.protocol)


def submit_run(db: Database, request: RunRequest) -> int:
    """Store the run with all its trajectories due, and return its id: of a grid that of its first cell.

    The caller wakes the workers afterwards.

    Raises InputError naming the field, NotFoundError for an unknown problem set or endpoint.
    """
    _check_budget(request)
    with db.write() as session:
        problem_set, endpoint = named_rows(session, request)
        check_model(request, endpoint)
        chosen = chosen_problems(session, problem_set, request)
        starts = starting_points(problem_set, chosen, request)
        if request.dry_run:
            starts = starts[:1]
            chosen = [starts[0][0]]
        narrowed = request.dry_run or any((request.problems, request.difficulties, request.first))
        by_item = not request.dry_run and (request.items is not None or request.items_per_k is not None)
        now = datetime.now(UTC)
        first, *cells = request.cells
        run = Run(
            problem_set_id=problem_set.id,
            endpoint_id=endpoint.id,
            protocol=_dry(first) if request.dry_run else first,
            prompts_version=PROMPTS_VERSIONS[first.prompts],
            judge_version=JUDGE_VERSION,
            subset=[row.key for row in chosen] if narrowed else None,
            items=[item_name(*start) for start in starts] if by_item else None,
            items_per_k=request.items_per_k if by_item else None,
            status=RunStatus.RUNNING,
            created_at=now,
            active_since=now,
            dry_run=request.dry_run,
            trajectories_total=len(starts),
            max_in_flight=request.max_in_flight,
            budget_tokens=request.budget_tokens,
            budget_cost=request.budget_cost,
        )
        session.add(run)
        session.flush()
        due = due_now(Step.ASK, endpoint.kind)
        session.add_all(
            Trajectory(
                run_id=run.id,
                problem_id=problem.id,
                buggy_program_id=None if buggy is None else buggy.id,
                position=position,
                **due,
            )
            for position, (problem, buggy) in enumerate(starts)
        )
        if request.arms and not request.dry_run:
            session.flush()
            add_arms(session, run, request.arms, shares=not request.arms_independent)
        if cells and not request.dry_run:
            session.flush()
            add_cells(session, run, cells)
        return run.id


def _dry(protocol: Protocol) -> Protocol:
    return replace(protocol, attempts=1, fresh_start=NO_FRESH_START)


def named_rows(session: Session, request: RunRequest) -> tuple[ProblemSetRow, ModelEndpoint]:
    """The problem set and the model that a request names. Raises NotFoundError."""
    problem_set = session.get(ProblemSetRow, request.problem_set_id)
    endpoint = session.get(ModelEndpoint, request.endpoint_id)
    if problem_set is None:
        raise NotFoundError(f"there is no problem set {request.problem_set_id}")
    if endpoint is None:
        raise NotFoundError(f"there is no model {request.endpoint_id}")
    if endpoint.archived_at is not None:
        raise InputError(f"model: {endpoint.name} is archived; offer it again on its page first")
    return problem_set, endpoint


def check_model(request: RunRequest, endpoint: ModelEndpoint) -> None:
    """Refuse what this model cannot do, or what makes no comparison. Raises InputError."""
    if request.arms and len(request.cells) > 1:
        raise InputError("arm: start either arms or a grid; arms of a cell are started on its own page")
    if request.budget_cost is not None and (endpoint.price_input is None or endpoint.price_output is None):
        raise InputError(f"budget: the price of {endpoint.name} is unknown, so a budget in money cannot be kept")
    if endpoint.kind == EndpointKind.RECORDED:
        raise InputError(f"model: {endpoint.name} holds recorded runs and cannot be asked")
    if endpoint.kind != EndpointKind.REPAIR_SEARCH:
        return
    if request.protocol.start is not Start.DEBUG:
        raise InputError(
            "protocol: repair-search repairs a given buggy program; choose the protocol that starts from one"
        )
    if request.protocol.fresh_start != NO_FRESH_START:
        raise InputError("fresh start: repair-search has no conversation to clear; choose none")
    if request.protocol.system_prompt is not None:
        raise InputError("system prompt: repair-search reads none; leave it empty")
    if request.protocol.hint:
        raise InputError("hint: repair-search reads no prompts; leave it out")
    if any((cell.temperature, cell.top_p) != (None, None) for cell in request.cells):
        raise InputError("temperature: repair-search does not sample; leave temperature and top-p empty")


def chosen_problems(session: Session, problem_set: ProblemSetRow, request: RunRequest) -> list[ProblemRow]:
    """The problems a request asks for, in the set's order, with their buggy programs.

    Raises InputError where it names one that is not there, leaves none, or takes in one that no model can answer.
    """
    rows = session.scalars(
        select(ProblemRow)
        .where(ProblemRow.problem_set_id == problem_set.id)
        .options(joinedload(ProblemRow.buggy_programs))
        .order_by(ProblemRow.position)
    )
    chosen = _choose(list(rows.unique()), request.problems, problem_set.name)
    if request.difficulties is not None:
        wanted = set(request.difficulties)
        chosen = [row for row in chosen if row.difficulty in wanted]
        if not chosen:
            rated = " or ".join(sorted(wanted)) or "so"
            raise InputError(f"difficulty: no problem chosen of {problem_set.name} is rated {rated}")
    if request.first is not None:
        if request.first < 1:
            raise InputError("first: must be at least 1")
        chosen = chosen[: request.first]
    _refuse_projects(chosen)
    return chosen


_Start = tuple[ProblemRow, BuggyProgramRow | None]


def starting_points(problem_set: ProblemSetRow, problems: Sequence[ProblemRow], request: RunRequest) -> list[_Start]:
    """Where the trajectories of a run begin: at each problem, or at each of its buggy programs that is wanted.

    Raises InputError where there is none, or where one is named that is not there.
    """
    protocol = request.protocol
    starts: list[_Start]
    if protocol.start is Start.GENERATE:
        if request.items is not None or request.items_per_k is not None:
            raise InputError("items: they are buggy programs; choose the protocol that starts from one")
        starts = [(problem, None) for problem in problems]
    else:
        starts = [(problem, buggy) for problem in problems for buggy in problem.buggy_programs]
    if not starts:
        what = "no problem" if protocol.start is Start.GENERATE else "no buggy program to start from"
        raise InputError(f"problem set: what is chosen of {problem_set.name} holds {what}")
    if request.items is not None:
        starts = _named(starts, request.items, problem_set.name)
    if request.items_per_k is not None:
        starts = _drawn(starts, request.items_per_k, protocol.seed)
    return starts


def item_name(problem: ProblemRow, buggy: BuggyProgramRow | None) -> str:
    """What an item is called in requests and commands: PROBLEM/KEY."""
    return problem.key if buggy is None else f"{problem.key}/{buggy.key}"


def _named(starts: Sequence[_Start], names: Sequence[str], set_name: str) -> list[_Start]:
    if not names:
        raise InputError("items: choose at least one")
    keys = Counter(buggy.key for _, buggy in starts if buggy is not None)
    wanted, found = set(names), list[_Start]()
    for start in starts:
        key = "" if start[1] is None else start[1].key
        called = {item_name(*start), key} & wanted
        if key in called and keys[key] > 1:
            raise InputError(
                f"items: {keys[key]} problems of {set_name} have a {key}; say which, as {item_name(*start)}"
            )
        if called:
            found.append(start)
            wanted -= called
    if wanted:
        raise InputError(f"items: what is chosen of {set_name} has no {', '.join(sorted(wanted))}")
    return found


def _drawn(starts: Sequence[_Start], count: int, seed: int) -> list[_Start]:
    """So many of each number of bugs, all where there are fewer, in the set's order: equal seeds draw equal ones."""
    if count < 1:
        raise InputError("items for each number of bugs: must be at least 1")
    by_k: dict[int, list[tuple[bytes, int]]] = defaultdict(list)
    for position, start in enumerate(starts):
        if start[1] is not None:
            lot = sha256(f"{seed}\0{item_name(*start)}".encode()).digest()
            by_k[start[1].bug_count].append((lot, position))
    drawn = sorted(position for lots in by_k.values() for _, position in sorted(lots)[:count])
    return [starts[position] for position in drawn]


def _check_budget(request: RunRequest) -> None:
    if request.budget_tokens is not None and not 0 < request.budget_tokens < 2**63:
        raise InputError("budget: tokens must be a positive number")
    if request.budget_cost is not None and not 0 < request.budget_cost < math.inf:
        raise InputError("budget: cost must be a positive amount")
    if not 1 <= request.max_in_flight <= LARGEST_ID:
        raise InputError("in flight: at least 1 trajectory must be under way")


def _choose(rows: list[ProblemRow], keys: Sequence[str] | None, set_name: str) -> list[ProblemRow]:
    if keys is None:
        return rows
    unknown = sorted(set(keys) - {row.key for row in rows})
    if unknown:
        raise InputError(f"problems: {set_name} has no {', '.join(unknown)}")
    if not keys:
        raise InputError("problems: choose at least one")
    wanted = set(keys)
    return [row for row in rows if row.key in wanted]


def _refuse_projects(chosen: list[ProblemRow]) -> None:
    """A model answers with one file, so that it cannot answer a problem of many."""
    projects = [row.key for row in chosen if row.test_style == "command"]
    if projects:
        raise InputError(
            f"problems: {', '.join(projects[:5])} are programs of several files, to be judged by hand only"
        )
