"""The leaderboard of one version of a problem set, and comparisons of a list of runs."""

from fastapi import APIRouter, Request, Response

from app.domain.protocol.policy import Disclosure
from app.web.board import COLUMNS, PAGE, BoardQuery, choices, make_board, read_rows, reproducible, shown_columns
from app.web.deps import State
from app.web.rendering import render
from app.web.scatter import accuracy_against_tokens

router = APIRouter(prefix="/leaderboard")


@router.get("")
def show_leaderboard(request: Request, state: State) -> Response:
    """Runs by their figures, with what keeps them from being compared; the address holds every choice."""
    rows, query, sets = read_rows(state.db, BoardQuery.read(request.query_params))
    board = make_board(rows, query)
    first = (query.page - 1) * PAGE
    shown = reproducible(state.db, board.lines[first : first + PAGE])
    context = {
        "board": board,
        "lines": shown,
        "scatter": accuracy_against_tokens(shown),
        "query": query,
        "missing": [run_id for run_id in query.run_ids if all(row.run_id != run_id for row in rows)],
        "path": "/leaderboard",
        "choices": choices(state.db, rows, query, sets),
        "disclosures": list(Disclosure),
        "all_columns": COLUMNS,
        "columns": shown_columns(query.columns),
        "first": first,
        "next_page": query.page + 1 if first + PAGE < len(board.lines) else None,
    }
    return render(request, "pages/leaderboard.html", context)
