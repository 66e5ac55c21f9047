"""Errors in words: what happened, to what, and what to do. Pages answer in HTML, the API in JSON."""

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from app.domain.errors import ConflictError, HalflifeError, InputError, NotFoundError, StorageError
from app.web.rendering import render
from app.web.security import HEADERS
from app.web.text import printable

log = logging.getLogger(__name__)

_STATUS: tuple[tuple[type[HalflifeError], HTTPStatus], ...] = (
    (InputError, HTTPStatus.BAD_REQUEST),
    (NotFoundError, HTTPStatus.NOT_FOUND),
    (ConflictError, HTTPStatus.CONFLICT),
    (StorageError, HTTPStatus.SERVICE_UNAVAILABLE),
)
_TITLES = {
    HTTPStatus.BAD_REQUEST: "That cannot be used",
    HTTPStatus.FORBIDDEN: "Refused",
    HTTPStatus.NOT_FOUND: "Not found",
    HTTPStatus.METHOD_NOT_ALLOWED: "Not possible here",
    HTTPStatus.CONFLICT: "That contradicts what is stored",
    HTTPStatus.SERVICE_UNAVAILABLE: "The database cannot be used right now",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Something failed on our side",
}
_ADVICE = {
    HTTPStatus.BAD_REQUEST: "Go back, correct it, and send it again. Nothing was changed.",
    HTTPStatus.FORBIDDEN: "Go back, load the page again, and send it once more. Nothing was changed.",
    HTTPStatus.NOT_FOUND: "It may have been mistyped. The navigation above leads to everything that exists.",
    HTTPStatus.METHOD_NOT_ALLOWED: "Use the buttons on the pages.",
    HTTPStatus.CONFLICT: "Reload the page to see the current state. Nothing was changed.",
    HTTPStatus.SERVICE_UNAVAILABLE: "Nothing was written. Try again in a moment; if it stays, see the reason above.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Nothing was written. The server's log holds the details.",
}


_WAYS = {
    "runs": "To the runs",
    "leaderboard": "To the leaderboard",
    "problem-sets": "To the problem sets",
    "models": "To the models",
    "share": "To the shared links",
    "tokens": "To the API tokens",
}
"""Where a reader goes on from, by the first part of the address."""


class ErrorOut(BaseModel):
    """What the API answers where it cannot do what was asked."""

    error: str


API_ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorOut, "description": "What was asked cannot be done, and why. Nothing was changed."},
    "5XX": {"model": ErrorOut, "description": "It could not be done now. Nothing was written."},
}
"""For the API's schema."""


def install_error_pages(app: FastAPI) -> None:
    """Register the handlers below."""
    app.add_exception_handler(HalflifeError, _known)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _unexpected)


def error_status(error: HalflifeError) -> HTTPStatus:
    """The status that says what kind of error this is."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def _known(request: Request, error: Exception) -> Response:
    assert isinstance(error, HalflifeError)  # noqa: S101 — narrows the type; the handler is registered for it alone
    status = error_status(error)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("request failed", exc_info=error, extra={"path": request.url.path})
    return _answer(request, status, str(error))


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 — as above
    status = HTTPStatus(error.status_code)
    message = f"{request.method} {request.url.path}: {error.detail}"
    if status is HTTPStatus.NOT_FOUND:
        message = f"there is no page {request.url.path}"
    elif status is HTTPStatus.FORBIDDEN:
        message = error.detail
    response = _answer(request, status, message)
    response.headers.update(error.headers or {})
    return response


def _invalid(request: Request, error: Exception) -> Response:
    """A path or query that is no number names nothing; a body of the API that does not fit is explained by field."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 — as above
    details = error.errors()
    if all(detail["loc"][0] == "path" for detail in details):
        return _answer(request, HTTPStatus.NOT_FOUND, f"there is no page {request.url.path}")
    reasons = "; ".join(f"{'.'.join(str(part) for part in detail['loc'][1:])}: {detail['msg']}" for detail in details)
    return _answer(request, HTTPStatus.BAD_REQUEST, reasons)


def _unexpected(request: Request, _error: Exception) -> Response:
    """The reason goes to the log alone. This answer passes by the middleware, so it sets the headers itself."""
    response = _answer(request, HTTPStatus.INTERNAL_SERVER_ERROR, "The request could not be completed.")
    response.headers.update(HEADERS)
    return response


def _answer(request: Request, status: HTTPStatus, message: str) -> Response:
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": printable(message)}, status_code=status)
    context = {
        "title": _TITLES.get(status, status.phrase),
        "message": message[:1].upper() + message[1:],
        "advice": _ADVICE.get(status, ""),
        "way": _way_on(request.url.path),
    }
    return render(request, "errors/error.html", context, status_code=status)


def _way_on(path: str) -> dict[str, str]:
    """The list that the address belongs to."""
    part = path.split("/")[1]
    name = part if part in _WAYS else "runs"
    return {"href": f"/{name}", "label": _WAYS[name]}
