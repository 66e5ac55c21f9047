"""Tokens in forms, against requests that another site makes a browser send.

Every form that posts gets its token when its template is read, so that none can be forgotten.
"""

import re

from fastapi import HTTPException, Request
from jinja2 import Environment
from jinja2.ext import Extension
from markupsafe import Markup

from app.web.auth import current_form_token
from app.web.security import READING

FIELD = "csrf_token"
HEADER = "X-CSRF-Token"
_FORM = re.compile(r"""<form\b[^>]*\bmethod=["']?post\b[^>]*>""", re.IGNORECASE)
_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")


class FormTokens(Extension):
    """Puts `form_token()` into every form that posts."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        environment.globals.update(form_token=form_token, request_headers=request_headers)

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """The template with the call behind each such tag."""
        return _FORM.sub(lambda form: f"{form[0]}{{{{ form_token() }}}}", source)


def form_token() -> Markup:
    """The hidden field; empty where there is no login."""
    token = current_form_token()
    return Markup("") if token is None else Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, token)


def request_headers() -> Markup:
    """The attribute by which htmx sends the token with what it sends."""
    token = current_form_token()
    return Markup("") if token is None else Markup(' hx-headers=\'{{"{}": "{}"}}\'').format(HEADER, token)


async def require_form_token(request: Request) -> None:
    """Refuse a change without the session's token.

    Requests with an API token need none: no browser adds that by itself.
    """
    session = getattr(request.state, "session", None)
    if session is None or request.method in READING:
        return
    token = request.headers.get(HEADER)
    if token is None and request.headers.get("content-type", "").startswith(_FORM_TYPES):
        # Not closed here: what was uploaded is the route's.
        field = (await request.form()).get(FIELD)
        token = field if isinstance(field, str) else None
    if not request.state.door.accepts_form(session, token or ""):
        raise HTTPException(403, "This form was opened too long ago, or by somebody else. Load its page again.")
