"""A person's mark beside the score of a repair: whether it is a valid alternative to the known one."""

from datetime import UTC, datetime

from sqlalchemy import select

from app.db.models import Attempt, RepairAudit, RepairScore, Trajectory
from app.db.session import Database
from app.domain.errors import ConflictError, InputError, NotFoundError
from app.domain.text import has_controls

LONGEST_NOTE = 2_000


def audit_repair(db: Database, run_id: int, attempt_id: int, *, valid_alternative: bool | None, note: str) -> None:
    """Keep, change or (None) take back the mark. No score changes by it.

    Raises NotFoundError for an attempt of another run, ConflictError for a mark of one without a score or that fails
    its tests: nothing that fails is an alternative. InputError for a note that is too long or cannot be kept.
    """
    note = note.replace("\r\n", "\n").strip()
    if len(note) > LONGEST_NOTE:
        raise InputError(f"note: must have at most {LONGEST_NOTE:,} characters, not {len(note):,}")
    if has_controls(note):
        raise InputError("note: must not hold control characters")
    with db.write() as session:
        row = session.execute(
            select(Attempt.id, RepairScore.unit_pass)
            .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
            .outerjoin(RepairScore, RepairScore.attempt_id == Attempt.id)
            .where(Attempt.id == attempt_id, Trajectory.run_id == run_id)
        ).one_or_none()
        if row is None:
            raise NotFoundError(f"run {run_id} has no attempt {attempt_id}")
        audit = session.get(RepairAudit, attempt_id)
        if valid_alternative is None:
            # Also of a repair whose verdict has changed since it was marked.
            if audit is not None:
                session.delete(audit)
            return
        if not row.unit_pass:
            raise ConflictError("only a scored repair that passes all tests can be a valid alternative")
        if audit is None:
            audit = RepairAudit(attempt_id=attempt_id)
            session.add(audit)
        audit.valid_alternative, audit.note, audit.marked_at = valid_alternative, note, datetime.now(UTC)
