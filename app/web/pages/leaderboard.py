"""The leaderboard of one version of a problem set, and comparisons of a list of runs."""

from fastapi import APIRouter, Request, Response

from app.domain.protocol.policy import Disclosure
from app.web.board import COLUMNS, BoardQuery, board_lines, shown_columns, tied, view_board
from app.web.deps import State
from app.web.rendering import render
from app.web.scatter import Axis, accuracy_against

router = APIRouter(prefix="/leaderboard")


@router.get("")
def show_leaderboard(request: Request, state: State) -> Response:
    """Runs by their figures, with what keeps them from being compared; the address holds every choice."""
    view = view_board(state.db, BoardQuery.read(request.query_params))
    query = view.query
    lines = tied(state.db, list(board_lines(state.db, view, query.rows)))
    context = {
        "board": view.board,
        "lines": lines,
        "scatter": accuracy_against(Axis.TOKENS, lines),
        "query": query,
        "missing": view.missing,
        "path": "/leaderboard",
        "choices": view.choices,
        "disclosures": list(Disclosure),
        "all_columns": COLUMNS,
        "columns": shown_columns(query.columns),
        "first": query.rows.start,
        "next_page": query.page + 1 if query.rows.stop < view.board.total else None,
    }
    return render(request, "pages/leaderboard.html", context)
