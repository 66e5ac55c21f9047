"""What a shared link opens, without a login: only what its scope allows, to nobody's index, and never cached."""

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.db.base import LARGEST_ID
from app.db.queries.share import LinkRow, link_by_hash, link_snapshot
from app.domain.errors import NotFoundError
from app.domain.sharing import LinkState
from app.services.share_links import token_hash
from app.web import charts, fits, wording
from app.web.board import LINE_FIELDS, PAGE, BoardQuery, board_bars, resorted, shown_columns
from app.web.deps import AppState, State
from app.web.drawing import PNG_SCALE, board_card, png, run_card
from app.web.exports import POINTS_HEADER, points, run_chart
from app.web.pages.share import public_address
from app.web.rendering import render
from app.web.scatter import Axis, accuracy_against
from app.web.shared import (
    SharedBoard,
    SharedRun,
    SharedTrajectory,
    board_query,
    restored_board,
    restored_run,
    shared_board,
    shared_run,
    shared_trajectory,
)
from app.web.tables import csv_lines

router = APIRouter(prefix="/s/{token}")

HEADERS = {
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Referrer-Policy": "no-referrer",
    # A revoked link must close at once, in every cache as well.
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a link shows nothing, and what its reader may do."""

    status: HTTPStatus
    title: str
    advice: str
    wait: float = 0.0


class Closed(Exception):
    """The link shows nothing."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.title)
        self.reason = reason


@router.get("")
def open_link(
    request: Request, state: State, token: str, page: Annotated[int, Query(ge=1, le=LARGEST_ID // PAGE)] = 1
) -> Response:
    """The shared run or leaderboard."""
    try:
        link = _opened(request, state, token)
        context = _page(request, state, token, link)
        if link.scope.run_id is not None:
            first = (page - 1) * PAGE
            shared = _run(state, link, range(first, first + PAGE))
            context |= _run_context(shared, page)
            return _answer(render(request, "pages/shared_run.html", context))
        board, query = _board(request, state, link)
        context |= {
            "board": board.board,
            "lines": board.lines,
            "scatter": accuracy_against(Axis.TOKENS, board.lines),
            "seen_at": board.seen_at,
            "query": query,
            "columns": shown_columns(query.columns),
            "path": f"/s/{token}",
            "first": query.rows.start,
            "next_page": query.page + 1 if query.rows.stop < board.board.total else None,
        }
        return _answer(render(request, "pages/shared_board.html", context))
    except Closed as closed:
        return _closed(request, closed.reason)


@router.get("/problems/{position}")
def open_problem(request: Request, state: State, token: str, position: int) -> Response:
    """One problem of a shared run, with the texts that its owner chose to show."""
    try:
        link = _opened(request, state, token)
        if link.scope.run_id is None or not link.scope.shown:
            raise Closed(_UNKNOWN)
        trajectory = _trajectory(state, link, position)
        context = _page(request, state, token, link) | {"trajectory": trajectory, "shown": link.scope.shown}
        return _answer(render(request, "pages/shared_problem.html", context))
    except Closed as closed:
        return _closed(request, closed.reason)


@router.get("/card.png")
def card(request: Request, state: State, token: str) -> Response:
    """The picture that a message shows with the link."""
    try:
        link = _opened(request, state, token)
        if link.scope.run_id is not None:
            shared = _run(state, link, range(0))
            left = shared.figures.left_unfinished
            drawn = run_card(
                shared.figures.decay,
                shared.protocol,
                shared.model_name,
                f"{shared.problem_set_name}, version {shared.problem_set_version}"
                f" · {wording.count(shared.figures.decay.n, 'problem')} · {wording.plan(shared.protocol)}",
                f"Run {shared.run_id}, {shared.seen_at:%Y-%m-%d}"
                + (f" · {left:,} problems not finished" if left else ""),
            )
        else:
            board, query = _board(request, state, link)
            label, bars = board_bars(board.lines, query)
            drawn = board_card(
                "Leaderboard",
                board.board.title,
                f"{label}, 95 % intervals · {board.board.alike:,} of {wording.count(board.board.compared, 'run')}"
                f" comparable · {board.seen_at:%Y-%m-%d}",
                bars,
            )
    except Closed as closed:
        return _closed(request, closed.reason)
    return _answer(Response(png(drawn), media_type="image/png"))


@router.get("/figures.csv")
def figures_file(request: Request, state: State, token: str) -> Response:
    """The figures that the page shows as CSV: a row an attempt of the run, or a row a run of the whole leaderboard."""
    try:
        link = _opened(request, state, token)
        if link.scope.run_id is not None:
            lines = csv_lines(POINTS_HEADER, points(fits.fits_of_run(_run(state, link, range(0)).figures)))
        else:
            rows = ([read(line) for read in LINE_FIELDS.values()] for line in _whole_board(state, link).lines)
            lines = csv_lines(list(LINE_FIELDS), rows)
    except Closed as closed:
        return _closed(request, closed.reason)
    return _file("".join(lines).encode(), "text/csv; charset=utf-8", "figures.csv")


@router.get("/chart.svg")
def chart_svg(request: Request, state: State, token: str) -> Response:
    """The shared run's chart as SVG."""
    try:
        drawn = _chart(state, _opened(request, state, token))
    except Closed as closed:
        return _closed(request, closed.reason)
    return _file(drawn.encode(), "image/svg+xml", "chart.svg")


@router.get("/chart.png")
def chart_png(request: Request, state: State, token: str) -> Response:
    """The shared run's chart as PNG."""
    try:
        drawn = _chart(state, _opened(request, state, token))
    except Closed as closed:
        return _closed(request, closed.reason)
    return _file(png(drawn, scale=PNG_SCALE), "image/png", "chart.png")


_UNKNOWN = Reason(
    HTTPStatus.NOT_FOUND,
    "This link opens nothing",
    "It may be incomplete: a link copied from a message often loses its end. Ask whoever sent it for a new one.",
)
_CLOSED = {
    LinkState.EXPIRED: Reason(HTTPStatus.GONE, "This link has expired", "Ask whoever sent it for a new one."),
    LinkState.REVOKED: Reason(
        HTTPStatus.GONE, "This link was revoked", "Whoever made it closed it. Ask them if you need to see it."
    ),
}
_DELETED = Reason(
    HTTPStatus.GONE, "What this link showed was deleted", "The link itself is in order. Ask whoever sent it."
)


def _opened(request: Request, state: AppState, token: str) -> LinkRow:
    """The link of a token. Raises Closed."""
    address = "" if request.client is None else request.client.host
    if wait := state.openings.opened.wait(address):
        raise Closed(_too_often(wait))
    with state.db.read() as session:
        link = link_by_hash(session, token_hash(token))
    if link is None:
        if wait := state.openings.guessed.wait(address):
            raise Closed(_too_often(wait))
        raise Closed(_UNKNOWN)
    if link.state is not LinkState.OPEN:
        raise Closed(_CLOSED[link.state])
    return link


def _too_often(wait: float) -> Reason:
    seconds = math.ceil(wait)
    return Reason(
        HTTPStatus.TOO_MANY_REQUESTS, "Too many requests", f"Try again in {wording.count(seconds, 'second')}.", wait
    )


def _snapshot(state: AppState, link: LinkRow) -> dict[str, Any]:
    with state.db.read() as session:
        snapshot = link_snapshot(session, link.id)
    if snapshot is None:
        raise Closed(_CLOSED[LinkState.REVOKED])
    return snapshot


def _run(state: AppState, link: LinkRow, positions: range) -> SharedRun:
    """The run with its problems at these positions."""
    if link.frozen:
        whole = restored_run(_snapshot(state, link))
        return replace(whole, trajectories=whole.trajectories[positions.start : positions.stop])
    try:
        return shared_run(state.db, link.scope, datetime.now(UTC), positions)
    except NotFoundError as error:
        raise Closed(_DELETED) from error


def _trajectory(state: AppState, link: LinkRow, position: int) -> SharedTrajectory:
    if not link.frozen:
        try:
            return shared_trajectory(state.db, link.scope, position)
        except NotFoundError as error:
            raise Closed(_UNKNOWN) from error
    found = (one for one in restored_run(_snapshot(state, link)).trajectories if one.position == position)
    trajectory = next(found, None)
    if trajectory is None:
        raise Closed(_UNKNOWN)
    return trajectory


def _board(request: Request, state: AppState, link: LinkRow) -> tuple[SharedBoard, BoardQuery]:
    """A page of the board in the order that the reader asks for, with the scope's columns; its rows are the scope's."""
    kept = board_query(link.scope)
    asked = BoardQuery.read(request.query_params)
    sort, ascending = (asked.sort, asked.ascending) if "sort" in request.query_params else (kept.sort, kept.ascending)
    query = BoardQuery(sort=sort, ascending=ascending, columns=kept.columns, page=asked.page)
    if link.frozen:
        whole = _whole_board(state, link)
        return replace(whole, lines=tuple(resorted(whole.lines, query)[query.rows.start : query.rows.stop])), query
    try:
        narrowed = replace(kept, sort=sort, ascending=ascending)
        return shared_board(state.db, narrowed, datetime.now(UTC), query.rows), query
    except NotFoundError as error:
        raise Closed(_DELETED) from error


def _whole_board(state: AppState, link: LinkRow) -> SharedBoard:
    """Every row of the board in the scope's order."""
    if link.frozen:
        return restored_board(_snapshot(state, link))
    try:
        return shared_board(state.db, board_query(link.scope), datetime.now(UTC))
    except NotFoundError as error:
        raise Closed(_DELETED) from error


def _chart(state: AppState, link: LinkRow) -> str:
    if link.scope.run_id is None:
        raise Closed(_UNKNOWN)
    shared = _run(state, link, range(0))
    problem_set = f"{shared.problem_set_name}, version {shared.problem_set_version} ({shared.problem_set_hash[:12]})"
    origin = f"run {shared.run_id}, {shared.seen_at:%Y-%m-%d}"
    return run_chart(shared.figures, shared.protocol, shared.title, problem_set, origin)


def _run_context(shared: SharedRun, page: int) -> dict[str, Any]:
    found = fits.fits_of_run(shared.figures)
    index = found.published
    return {
        "shared": shared,
        "index": index,
        "policy": shared.protocol,
        "figures": shared.figures,
        "fits": found,
        "fitting": fits,
        "chart": charts.decay_chart(index, shared.protocol, (found.careful, found.debugging)),
        "first": (page - 1) * PAGE,
        "next_page": page + 1 if page * PAGE < shared.problems else None,
    }


def _page(request: Request, state: AppState, token: str, link: LinkRow) -> dict[str, Any]:
    address = public_address(request, state, token)
    return {"link": link, "token": token, "address": address, "card": f"{address}/card.png"}


def _closed(request: Request, reason: Reason) -> Response:
    response = render(
        request, "pages/shared_closed.html", {"title": reason.title, "advice": reason.advice}, status_code=reason.status
    )
    if reason.wait:
        response.headers["Retry-After"] = str(math.ceil(reason.wait))
    return _answer(response)


def _file(content: bytes, media_type: str, name: str) -> Response:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return _answer(Response(content, media_type=media_type, headers=disposition))


def _answer(response: Response) -> Response:
    response.headers.update(HEADERS)
    return response
