"""Shared links: the owner's pages that make, list and revoke them."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel

from app.db.base import LARGEST_ID
from app.db.queries.share import list_links
from app.domain.errors import InputError
from app.domain.sharing import Scope, Shown
from app.services.share_links import revoke_share_link
from app.web.deps import AppState, RowId, State
from app.web.rendering import render
from app.web.security import LOOPBACK_NAMES
from app.web.shared import create_link, scope_title, settled_scope

router = APIRouter(prefix="/share")

EXPIRIES = {"1": "a day", "7": "a week", "30": "30 days", "90": "90 days", "365": "a year", "": "never"}
USUAL_EXPIRY = "30"
SHOWN = {
    Shown.PROMPTS: "Prompts: every message sent to the model, with visible tests and feedback",
    Shown.REPLIES: "Replies of the model",
    Shown.PROGRAMS: "Programs taken from the replies",
    Shown.HIDDEN_TESTS: "Hidden tests: what the failing case asked and expected",
}


class ShareForm(BaseModel):
    """The form as sent."""

    run: str = ""
    board: str = ""
    title: str = ""
    days: str = USUAL_EXPIRY
    kind: str = "frozen"
    shown: list[str] = []


@router.get("")
def list_shared(
    request: Request, state: State, before: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None
) -> Response:
    """Every link, newest first."""
    with state.db.read() as session:
        page = list_links(session, before)
    context = {"page": page, "first_page": before is None, "local": _is_local(state)}
    return render(request, "pages/share_list.html", context)


@router.get("/new")
def new_link(request: Request, state: State, run: str = "", board: str = "") -> Response:
    """The form for a run or a leaderboard."""
    form = ShareForm(run=run, board=board)
    form.title = scope_title(state.db, settled_scope(state.db, _scope(form)))
    return _form_page(request, state, form, None)


@router.post("")
def create(request: Request, state: State, form: Annotated[ShareForm, Form()]) -> Response:
    """Make the link and show it: this is the only page that ever does."""
    try:
        days = int(form.days) if form.days in EXPIRIES and form.days else None
        link_id, token = create_link(state.db, _scope(form), form.title, days, frozen=form.kind != "live")
    except InputError as error:
        return _form_page(request, state, form, str(error), status_code=422)
    context = {"id": link_id, "address": public_address(request, state, token), "local": _is_local(state)}
    return render(request, "pages/share_created.html", context, status_code=201)


@router.post("/{link_id}/revoke")
def revoke(state: State, link_id: RowId) -> Response:
    """Close a link for good."""
    revoke_share_link(state.db, link_id)
    return RedirectResponse("/share", status_code=303)


def public_address(request: Request, state: AppState, token: str) -> str:
    """The address that opens a link."""
    base = state.settings.public_url or str(request.base_url)
    return f"{base.rstrip('/')}/s/{token}"


def _form_page(
    request: Request, state: AppState, form: ShareForm, error: str | None, status_code: int = 200
) -> Response:
    context = {
        "form": form,
        "error": error,
        "expiries": EXPIRIES,
        "texts": SHOWN if form.run else {},
        "local": _is_local(state),
    }
    return render(request, "pages/share_new.html", context, status_code=status_code)


def _scope(form: ShareForm) -> Scope:
    if form.run:
        if not (form.run.isascii() and form.run.isdecimal()) or int(form.run) > LARGEST_ID:
            raise InputError("run: must be the number of a run")
        return Scope(run_id=int(form.run), shown=tuple(one for one in Shown if one in form.shown))
    return Scope(board=form.board.replace("\0", ""))


def _is_local(state: AppState) -> bool:
    """Whether links open on this machine alone."""
    return state.settings.public_url is None and state.settings.host.strip("[]").lower() in LOOPBACK_NAMES
