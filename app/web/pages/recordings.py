"""Importing a recorded run: the form, and the page of an import from the waiting file to its report."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, Response, UploadFile
from fastapi.responses import RedirectResponse

from app.db.models import RecordingImport
from app.db.queries.recordings import latest_imports, recording_import
from app.db.queries.runs import problem_set_choices
from app.domain.errors import InputError, NotFoundError
from app.domain.protocol.policy import MAX_ATTEMPTS
from app.domain.work import WorkerKind
from app.recordings.registry import FORMATS
from app.services.import_recording import RecordingRequest
from app.services.remove_recording import remove_recording
from app.services.upload_recording import cancel_recording, submit_recording
from app.web.deps import AppState, RowId, State
from app.web.forms import FieldErrors
from app.web.rendering import render

router = APIRouter()

_FIELDS = {
    "file": "file",
    "format": "format",
    "problem set": "problem_set",
    "model": "model",
    "attempts": "attempts",
    "part": "part",
    "re-execute": "re_execute",
}


@dataclass(frozen=True, slots=True)
class _Typed:
    """The form as typed."""

    format: str = ""
    problem_set: str = ""
    model: str = ""
    attempts: str = ""
    part: str = ""
    re_execute: bool = False
    skip_broken: bool = False

    def request(self) -> RecordingRequest:
        """What it asks for. Raises InputError naming the field."""
        attempts = self.attempts.strip()
        if attempts and not (attempts.isascii() and attempts.isdigit() and 1 <= int(attempts[:4]) <= MAX_ATTEMPTS):
            raise InputError(f"attempts: must be a whole number from 1 to {MAX_ATTEMPTS}")
        chosen = self.problem_set
        return RecordingRequest(
            format=self.format,
            problem_set_id=int(chosen) if chosen.isascii() and chosen.isdigit() and len(chosen) < 10 else None,
            model=self.model,
            attempts=int(attempts) if attempts else None,
            part=self.part.strip() or None,
            re_execute=self.re_execute,
            skip_broken=self.skip_broken,
        )


@router.get("/recordings/new")
def upload_form(request: Request, state: State, problem_set: str = "") -> Response:
    """The empty form."""
    return _form_page(request, state, _Typed(problem_set=problem_set), FieldErrors())


@router.post("/recordings/imports")
def upload(
    request: Request,
    state: State,
    file: Annotated[UploadFile | str, File()] = "",
    format: Annotated[str, Form()] = "",
    problem_set: Annotated[str, Form()] = "",
    model: Annotated[str, Form()] = "",
    attempts: Annotated[str, Form()] = "",
    part: Annotated[str, Form()] = "",
    re_execute: Annotated[str, Form()] = "",
    skip_broken: Annotated[str, Form()] = "",
) -> Response:
    """Queue the file and go to its import's page, or show the form again with what is wrong."""
    typed = _Typed(format, problem_set, model, attempts, part, bool(re_execute), bool(skip_broken))
    errors = FieldErrors()
    content, file_name = (b"", "") if isinstance(file, str) else (file.file.read(), file.filename or "")
    try:
        import_id = submit_recording(state.db, content, typed.request(), file_name=file_name)
    except (InputError, NotFoundError) as error:
        errors.place(error, _FIELDS)
        return _form_page(request, state, typed, errors, status_code=422)
    state.queue.wake(WorkerKind.EXECUTE)
    return RedirectResponse(_address(import_id), status_code=303)


@router.get("/recordings/imports/{import_id}")
def show_import(request: Request, state: State, import_id: RowId) -> Response:
    """The import's page."""
    return render(request, "pages/recording_import.html", _context(state, import_id))


@router.get("/recordings/imports/{import_id}/live")
def live_part(request: Request, state: State, import_id: RowId) -> Response:
    """The part of the page that waits for the import's end."""
    return render(request, "partials/recording_import_live.html", _context(state, import_id))


@router.post("/recordings/imports/{import_id}/cancel")
def cancel(state: State, import_id: RowId) -> Response:
    """Stop the import; nothing of it is stored."""
    cancel_recording(state.db, import_id)
    return RedirectResponse(_address(import_id), status_code=303)


@router.post("/runs/{run_id}/remove")
def remove(state: State, run_id: RowId) -> Response:
    """Remove an imported run wholly."""
    remove_recording(state.db, run_id)
    return RedirectResponse("/runs", status_code=303)


def _context(state: AppState, import_id: int) -> dict[str, Any]:
    with state.db.read() as session:
        row = recording_import(session, import_id)
    return {"row": row, "address": _address(import_id), "title": _title(row)}


def _title(row: RecordingImport) -> str:
    return str(row.options["model"] or row.file_name or "a recording")


def _form_page(
    request: Request, state: AppState, typed: _Typed, errors: FieldErrors, status_code: int = 200
) -> Response:
    with state.db.read() as session:
        context = {
            "typed": typed,
            "errors": errors.messages,
            "formats": FORMATS,
            "problem_sets": problem_set_choices(session),
            "latest": [(row, _title(row)) for row in latest_imports(session)],
        }
    return render(request, "pages/recording_new.html", context, status_code=status_code)


def _address(import_id: int) -> str:
    return f"/recordings/imports/{import_id}"
