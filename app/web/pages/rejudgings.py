"""Judging a run's programs again: the preview, and the two ways to end it."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.db.queries.rejudging import rejudging_view
from app.db.queries.run import run_head
from app.services.rejudge_run import apply_rejudging, discard_rejudging, start_rejudging
from app.web.deps import AppState, RowId, State
from app.web.marks import VERDICTS
from app.web.rendering import render
from app.web.waking import wake_judges

router = APIRouter(prefix="/runs/{run_id}/rejudgings")

SHOWN_CHANGES = 500
"""Changed verdicts listed; more would make a page of over 100 kB compressed. The API lists all."""


@router.post("")
def start(state: State, run_id: RowId) -> Response:
    """Judge every program again, and go to the preview."""
    rejudging_id = start_rejudging(state.db, run_id)
    wake_judges(state)
    return RedirectResponse(f"/runs/{run_id}/rejudgings/{rejudging_id}", status_code=303)


@router.get("/{rejudging_id}")
def show(request: Request, state: State, run_id: RowId, rejudging_id: RowId) -> Response:
    """How far it is, and what it would change or has changed."""
    return render(request, "pages/rejudging.html", _context(state, run_id, rejudging_id))


@router.get("/{rejudging_id}/live")
def live_part(request: Request, state: State, run_id: RowId, rejudging_id: RowId) -> Response:
    """The part of the page that changes while programs are judged."""
    return render(request, "partials/rejudging_live.html", _context(state, run_id, rejudging_id))


@router.post("/{rejudging_id}/apply")
def apply(state: State, run_id: RowId, rejudging_id: RowId) -> Response:
    """Replace the verdicts, and go to the run."""
    apply_rejudging(state.db, run_id, rejudging_id)
    return RedirectResponse(f"/runs/{run_id}", status_code=303)


@router.post("/{rejudging_id}/discard")
def discard(state: State, run_id: RowId, rejudging_id: RowId) -> Response:
    """Leave the run as it is."""
    discard_rejudging(state.db, run_id, rejudging_id)
    return RedirectResponse(f"/runs/{run_id}", status_code=303)


def _context(state: AppState, run_id: int, rejudging_id: int) -> dict[str, Any]:
    with state.db.read() as session:
        head = run_head(session, run_id)
        view = rejudging_view(session, run_id, rejudging_id)
    present = {verdict for pair in view.matrix for verdict in pair}
    effect = view.effect
    return {
        "head": head,
        "run": head.run,
        "view": view,
        "verdicts": [verdict.value for verdict in VERDICTS if verdict.value in present],
        "shown_changes": view.changes[:SHOWN_CHANGES],
        "before": None if effect is None else effect.before.decay(),
        "after": None if effect is None else effect.after.decay(),
    }
