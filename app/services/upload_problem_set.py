"""Problem sets uploaded in the browser: queued with the file, then read, tried and stored by an execute worker.

A file that fails leaves nothing behind but the reason; the file itself is forgotten once its import is finished.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from app.datasets.registry import KNOWN, TESTED_APART, read_problem_set
from app.db.models import ProblemImport
from app.db.session import Database
from app.domain.errors import InputError, LeaseLost, SandboxError
from app.domain.ports import Sandbox
from app.services.chores import ChoreClaim, ChoreProgress, cancel_chore, fail_chore, held_chore
from app.services.import_problem_set import ImportReport, import_problem_set, storable

MAX_UPLOAD_BYTES = 64 * 1024 * 1024
"""As sent. The published sets have 0.1 to 30 MB compressed; `datasets.payload` bounds what they decompress to."""


def submit_import(
    db: Database, upload: bytes, *, file_name: str, name: str, format: str, licence: str, tests: bytes = b""
) -> int:
    """Queue a file, and return the import's id. The caller wakes the workers afterwards.

    An empty `name` is taken from the file's, an empty `licence` from what the file says. `tests` is the file of tests
    of a format that has them apart, and empty for others.
    Raises InputError naming the field.
    """
    if format not in KNOWN:
        raise InputError(f"format: choose one of {', '.join(KNOWN)}")
    if not upload:
        raise InputError("file: choose a file that is not empty")
    if format in TESTED_APART and not tests:
        raise InputError(f"tests: files in the format {format} hold none; choose the file that has them")
    if tests and format not in TESTED_APART:
        raise InputError(f"tests: files in the format {format} hold their tests themselves; leave this empty")
    for field, content in (("file", upload), ("tests", tests)):
        if len(content) > MAX_UPLOAD_BYTES:
            raise InputError(f"{field}: it is larger than the {MAX_UPLOAD_BYTES // 2**20} MB that can be uploaded")
    name = name.strip() or file_name.split(".")[0].strip().lower()
    for field, text in (("name", name), ("licence", licence)):
        if not storable(text) or not text.isprintable():
            raise InputError(f"{field}: must not hold line breaks or control characters")
    if not name:
        raise InputError("name: give the problem set a name")
    now = datetime.now(UTC)
    row = ProblemImport(
        name=name,
        format=format,
        licence=licence.strip() or None,
        file_name="".join(c for c in file_name if c.isprintable())[:200],
        upload=upload,
        tests=tests or None,
        created_at=now,
        due_at=now,
    )
    with db.write() as session:
        session.add(row)
        session.flush()
        return row.id


def cancel_import(db: Database, import_id: int) -> None:
    """Stop an import; its worker notices at the next problem, and stores nothing.

    Raises NotFoundError, ConflictError where it is finished.
    """
    cancel_chore(db, ProblemImport, import_id)


def perform_import(
    db: Database, claim: ChoreClaim, sandbox: Sandbox, *, slots: int, stopping: Callable[[], bool]
) -> None:
    """Read, try and store the file of a claimed import; `slots` problems are tried at a time.

    What is wrong with it ends the import with the reason. A worker that is `stopping` gives it back to others.
    Raises LeaseLost.
    """
    with db.read() as session:
        row = session.scalars(
            select(ProblemImport)
            .where(ProblemImport.id == claim.id)
            .options(undefer(ProblemImport.upload), undefer(ProblemImport.tests))
        ).one()
    if row.upload is None:
        raise LeaseLost(f"import {claim.id} was cancelled")

    def note(chore: ProblemImport, tried: int, total: int) -> None:
        chore.tried, chore.total = tried, total

    progress = ChoreProgress(db, ProblemImport, claim, stopping, note)
    try:
        problem_set = read_problem_set(row.upload, format=row.format, name=row.name, tests=row.tests)
        if row.licence is not None:
            problem_set = replace(problem_set, licence=row.licence)
        progress(0, len(problem_set.problems))
        import_problem_set(
            db, sandbox, problem_set, slots=slots, progress=progress, stored=lambda *found: _finish(claim, *found)
        )
    except SandboxError as failure:
        fail_chore(db, ProblemImport, claim, f"the sandbox failed, which says nothing about the file: {failure}")
    except InputError as refusal:
        fail_chore(db, ProblemImport, claim, str(refusal))


def _finish(claim: ChoreClaim, session: Session, report: ImportReport) -> None:
    """Close the import in the very transaction that stores the set: both happen, or neither."""
    row = held_chore(session, ProblemImport, claim)
    row.problem_set_id = report.problem_set_id
    row.report = {
        "version": report.version,
        "created": report.created,
        "problems": report.problems,
        "buggy_programs": report.buggy_programs,
        "rejected": len(report.rejected),
        "weak": len(report.weak),
    }
    row.finish(None)
