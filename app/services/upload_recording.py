"""Recordings uploaded in the browser: queued with the file, then read, judged again where asked, and stored.

An execute worker does it. A file that fails leaves nothing behind but the reason, and is forgotten once it is done.
"""

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from app.db.models import ProblemSetRow, RecordingImport
from app.db.session import Database
from app.domain.errors import InputError, LeaseLost, NotFoundError, SandboxError
from app.domain.protocol.policy import MAX_ATTEMPTS
from app.recordings.registry import opened, recording_format
from app.services.chores import ChoreClaim, ChoreProgress, cancel_chore, fail_chore, held_chore
from app.services.import_recording import (
    RecordingReport,
    RecordingRequest,
    check_recording_request,
    import_recording,
)
from app.services.judge_program import CachedJudge
from app.services.upload_problem_set import MAX_UPLOAD_BYTES


def submit_recording(db: Database, upload: bytes, request: RecordingRequest, *, file_name: str) -> int:
    """Queue a file, and return the import's id. The caller wakes the workers afterwards.

    Raises InputError naming the field, NotFoundError for an unknown problem set.
    """
    form = recording_format(request.format)
    if not upload:
        raise InputError("file: choose a file that is not empty")
    if len(upload) > MAX_UPLOAD_BYTES:
        raise InputError(f"file: it is larger than the {MAX_UPLOAD_BYTES // 2**20} MB that can be uploaded")
    if request.attempts is not None and not 1 <= request.attempts <= MAX_ATTEMPTS:
        raise InputError(f"attempts: must be between 1 and {MAX_ATTEMPTS}")
    if request.re_execute and not form.programs:
        raise InputError("re-execute: recordings of this format hold no programs")
    if request.format != "halflife" and request.problem_set_id is None:
        raise InputError("problem set: say which the recording is of")
    if request.format != "halflife" and not request.model.strip():
        raise InputError("model: name the model, since the recording does not")
    file_name = "".join(c for c in file_name if c.isprintable())[:200]
    check_recording_request(request, file_name)
    now = datetime.now(UTC)
    row = RecordingImport(options=asdict(request), file_name=file_name, upload=upload, created_at=now, due_at=now)
    with db.write() as session:
        if request.problem_set_id is not None and session.get(ProblemSetRow, request.problem_set_id) is None:
            raise NotFoundError(f"there is no problem set {request.problem_set_id}")
        session.add(row)
        session.flush()
        return row.id


def cancel_recording(db: Database, import_id: int) -> None:
    """Stop an import; its worker notices at the next program, and stores nothing.

    Raises NotFoundError, ConflictError where it is finished.
    """
    cancel_chore(db, RecordingImport, import_id)


def perform_recording(
    db: Database, claim: ChoreClaim, judge: CachedJudge, *, slots: int, stopping: Callable[[], bool]
) -> None:
    """Read, judge again and store the file of a claimed import; `slots` programs are judged at a time.

    What is wrong with it ends the import with the reason. A worker that is `stopping` gives it back to others, which
    find what it judged in the cache. Raises LeaseLost.
    """
    with db.read() as session:
        row = session.scalars(
            select(RecordingImport).where(RecordingImport.id == claim.id).options(undefer(RecordingImport.upload))
        ).one()
    if row.upload is None:
        raise LeaseLost(f"import {claim.id} was cancelled")

    def note(chore: RecordingImport, done: int, total: int) -> None:
        chore.done, chore.total = done, total

    request = RecordingRequest(**row.options)
    try:
        import_recording(
            db,
            opened(row.upload, recording_format(request.format)),
            request,
            file_name=row.file_name,
            judge=judge,
            slots=slots,
            progress=ChoreProgress(db, RecordingImport, claim, stopping, note),
            stored=lambda *found: _finish(claim, *found),
        )
    except SandboxError as failure:
        fail_chore(db, RecordingImport, claim, f"the sandbox failed, which says nothing about the file: {failure}")
    except (InputError, NotFoundError) as refusal:
        fail_chore(db, RecordingImport, claim, str(refusal))


def _finish(claim: ChoreClaim, session: Session, report: RecordingReport) -> None:
    """Close the import in the very transaction that stores the run: both happen, or neither."""
    row = held_chore(session, RecordingImport, claim)
    row.run_id = report.run
    row.report = asdict(report)
    row.finish(None)
