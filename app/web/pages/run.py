"""One run: its curve, its evidence, its configuration, and the buttons that stop it or let it go on."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.db.base import LARGEST_ID
from app.db.queries import run as queries
from app.db.queries.decay_counts import decay_counts
from app.db.queries.rejudging import rejudgings_of
from app.judge.judge import JUDGE_VERSION
from app.services.control_run import cancel_run, resume_run
from app.web import charts, wording
from app.web.commands import create_command
from app.web.deps import AppState, RowId, State
from app.web.marks import OUTCOME_FILTERS
from app.web.rendering import render
from app.web.waking import wake_resumed

router = APIRouter(prefix="/runs/{run_id}")

After = Annotated[int | None, Query(ge=0, le=LARGEST_ID)]


@router.get("")
def show_run(request: Request, state: State, run_id: RowId, outcome: str = "", after: After = None) -> Response:
    """The run's page."""
    return render(request, "pages/run.html", _context(state, run_id, outcome, after))


@router.get("/live")
def live_part(request: Request, state: State, run_id: RowId, outcome: str = "", after: After = None) -> Response:
    """The part of the page that changes while the run is under way; the page asks for it every two seconds."""
    return render(request, "partials/run_live.html", _context(state, run_id, outcome, after))


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


def _context(state: AppState, run_id: int, outcome: str, after: int | None) -> dict[str, Any]:
    chosen = outcome if outcome in OUTCOME_FILTERS else None
    with state.db.read() as session:
        head = queries.run_head(session, run_id)
        counts = decay_counts(session, run_id)
        evidence = queries.run_evidence(session, run_id, JUDGE_VERSION)
        grid = queries.run_grid(session, run_id, by_solution=not head.active)
        trajectories = queries.run_trajectories(session, run_id, chosen, after)
        rejudgings = rejudgings_of(session, run_id)
    index = counts.decay()
    policy = head.run.protocol
    return {
        "head": head,
        "run": head.run,
        "policy": policy,
        "counts": counts,
        "index": index,
        "evidence": evidence,
        "grid": grid,
        "grid_sentence": wording.grid_sentence(
            counts, by_solution=not head.active, shown=len(grid.columns), total=grid.total
        ),
        "trajectories": trajectories,
        "rejudgings": rejudgings,
        "outcome": chosen,
        "outcomes": OUTCOME_FILTERS,
        "after": after,
        "chart": charts.decay_chart(index, policy),
        "command": create_command(head),
    }
