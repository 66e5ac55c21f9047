"""Logging in to a team's installation, and out of it."""

import math
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from app.web.auth import LOGIN, Door, Session, own_path
from app.web.rendering import render

router = APIRouter()


@router.get(LOGIN)
def login_form(request: Request, next: str = "") -> Response:
    """The form; whoever is logged in goes on."""
    session: Session = request.state.session
    if session.signed_in:
        return RedirectResponse(own_path(next), status_code=303)
    return _form(request, next, None)


@router.post(LOGIN)
def log_in(request: Request, password: Annotated[str, Form()] = "", next: Annotated[str, Form()] = "") -> Response:
    """Check the password and go where the person was going."""
    door: Door = request.state.door
    address = request.client.host if request.client else ""
    if wait := door.failures.wait_seconds(address):
        reason = f"Too many wrong passwords from {address or 'there'}. Try again in {math.ceil(wait / 60)} minutes."
        answer = _form(request, next, reason, 429)
        answer.headers["Retry-After"] = str(math.ceil(wait))
        return answer
    if not door.knows(password):
        door.failures.note(address)
        return _form(request, next, "This is not the password.", 403)
    response = RedirectResponse(own_path(next), status_code=303)
    door.set_cookie(response, Session.new(signed_in=True))
    return response


@router.post("/logout")
def log_out(request: Request) -> Response:
    """Forget this browser's session."""
    door: Door = request.state.door
    response = RedirectResponse(LOGIN, status_code=303)
    door.clear_cookie(response)
    return response


def _form(request: Request, wanted: str, error: str | None, status_code: int = 200) -> Response:
    response = render(request, "pages/login.html", {"next": own_path(wanted), "error": error}, status_code=status_code)
    door: Door = request.state.door
    door.set_cookie(response, request.state.session)
    response.headers["Cache-Control"] = "no-store"
    return response
