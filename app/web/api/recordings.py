"""Importing recorded runs over the API."""

from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, File, Form, UploadFile
from pydantic import BaseModel

from app.db.base import LARGEST_ID
from app.db.models import RecordingImport
from app.db.queries.recordings import recording_import
from app.domain.protocol.policy import MAX_ATTEMPTS
from app.domain.work import WorkerKind
from app.recordings.registry import FORMATS
from app.services.import_recording import RecordingRequest
from app.services.upload_recording import cancel_recording, submit_recording
from app.web.deps import AppState, RowId, State

router = APIRouter(prefix="/api/recordings", tags=["recordings"])


class FormatOut(BaseModel):
    """A format that recorded runs are read from. `programs`: it holds them, so that they can be judged here."""

    name: str
    reads: str
    programs: bool


class SkippedOut(BaseModel):
    """A record that was left out: where it stands in the recording, and why."""

    place: str
    reason: str


class ReportOut(BaseModel):
    """What an import stored. `created` is false where this very recording was there before, with the same options.

    `solved_at_attempt` is over `n` problems with a verdict; `disagreements` of the `programs` judged here came out
    otherwise than recorded: the run lists them.
    """

    run: int
    created: bool
    model: str
    problems: int
    attempts: int
    n: int
    solved_at_attempt: list[int]
    programs: int
    disagreements: int
    skipped: list[SkippedOut]
    notes: list[str]


class RecordingImportOut(BaseModel):
    """An import: `finished_at` null while it is under way, then with an `error` or with a `report`.

    `done` of `total` programs have been judged again.
    """

    id: int
    format: str
    file_name: str
    created_at: datetime
    finished_at: datetime | None
    done: int
    total: int | None
    error: str | None
    run_id: int | None
    report: ReportOut | None

    @classmethod
    def of(cls, row: RecordingImport) -> Self:
        """From the stored row."""
        report: dict[str, Any] | None = row.report
        return cls(
            id=row.id,
            format=row.options["format"],
            file_name=row.file_name,
            created_at=row.created_at,
            finished_at=row.finished_at,
            done=row.done,
            total=row.total,
            error=row.error,
            run_id=row.run_id,
            report=None if report is None else ReportOut(**report),
        )


@router.get("/formats")
def formats() -> list[FormatOut]:
    """The formats that recorded runs are read from."""
    return [FormatOut(name=name, reads=form.words, programs=form.programs) for name, form in FORMATS.items()]


@router.post("/imports", status_code=202)
def upload(
    state: State,
    file: Annotated[UploadFile, File()],
    format: Annotated[str, Form(json_schema_extra={"enum": list(FORMATS)})],
    problem_set_id: Annotated[int | None, Form(ge=1, le=LARGEST_ID)] = None,
    model: Annotated[str, Form()] = "",
    attempts: Annotated[int | None, Form(ge=1, le=MAX_ATTEMPTS)] = None,
    part: Annotated[str, Form()] = "",
    re_execute: Annotated[bool, Form()] = False,
    skip_broken: Annotated[bool, Form()] = False,
) -> RecordingImportOut:
    """Queue a file of at most 64 MB. Ask for the import until it is finished; then it names the run."""
    request = RecordingRequest(
        format=format,
        problem_set_id=problem_set_id,
        model=model,
        attempts=attempts,
        part=part or None,
        re_execute=re_execute,
        skip_broken=skip_broken,
    )
    import_id = submit_recording(state.db, file.file.read(), request, file_name=file.filename or "")
    state.queue.wake(WorkerKind.EXECUTE)
    return _import(state, import_id)


@router.get("/imports/{import_id}")
def get_import(state: State, import_id: RowId) -> RecordingImportOut:
    """One import."""
    return _import(state, import_id)


@router.post("/imports/{import_id}/cancel")
def cancel(state: State, import_id: RowId) -> RecordingImportOut:
    """Stop an import; nothing of it is stored."""
    cancel_recording(state.db, import_id)
    return _import(state, import_id)


def _import(state: AppState, import_id: int) -> RecordingImportOut:
    with state.db.read() as session:
        return RecordingImportOut.of(recording_import(session, import_id))
