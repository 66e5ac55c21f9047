"""Uploading problem sets over the API."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter, File, Form, UploadFile
from pydantic import BaseModel

from app.datasets.registry import KNOWN
from app.db.models import ProblemImport
from app.db.queries.problem_sets import problem_import
from app.domain.work import WorkerKind
from app.services.upload_problem_set import cancel_import, submit_import
from app.web.deps import AppState, RowId, State

router = APIRouter(prefix="/api/problem-sets/imports", tags=["problem sets"])


class ReportOut(BaseModel):
    """What an import stored. `created` is false where this very content was there before."""

    version: int
    created: bool
    problems: int
    buggy_programs: int
    rejected: int
    weak: int


class ImportOut(BaseModel):
    """An import: `finished_at` null while it is under way, then with an `error` or with a `problem_set_id`."""

    id: int
    name: str
    format: str
    created_at: datetime
    finished_at: datetime | None
    tried: int
    total: int | None
    error: str | None
    problem_set_id: int | None
    report: ReportOut | None

    @classmethod
    def of(cls, row: ProblemImport) -> Self:
        """From the stored row."""
        return cls(
            id=row.id,
            name=row.name,
            format=row.format,
            created_at=row.created_at,
            finished_at=row.finished_at,
            tried=row.tried,
            total=row.total,
            error=row.error,
            problem_set_id=row.problem_set_id,
            report=None if row.report is None else ReportOut(**row.report),
        )


@router.post("", status_code=202)
def upload(
    state: State,
    file: Annotated[UploadFile, File()],
    format: Annotated[str, Form(json_schema_extra={"enum": list(KNOWN)})],
    tests: Annotated[UploadFile | None, File(description="The tests, where the format has them apart.")] = None,
    name: Annotated[str, Form()] = "",
    licence: Annotated[str, Form()] = "",
) -> ImportOut:
    """Queue a file, and of a format that has its tests apart their file too: at most 64 MB together.

    Ask for the import until it is finished.
    """
    import_id = submit_import(
        state.db,
        file.file.read(),
        file_name=file.filename or "",
        name=name,
        format=format,
        licence=licence,
        tests=b"" if tests is None else tests.file.read(),
    )
    state.queue.wake(WorkerKind.EXECUTE)
    return _import(state, import_id)


@router.get("/{import_id}")
def get_import(state: State, import_id: RowId) -> ImportOut:
    """One import."""
    return _import(state, import_id)


@router.post("/{import_id}/cancel")
def cancel(state: State, import_id: RowId) -> ImportOut:
    """Stop an import; nothing of it is stored."""
    cancel_import(state.db, import_id)
    return _import(state, import_id)


def _import(state: AppState, import_id: int) -> ImportOut:
    with state.db.read() as session:
        return ImportOut.of(problem_import(session, import_id))
