"""The leaderboard over the API, fifty rows at a time, and as a file: the whole of it, however long."""

import json
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from app.domain.errors import InputError
from app.web.board import (
    LINE_FIELDS,
    BoardQuery,
    BoardView,
    board_document,
    board_lines,
    line_document,
    shown_columns,
    tied,
    view_board,
)
from app.web.deps import AppState, State
from app.web.latex import board_table
from app.web.methods import board_methods
from app.web.tables import csv_lines

router = APIRouter(prefix="/api/leaderboard", tags=["leaderboard"])

_NAMES = (
    ("set", "Id of a problem set; without it, that of the newest run."),
    ("run", "Ids of runs, separated by commas, to compare just these."),
    ("start", "`generate` or `debug`; first answers and first repairs never share a board."),
    ("model", "Id of a model."),
    ("disclosure", "`verdict`, `visible` or `all`."),
    ("attempts", "Attempts of the protocol."),
    ("unfinished", "`1` takes in runs that have not ended, as of now."),
    ("alike", "`1` leaves out runs under other conditions than the usual ones."),
    ("e0_cut", "From how many percent on archetypes call E0 high; the median of the comparable runs when left out."),
    ("lambda_cut", "From where on they call λ high, likewise."),
    ("sort", "A figure's name."),
    ("order", "`asc` or `desc`."),
)
_COLUMN = ("column", "A figure's name; repeat it for several columns.")
_PAGE = ("page", "Which fifty rows, from 1.")


def _parameters(*named: tuple[str, str]) -> dict[str, Any]:
    return {
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": {"type": "string"}, "description": text}
            for name, text in named
        ]
    }


@router.get("", openapi_extra=_parameters(*_NAMES, _PAGE))
def get_leaderboard(request: Request, state: State) -> dict[str, Any]:
    """Up to fifty rows of a leaderboard, each with its conditions, its caveats and the command that repeats it.

    `total` counts all rows; ask for `next_page` as `page` for those behind, null at the end. Shares are fractions with
    95 % intervals; null is undefined or unknown. `tie_group` is among the comparable ones of these rows, from 0 on.
    """
    view = _view(request, state)
    query, total = view.query, view.board.total
    return {
        **board_document(view.board),
        "rows": [
            line_document(line) | {"tie_group": line.tie_group}
            for line in tied(state.db, list(board_lines(state.db, view, query.rows)))
        ],
        "total": total,
        "next_page": query.page + 1 if query.rows.stop < total else None,
    }


@router.get("/json", openapi_extra=_parameters(*_NAMES), response_class=StreamingResponse)
def get_leaderboard_json(request: Request, state: State) -> StreamingResponse:
    """The same with every row, streamed."""
    view = _view(request, state)

    def parts() -> Iterator[str]:
        yield json.dumps(board_document(view.board), indent=1).removesuffix("\n}") + ',\n "rows": ['
        for number, line in enumerate(board_lines(state.db, view)):
            yield (",\n  " if number else "\n  ") + json.dumps(line_document(line))
        yield "\n ]\n}\n"

    return _file(parts(), "application/json", "json")


@router.get("/csv", openapi_extra=_parameters(*_NAMES), response_class=StreamingResponse)
def get_leaderboard_csv(request: Request, state: State) -> StreamingResponse:
    """Every row as CSV, a row a run; docs/exports.md says what each column holds."""
    rows = ([read(line) for read in LINE_FIELDS.values()] for line in board_lines(state.db, _view(request, state)))
    return _file(csv_lines(list(LINE_FIELDS), rows), "text/csv; charset=utf-8", "csv")


@router.get("/latex", openapi_extra=_parameters(*_NAMES, _COLUMN, _PAGE), response_class=StreamingResponse)
def get_leaderboard_latex(request: Request, state: State) -> StreamingResponse:
    """The fifty rows of a page as a LaTeX table with booktabs, in the columns chosen."""
    view = _view(request, state)
    table = board_table(view, list(board_lines(state.db, view, view.query.rows)), shown_columns(view.query.columns))
    return _file(iter([table]), "application/x-tex; charset=utf-8", "tex")


@router.get("/methods", openapi_extra=_parameters(*_NAMES, _PAGE), response_class=StreamingResponse)
def get_leaderboard_methods(request: Request, state: State) -> StreamingResponse:
    """A methods section of the fifty rows of a page: settings, versions, seeds, exclusions, statistics, sources."""
    view = _view(request, state)
    lines = list(board_lines(state.db, view, view.query.rows))
    if not lines:
        raise InputError("page: there are no such rows")
    return _file(iter([board_methods(view, lines)]), "text/plain; charset=utf-8", "txt")


def _file(parts: Iterator[str], media_type: str, suffix: str) -> StreamingResponse:
    disposition = f'attachment; filename="leaderboard.{suffix}"'
    return StreamingResponse(parts, media_type=media_type, headers={"Content-Disposition": disposition})


def _view(request: Request, state: AppState) -> BoardView:
    given = request.query_params
    asked = BoardQuery.read(given)
    understood = {
        "set": asked.problem_set_id,
        "run": asked.run_ids or None,
        "start": asked.start,
        "model": asked.model,
        "disclosure": asked.disclosure,
        "attempts": asked.attempts,
        "sort": asked.sort if given.get("sort") == asked.sort else None,
        "e0_cut": asked.e0_cut,
        "lambda_cut": asked.lambda_cut,
        "page": asked.page if given.get("page") == str(asked.page) else None,
    }
    # A page shows what it can of a mistyped address; a program would take that for its answer.
    for name, value in understood.items():
        if given.get(name) and value is None:
            raise InputError(f"{name}: {given[name]!r} is not understood")
    return view_board(state.db, asked)
