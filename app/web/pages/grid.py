"""A grid of temperature × top-p, cell by cell."""

from typing import Any

from fastapi import APIRouter, Request, Response

from app.db.queries.grid import grid_of
from app.web import refinement_charts
from app.web.deps import RowId, State
from app.web.fits import p_value
from app.web.grid import CSV_HEADER, cell_views, chart_sentence, csv_rows, sampled, sentence
from app.web.rendering import render
from app.web.tables import csv_lines
from app.web.tiers import FIGURES, figure_of

router = APIRouter(prefix="/runs/{run_id}/grid")


@router.get("")
def show(request: Request, state: State, run_id: RowId, figure: str = "") -> Response:
    """The grid that a run belongs to."""
    with state.db.read() as session:
        found = grid_of(session, run_id)
    views, chosen = cell_views(found), figure_of(figure)
    context: dict[str, Any] = {
        "head": found.head,
        "run": found.head.run,
        "views": views,
        "figure": chosen,
        "figures": FIGURES,
        "sentence": sentence(views, chosen),
        "chart": refinement_charts.grid_chart(views, chosen),
        "chart_sentence": chart_sentence(views, FIGURES[chosen].label),
        "sampled": sampled,
        "p_value": p_value,
        "live": any(not view.ended for view in views),
    }
    return render(request, "pages/grid.html", context)


@router.get(".csv")
def as_csv(state: State, run_id: RowId) -> Response:
    """A row a cell."""
    with state.db.read() as session:
        found = grid_of(session, run_id)
    name = f"halflife-run-{found.head.run.id}-grid.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response("".join(csv_lines(CSV_HEADER, csv_rows(found))), media_type="text/csv", headers=headers)
