"""Uploading a problem set: the form, and the page of an import from the waiting file to its report."""

from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, Response, UploadFile
from fastapi.responses import RedirectResponse

from app.datasets.registry import KNOWN
from app.db.queries.problem_sets import problem_import
from app.domain.errors import InputError
from app.domain.work import WorkerKind
from app.services.upload_problem_set import cancel_import, submit_import
from app.web.deps import AppState, RowId, State
from app.web.forms import FieldErrors
from app.web.rendering import render

router = APIRouter(prefix="/problem-sets")

_FIELDS = {"file": "file", "tests": "tests", "format": "format", "name": "name", "licence": "licence"}


@router.get("/new")
def upload_form(request: Request) -> Response:
    """The empty form."""
    return _form_page(request, dict.fromkeys(_FIELDS.values(), ""), FieldErrors())


@router.post("/imports")
def upload(
    request: Request,
    state: State,
    file: Annotated[UploadFile | str, File()] = "",
    tests: Annotated[UploadFile | str, File()] = "",
    format: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
    licence: Annotated[str, Form()] = "",
) -> Response:
    """Queue the file and go to its import's page, or show the form again with what is wrong."""
    errors = FieldErrors()
    content, file_name = (b"", "") if isinstance(file, str) else (file.file.read(), file.filename or "")
    apart = b"" if isinstance(tests, str) else tests.file.read()
    try:
        import_id = submit_import(
            state.db, content, file_name=file_name, name=name, format=format, licence=licence, tests=apart
        )
    except InputError as error:
        errors.place(error, _FIELDS)
        typed = {"format": format, "name": name, "licence": licence}
        return _form_page(request, typed, errors, status_code=422)
    state.queue.wake(WorkerKind.EXECUTE)
    return RedirectResponse(_address(import_id), status_code=303)


@router.get("/imports/{import_id}")
def show_import(request: Request, state: State, import_id: RowId) -> Response:
    """The import's page."""
    return render(request, "pages/problem_import.html", _context(state, import_id))


@router.get("/imports/{import_id}/live")
def live_part(request: Request, state: State, import_id: RowId) -> Response:
    """The part of the page that waits for the import's end."""
    return render(request, "partials/problem_import_live.html", _context(state, import_id))


@router.post("/imports/{import_id}/cancel")
def cancel(state: State, import_id: RowId) -> Response:
    """Stop the import; nothing of it is stored."""
    cancel_import(state.db, import_id)
    return RedirectResponse(_address(import_id), status_code=303)


def _context(state: AppState, import_id: int) -> dict[str, Any]:
    with state.db.read() as session:
        row = problem_import(session, import_id)
    return {"row": row, "address": _address(import_id)}


def _form_page(request: Request, typed: dict[str, str], errors: FieldErrors, status_code: int = 200) -> Response:
    context = {"typed": typed, "formats": KNOWN, "errors": errors.messages}
    return render(request, "pages/problem_set_new.html", context, status_code=status_code)


def _address(import_id: int) -> str:
    return f"/problem-sets/imports/{import_id}"
