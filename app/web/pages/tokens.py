"""API tokens: made, listed and revoked by people who are logged in."""

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from app.domain.errors import ConflictError, InputError
from app.services.api_tokens import create_token, list_tokens, revoke_token
from app.web.deps import AppState, State
from app.web.forms import FieldErrors
from app.web.rendering import render

router = APIRouter(prefix="/tokens")


@router.get("")
def show_tokens(request: Request, state: State) -> Response:
    """Every token, and the empty form."""
    return _page(request, state)


@router.post("")
def make_token(request: Request, state: State, name: Annotated[str, Form()] = "") -> Response:
    """Make a token and show it, this once."""
    errors = FieldErrors()
    try:
        token = create_token(state.db, name)
    except (InputError, ConflictError) as error:
        errors.place(error, {"name": "name"})
        return _page(request, state, name=name, errors=errors, status_code=422)
    return _page(request, state, made=(name.strip(), token), status_code=201)


@router.post("/revoke")
def revoke(state: State, name: Annotated[str, Form()]) -> Response:
    """Refuse a token from now on."""
    revoke_token(state.db, name)
    return RedirectResponse("/tokens", status_code=303)


def _page(
    request: Request,
    state: AppState,
    *,
    name: str = "",
    errors: FieldErrors | None = None,
    made: tuple[str, str] | None = None,
    status_code: int = 200,
) -> Response:
    context = {
        "tokens": list_tokens(state.db),
        "name": name,
        "errors": {} if errors is None else errors.messages,
        "made": made,
        "address": state.settings.public_url,
    }
    response = render(request, "pages/tokens.html", context, status_code=status_code)
    response.headers["Cache-Control"] = "no-store"
    return response
