"""Whether this process lives, and whether it can work. Both answer without a login and tell no secret."""

from http import HTTPStatus

from fastapi import APIRouter
from fastapi.responses import JSONResponse, PlainTextResponse

from app.db.migrate import is_current
from app.domain.errors import StorageError
from app.web.deps import State

router = APIRouter()


@router.get("/healthz")
def healthz() -> PlainTextResponse:
    """The process answers. Restart it where it does not."""
    return PlainTextResponse("ok\n")


@router.get("/readyz")
def readyz(state: State) -> JSONResponse:
    """200 where the database has its schema and a wake-up could be sent; else 503 with what is wrong."""
    try:
        database = None if is_current(state.db) else "the schema is not the current one: run `halflife migrate`"
    except StorageError as error:
        database = str(error)
    wrong = {"database": database, "broker": state.queue.reachable()}
    ready = not any(wrong.values())
    return JSONResponse(
        {"ready": ready, **{name: reason or "ok" for name, reason in wrong.items()}},
        HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE,
    )
