"""What a shared link shows, as data: read anew for a live link, or stored with a frozen one and read back.

A view holds nothing that its scope does not allow, so that no template could show it: texts that were not chosen are
never in it, and keys are in nothing that is read here.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter
from starlette.datastructures import QueryParams

from app.db.queries.exports import WholeTrajectory, whole_trajectories, whole_trajectory
from app.db.queries.figures import computed_figures
from app.db.queries.labels import trajectory_label
from app.db.queries.recordings import made_at
from app.db.queries.run import run_head
from app.db.session import Database
from app.domain.comparability import Conditions
from app.domain.errors import InputError, NotFoundError
from app.domain.metrics.figures import RunFigures
from app.domain.protocol.policy import Protocol
from app.domain.sharing import Scope, Shown
from app.judge.judge import JUDGE_VERSION
from app.services.share_links import LinkRequest, create_share_link
from app.web import wording
from app.web.board import Board, BoardQuery, Line, board_lines, view_board
from app.web.commands import create_command
from app.web.conditions import described
from app.web.text import printable

LARGEST_SNAPSHOT = 50_000_000
"""Bytes of JSON; more would make every opening of the link slow."""
MOST_FROZEN = 2_000
"""Rows of a leaderboard in a snapshot, which is read whole for each page of it."""


@dataclass(frozen=True, slots=True)
class SharedAttempt:
    """An attempt. The texts are None where the link does not show them, and where there are none."""

    index: int
    verdict: str | None
    reason: str | None
    counts: bool
    cases_passed: int | None
    cases_total: int | None
    prompt: tuple[dict[str, str], ...] | None = None
    reply: str | None = None
    program: dict[str, str] | None = None
    failure: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SharedTrajectory:
    """One problem's way through the run."""

    position: int
    label: str
    outcome: str | None
    attempts: tuple[SharedAttempt, ...]

    @property
    def verdicts(self) -> tuple[str | None, ...]:
        """Of the attempts that count or wait."""
        return tuple(one.verdict for one in self.attempts if one.counts or one.verdict is None)


@dataclass(frozen=True, slots=True)
class SharedRun:
    """A run as others see it. `seen_at` is when it was read."""

    run_id: int
    model_name: str
    problem_set_name: str
    problem_set_version: int
    problem_set_hash: str
    protocol: Protocol
    imported: str | None
    """What an imported run's recording is, in words."""
    conditions: tuple[tuple[str, str], ...]
    seed: int
    status: str
    problems: int
    ended: int
    tokens: int | None
    cost: float | None
    created_at: datetime | None
    """Like `finished_at` of an ended run None where its recording tells no time."""
    finished_at: datetime | None
    figures: RunFigures
    command: str | None
    """None where it would tell a system prompt that is not shared."""
    shown: tuple[Shown, ...]
    seen_at: datetime
    trajectories: tuple[SharedTrajectory, ...]

    @property
    def title(self) -> str:
        """Model and problem set."""
        return f"{self.model_name} on {self.problem_set_name}"


@dataclass(frozen=True, slots=True)
class SharedBoard:
    """A leaderboard as others see it, with the rows that were asked for. `seen_at` is when it was read."""

    board: Board
    lines: tuple[Line, ...]
    seen_at: datetime


_RUN: TypeAdapter[SharedRun] = TypeAdapter(SharedRun)
_BOARD: TypeAdapter[SharedBoard] = TypeAdapter(SharedBoard)


def shared_run(db: Database, scope: Scope, now: datetime, positions: range | None = None) -> SharedRun:
    """The run of a scope as it is now: all of it with every text that the scope allows, or the problems at `positions`
    without texts.

    Raises NotFoundError.
    """
    run_id = _run_of(scope)
    with db.read() as session:
        head = run_head(session, run_id)
        created_at, finished_at = made_at(session, head.run)
        figures = computed_figures(session, run_id, JUDGE_VERSION)
        shown = scope.shown if positions is None else ()
        trajectories = tuple(
            _trajectory(one, shown)
            for one in whole_trajectories(session, run_id, texts=bool(shown), positions=positions)
        )
    run, problem_set = head.run, head.problem_set
    told = Shown.PROMPTS in scope.shown or run.protocol.system_prompt is None
    return SharedRun(
        run_id=run_id,
        model_name=head.endpoint.name,
        problem_set_name=problem_set.name,
        problem_set_version=problem_set.version,
        problem_set_hash=problem_set.content_hash,
        protocol=run.protocol if told else replace(run.protocol, system_prompt=None),
        imported=wording.imported(run.imported_from, demo=run.demo),
        conditions=described(
            Conditions(
                problem_set_hash=problem_set.content_hash,
                problems=None if run.subset is None else tuple(run.subset),
                items=None if run.items is None else tuple(run.items),
                judge_version=run.judge_version,
                protocol=run.protocol,
                prompts_version=run.prompts_version,
                sampling=head.endpoint.sampling,
                sandboxes=tuple(figures.sandboxes),
                memory_tiers=tuple(figures.memory_tiers),
                unknown=tuple(run.unknown or ()),
            )
        ),
        seed=run.protocol.seed,
        status=run.status,
        problems=run.trajectories_total,
        ended=run.trajectories_ended,
        tokens=None if run.tokens_spent is None else run.tokens_spent + run.tokens_shared,
        cost=None if run.cost_spent is None or run.cost_shared is None else run.cost_spent + run.cost_shared,
        created_at=created_at,
        finished_at=finished_at,
        figures=figures,
        command=create_command(head) if told else None,
        shown=scope.shown,
        seen_at=now,
        trajectories=trajectories,
    )


def shared_trajectory(db: Database, scope: Scope, position: int) -> SharedTrajectory:
    """One trajectory of a live link with the texts that its scope allows.

    Raises NotFoundError.
    """
    with db.read() as session:
        found = whole_trajectory(session, _run_of(scope), position)
        if found is None:
            raise NotFoundError(f"there is no problem {position} here")
        return _trajectory(found, scope.shown)


def shared_board(db: Database, query: BoardQuery, now: datetime, rows: range | None = None) -> SharedBoard:
    """A board as it is now, with the lines at the places `rows` (of step 1), or all of them.

    Raises NotFoundError where its problem set or none of its runs is there any more.
    """
    view = view_board(db, query)
    if not view.board.compared:
        raise NotFoundError("none of the runs of this board is there any more")
    return SharedBoard(view.board, tuple(map(_without_prompt, board_lines(db, view, rows))), now)


def board_query(scope: Scope) -> BoardQuery:
    """The query of a scope that shows a leaderboard."""
    return BoardQuery.read(QueryParams(scope.board or ""))


def settled_scope(db: Database, scope: Scope) -> Scope:
    """The scope with its board's problem set and start filled in: a newer run elsewhere must not change what it shows.

    Raises InputError for a board without runs.
    """
    if scope.board is None:
        return scope
    view = view_board(db, replace(board_query(scope), page=1))
    if not view.board.compared:
        raise InputError("this leaderboard has no runs")
    return replace(scope, board=view.query.address())


def scope_title(db: Database, scope: Scope) -> str:
    """What a link is called unless its owner says otherwise. Raises NotFoundError."""
    if scope.run_id is not None:
        with db.read() as session:
            head = run_head(session, scope.run_id)
        return f"{head.endpoint.name} on {head.problem_set.name}, run {scope.run_id}"
    return f"Leaderboard: {view_board(db, board_query(scope)).board.title}"


def take_snapshot(db: Database, scope: Scope, now: datetime) -> dict[str, Any]:
    """What a frozen link will show, as JSON.

    Raises NotFoundError, InputError where it would be too large.
    """
    taken: dict[str, Any]
    if scope.run_id is not None:
        taken = _RUN.dump_python(shared_run(db, scope, now), mode="json")
    else:
        rows = view_board(db, board_query(scope)).board.total
        if rows > MOST_FROZEN:
            raise InputError(
                f"a leaderboard of {rows:,} runs is too long to freeze: narrow it to {MOST_FROZEN:,}, or share it live"
            )
        taken = _BOARD.dump_python(shared_board(db, board_query(scope), now), mode="json")
    if len(json.dumps(taken)) > LARGEST_SNAPSHOT:
        raise InputError("too much text to freeze: choose fewer texts, or share it live")
    return taken


def create_link(db: Database, scope: Scope, title: str, days: int | None, *, frozen: bool) -> tuple[int, str]:
    """Make a link to a scope; returns its id and its token.

    Raises InputError, NotFoundError.
    """
    settled = settled_scope(db, scope)
    made = create_share_link(
        db,
        LinkRequest(
            scope=settled,
            title=title or scope_title(db, settled),
            snapshot=take_snapshot(db, settled, datetime.now(UTC)) if frozen else None,
            days=days,
        ),
    )
    return made.id, made.token


def restored_run(snapshot: dict[str, Any]) -> SharedRun:
    """A frozen run."""
    return _RUN.validate_python(snapshot)


def restored_board(snapshot: dict[str, Any]) -> SharedBoard:
    """A frozen board."""
    return _BOARD.validate_python(snapshot)


def _without_prompt(line: Line) -> Line:
    """A board shares no prompts: a run's own system prompt stays out of it, and so does the command that holds it."""
    if line.row.protocol.system_prompt is None:
        return line
    protocol = replace(line.row.protocol, system_prompt=None)
    return replace(line, row=replace(line.row, protocol=protocol), command="")


def _run_of(scope: Scope) -> int:
    if scope.run_id is None:
        raise NotFoundError("this link shows no run")
    return scope.run_id


def _trajectory(one: WholeTrajectory, shown: Sequence[Shown]) -> SharedTrajectory:
    attempts = []
    for whole in one.attempts:
        attempt, transcript = whole.attempt, whole.transcript
        shared = SharedAttempt(
            index=attempt.attempt_index,
            verdict=attempt.verdict,
            reason=attempt.reason,
            counts=one.counts(attempt),
            cases_passed=attempt.cases_passed,
            cases_total=attempt.cases_total,
        )
        if transcript is not None and shown:
            failure = transcript.first_failure
            shared = replace(
                shared,
                prompt=tuple(map(_legible, transcript.messages or ())) if Shown.PROMPTS in shown else None,
                reply=printable(transcript.reply or "") if Shown.REPLIES in shown else None,
                program=_legible(transcript.program) if transcript.program and Shown.PROGRAMS in shown else None,
                failure=_legible(failure) if failure is not None and _may_show(failure, shown) else None,
            )
        attempts.append(shared)
    trajectory = one.trajectory
    return SharedTrajectory(
        position=trajectory.position,
        label=printable(trajectory_label(one.problem_key, one.buggy_key)),
        outcome=trajectory.outcome,
        attempts=tuple(attempts),
    )


def _legible(texts: dict[str, Any]) -> dict[str, Any]:
    """Texts as pages show them: a snapshot is JSON that is checked when it is read, and takes no lone surrogates."""
    return {printable(name): printable(text) if isinstance(text, str) else text for name, text in texts.items()}


def _may_show(failure: dict[str, Any], shown: Sequence[Shown]) -> bool:
    """A visible case stands in the prompts anyway; a hidden one is shown where its owner chose the hidden tests."""
    return Shown.HIDDEN_TESTS in shown or (bool(failure["visible"]) and Shown.PROMPTS in shown)
