"""One run: its curve, its evidence, its configuration, and the buttons that stop it or let it go on."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, StreamingResponse

from app.db.base import LARGEST_ID
from app.db.models import RunStatus
from app.db.queries import run as queries
from app.db.queries.decay_counts import decay_counts
from app.db.queries.fresh_starts import arm_statuses
from app.db.queries.progress import progress, run_waits
from app.db.queries.recordings import imported_run, made_at
from app.db.queries.rejudging import rejudgings_of
from app.db.session import Database
from app.domain.protocol.prompts import prompts_name
from app.judge.judge import JUDGE_VERSION
from app.services.control_run import PAUSED_BY_HAND, cancel_run, pause_run, resume_run
from app.services.retry_run import retry_run
from app.services.retry_scores import retry_scores
from app.web import charts, conditions, fits, pace, wording
from app.web.commands import create_command
from app.web.deps import RowId, State
from app.web.exports import parquet_missing
from app.web.heat import heat
from app.web.live import Snapshot
from app.web.marks import OUTCOME_FILTERS
from app.web.rendering import macros, render
from app.web.waking import wake_resumed

router = APIRouter(prefix="/runs/{run_id}")

After = Annotated[int | None, Query(ge=0, le=LARGEST_ID)]
Since = Annotated[int, Query(ge=0, lt=2**63)]

PARTS = (
    "facts",
    "notice",
    "warnings",
    "sentence",
    "chart",
    "figure",
    "points",
    "figures",
    "notes",
    "within",
    "within_rows",
    "grid_sentence",
    "finished",
)
"""Macros of templates/macros/run_parts.html that give one element each, whose id is the name with hyphens."""


@router.get("")
def show_run(request: Request, state: State, run_id: RowId, outcome: str = "", after: After = None) -> Response:
    """The run's page."""
    context = _context(state.db, run_id, _outcome(outcome), after)
    return render(request, "pages/run.html", {**context, "p": context, "parquet_missing": parquet_missing()})


@router.get("/events")
async def events(
    state: State,
    run_id: RowId,
    since: Since = 0,
    outcome: str = "",
    after: str = "",
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """What changes on the page after revision `since`, or after the last event seen, as a stream until the run ends."""
    await run_in_threadpool(_must_exist, state.db, run_id)
    seen = int(last_event_id) if last_event_id is not None and _is_revision(last_event_id) else since
    page = (_outcome(outcome), _after(after))
    stream: AsyncIterator[bytes] = state.live.follow(run_id, page, seen, lambda: _snapshot(state.db, run_id, *page))
    # A proxy that gathers the stream before it passes it on would make it useless.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


@router.get("/changes")
def changes(state: State, run_id: RowId, since: Since = 0, outcome: str = "", after: str = "") -> Response:
    """The same for pages that get no stream: every part where the run's revision has passed `since`, else none."""
    with state.db.read() as session:
        head = queries.run_head(session, run_id)
    if head.live and head.run.revision <= since:
        told = Snapshot(head.run.revision, head.run.status, False, {})
    else:
        told = _snapshot(state.db, run_id, _outcome(outcome), _after(after))
    return Response(told.message(), media_type="application/json", headers={"Cache-Control": "no-store"})


@router.post("/pause")
def pause(state: State, run_id: RowId) -> Response:
    """Ask for nothing further until somebody resumes the run."""
    pause_run(state.db, run_id)
    return RedirectResponse(f"/runs/{run_id}", status_code=303)


@router.post("/cancel")
def cancel(state: State, run_id: RowId) -> Response:
    """Stop the run; what was judged before is kept."""
    cancel_run(state.db, run_id)
    return RedirectResponse(f"/runs/{run_id}", status_code=303)


@router.post("/resume")
def resume(state: State, run_id: RowId) -> Response:
    """Let a paused run go on."""
    resume_run(state.db, run_id)
    wake_resumed(state, run_id)
    return RedirectResponse(f"/runs/{run_id}", status_code=303)


@router.post("/scores")
def score_again(state: State, run_id: RowId) -> Response:
    """Score the repairs that have no score."""
    retry_scores(state.db, run_id)
    wake_resumed(state, run_id)
    return RedirectResponse(f"/runs/{run_id}/precision", status_code=303)


@router.post("/retry")
def retry(state: State, run_id: RowId) -> Response:
    """Go on with the problems that infrastructure cut short."""
    retry_run(state.db, run_id)
    wake_resumed(state, run_id)
    return RedirectResponse(f"/runs/{run_id}", status_code=303)


def _context(
    db: Database, run_id: int, outcome: str | None, after: int | None, *, was_live: bool = False
) -> dict[str, Any]:
    """What the page and its parts show. `was_live`: for a page that was opened while the run was under way."""
    now = datetime.now(UTC)
    with db.read() as session:
        # The revision first: what changes while the rest is read comes with the next one.
        head = queries.run_head(session, run_id)
        counts = decay_counts(session, run_id)
        evidence = queries.run_evidence(session, run_id, JUDGE_VERSION)
        grid = queries.run_grid(session, run_id, by_solution=not (head.live or was_live))
        # One that cannot change any more is drawn whole, however large; one under way as its columns are sent.
        whole = grid.total > queries.GRID_COLUMNS and not (head.live or was_live)
        verdicts = queries.run_verdicts(session, run_id) if whole else None
        trajectories = queries.run_trajectories(session, run_id, outcome, after)
        rejudgings = rejudgings_of(session, run_id)
        imported = None if head.run.imported_from is None else imported_run(session, run_id)
        created_at, _ = made_at(session, head.run)
        waits = run_waits(session, [head.run], now)
        recorded_arms = head.run.imported_from is not None and arm_statuses(session, run_id)
    found = fits.fits(counts.solved, counts.of, counts.censored)
    index = found.published
    run = head.run
    policy = run.protocol
    return {
        "head": head,
        "run": run,
        "live": head.live,
        "was_live": was_live,
        "now": now,
        "progress": progress(run, now),
        "wait": waits.get(run.id),
        "by_hand": run.status_reason == PAUSED_BY_HAND,
        "policy": policy,
        "prompts_name": "unknown" if run.prompts_version is None else prompts_name(run.prompts_version, policy),
        "counts": counts,
        "index": index,
        "fits": found,
        "fitting": fits,
        "evidence": evidence,
        "grid": grid,
        "heat": None if verdicts is None else heat(verdicts, policy.attempts),
        "grid_sentence": wording.grid_sentence(
            counts,
            by_solution=not (head.live or was_live),
            shown=grid.total if whole else len(grid.columns),
            total=grid.total,
        ),
        "trajectories": trajectories,
        "imported": imported,
        "recorded_arms": recorded_arms,
        "made_at": created_at,
        "unknown": () if imported is None else imported.unknown,
        "condition_label": conditions.label,
        "retriable": 0 if run.status == RunStatus.CANCELLED or imported is not None else evidence.infrastructure,
        "rejudgings": rejudgings,
        "outcome": outcome,
        "outcomes": OUTCOME_FILTERS,
        "after": after,
        "chart": charts.decay_chart(index, policy, (found.careful, found.debugging)),
        "command": create_command(head),
        "pace": pace,
    }


def _snapshot(db: Database, run_id: int, outcome: str | None, after: int | None) -> Snapshot:
    """Every part of a page that was opened while the run was under way."""
    p = _context(db, run_id, outcome, after, was_live=True)
    macro = macros("macros/run_parts.html")
    parts = {name.replace("_", "-"): macro(name, p) for name in PARTS}
    parts |= {f"column-{column.trajectory_id}": macro("column", p, column) for column in p["grid"].columns}
    if outcome is None:
        parts |= {f"row-{line.id}": macro("row", p, line) for line in p["trajectories"].rows}
    else:
        # Rows come into a narrowed table and leave it.
        parts["rows"] = macro("rows", p)
    return Snapshot(p["run"].revision, p["run"].status, not p["live"], parts)


def _must_exist(db: Database, run_id: int) -> None:
    with db.read() as session:
        queries.run_head(session, run_id)


def _outcome(text: str) -> str | None:
    return text if text in OUTCOME_FILTERS else None


def _after(text: str) -> int | None:
    """As the page's own address has it; an empty one is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _is_revision(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19
