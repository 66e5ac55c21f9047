"""Precise debugging: the runs that repair programs of one version of a set, on the plane beside published rows."""

from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from app.db.queries.sets_with_runs import sets_with_runs
from app.domain.protocol.policy import Start
from app.web import repairs as shown
from app.web.board import BoardQuery, board_lines, usual_columns, view_board
from app.web.deps import State
from app.web.plane import plane
from app.web.published import ON_THE_PLANE, SINGLE, TABLES
from app.web.rendering import render

router = APIRouter(prefix="/precision")

NO_TABLE = "none"
"""In the address: no published rows on the plane."""


@router.get("")
def show_precision(request: Request, state: State) -> Response:
    """Runs by precision; the address holds problem set, cut-offs, page, and which published rows are drawn."""
    given = request.query_params
    cut_offs = shown.read_cut_offs(given)
    asked = BoardQuery.read(given)
    table = ON_THE_PLANE.get(given.get("published", SINGLE.slug))
    with state.db.read() as session:
        sets = sets_with_runs(session, repairs=True)
    chosen = next((one for one in sets if one.id == asked.problem_set_id), sets[0] if sets else None)
    view, lines = None, []
    if chosen is not None:
        board = BoardQuery(
            problem_set_id=chosen.id,
            start=Start.DEBUG,
            unfinished=asked.unfinished,
            sort="precision",
            columns=usual_columns(Start.DEBUG),
            page=asked.page,
        )
        view = view_board(state.db, board)
        lines = list(board_lines(state.db, view, board.rows))
    unfinished = [("unfinished", "1")] if asked.unfinished else []
    kept = unfinished if chosen is None else [("set", str(chosen.id)), *unfinished]
    kept.append(("published", NO_TABLE if table is None else table.slug))
    context = {
        "sets": sets,
        "chosen": chosen,
        "board": None if view is None else view.board,
        "query": None if view is None else view.query,
        "unfinished": 0 if view is None else view.choices.unfinished,
        "lines": lines,
        "plane": plane(lines, table, cut_offs),
        "table": table,
        "tables": TABLES,
        "on_the_plane": ON_THE_PLANE,
        "cut_offs": cut_offs,
        "kept": unfinished,
        "shown": shown,
        "address": urlencode([*kept, *shown.cut_off_pairs(cut_offs)]),
    }
    return render(request, "pages/precision.html", context)
