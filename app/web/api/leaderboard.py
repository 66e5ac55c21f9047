"""The leaderboard over the API and as a file: the whole of it, however long."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from app.domain.errors import InputError
from app.web.board import LINE_FIELDS, Board, BoardQuery, board_document, make_board, read_rows, reproducible
from app.web.deps import AppState, State
from app.web.tables import csv_lines

router = APIRouter(prefix="/api/leaderboard", tags=["leaderboard"])

_PARAMETERS: dict[str, Any] = {
    "parameters": [
        {"name": name, "in": "query", "required": False, "schema": {"type": "string"}, "description": text}
        for name, text in (
            ("set", "Id of a problem set; without it, that of the newest run."),
            ("run", "Ids of runs, separated by commas, to compare just these."),
            ("start", "`generate` or `debug`; first answers and first repairs never share a board."),
            ("model", "Id of a model."),
            ("disclosure", "`verdict`, `visible` or `all`."),
            ("attempts", "Attempts of the protocol."),
            ("unfinished", "`1` takes in runs that have not ended, as of now."),
            ("alike", "`1` leaves out runs under other conditions than the usual ones."),
            ("sort", "A figure's name."),
            ("order", "`asc` or `desc`."),
        )
    ]
}


@router.get("", openapi_extra=_PARAMETERS)
def get_leaderboard(request: Request, state: State) -> dict[str, Any]:
    """Every row of a leaderboard with its conditions, its caveats and the command that repeats it.

    Shares are fractions with 95 % Wilson intervals; null is undefined or unknown.
    """
    return board_document(_whole(request, state))


@router.get("/csv", openapi_extra=_PARAMETERS, response_class=StreamingResponse)
def get_leaderboard_csv(request: Request, state: State) -> StreamingResponse:
    """The same as CSV, a row a run; docs/exports.md says what each column holds."""
    board = _whole(request, state)

    def rows() -> Iterator[list[Any]]:
        for line in board.lines:
            yield [read(line) for read in LINE_FIELDS.values()]

    return StreamingResponse(
        csv_lines(list(LINE_FIELDS), rows()),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="leaderboard.csv"'},
    )


def _whole(request: Request, state: AppState) -> Board:
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
    }
    # A page shows what it can of a mistyped address; a program would take that for its answer.
    for name, value in understood.items():
        if given.get(name) and value is None:
            raise InputError(f"{name}: {given[name]!r} is not understood")
    rows, query, _ = read_rows(state.db, asked)
    board = make_board(rows, query)
    return replace(board, lines=reproducible(state.db, board.lines))
