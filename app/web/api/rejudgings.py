"""Judging runs again over the API."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from app.db.base import LARGEST_ID
from app.db.queries.rejudging import rejudging_view
from app.services.rejudge_run import apply_rejudging, discard_rejudging, start_rejudging
from app.web.deps import AppState, RowId, State
from app.web.documents import rejudging_document
from app.web.waking import wake_judges

router = APIRouter(prefix="/api/runs/{run_id}/rejudgings", tags=["re-judging"])

PAGE = 100


@router.post("", status_code=202)
def start(state: State, run_id: RowId) -> dict[str, Any]:
    """Judge every program of a run again. Nothing is replaced until it is applied."""
    rejudging_id = start_rejudging(state.db, run_id)
    wake_judges(state)
    return _rejudging(state, run_id, rejudging_id)


@router.get("/{rejudging_id}")
def get_rejudging(
    state: State, run_id: RowId, rejudging_id: RowId, after: Annotated[int, Query(ge=0, le=LARGEST_ID)] = 0
) -> dict[str, Any]:
    """How far it is, and what it would change or has changed: a hundred of the `changed` verdicts behind the first
    `after`. Pass `next_after` as `after` for more.
    """
    return _rejudging(state, run_id, rejudging_id, after)


@router.post("/{rejudging_id}/apply")
def apply(state: State, run_id: RowId, rejudging_id: RowId) -> dict[str, Any]:
    """Replace the verdicts of the run, all or none; the old ones are kept."""
    apply_rejudging(state.db, run_id, rejudging_id)
    return _rejudging(state, run_id, rejudging_id)


@router.post("/{rejudging_id}/discard")
def discard(state: State, run_id: RowId, rejudging_id: RowId) -> dict[str, Any]:
    """Leave the run as it is."""
    discard_rejudging(state.db, run_id, rejudging_id)
    return _rejudging(state, run_id, rejudging_id)


def _rejudging(state: AppState, run_id: int, rejudging_id: int, after: int = 0) -> dict[str, Any]:
    with state.db.read() as session:
        view = rejudging_view(session, run_id, rejudging_id)
    rows = range(after, after + PAGE)
    next_after = rows.stop if rows.stop < len(view.changes) else None
    return {**rejudging_document(view, rows), "next_after": next_after}
