"""A program tried by hand on a problem's page."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from app.db.models import JobPurpose, JudgingJob
from app.domain.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class TrialView:
    """A trial. Once `finished_at` is set there is a `judgement` (its stored fields), or an `error` of the sandbox's.

    `under_way`: a worker holds it, as far as the database knows. `waiting_for` says what went wrong at the last try.
    """

    id: int
    problem_id: int
    program: dict[str, str]
    created_at: datetime
    finished_at: datetime | None
    under_way: bool
    failures: int
    waiting_for: str | None
    error: str | None
    judgement: dict[str, Any] | None


def trial_view(session: Session, trial_id: int) -> TrialView:
    """One trial.

    Raises NotFoundError.
    """
    row = session.scalar(
        select(JudgingJob)
        .where(JudgingJob.id == trial_id, JudgingJob.purpose == JobPurpose.TRIAL)
        .options(undefer(JudgingJob.program), undefer(JudgingJob.judgement))
    )
    if row is None:
        raise NotFoundError(f"there is no trial {trial_id}")
    return TrialView(
        id=row.id,
        problem_id=row.problem_id,
        program=row.program or {},
        created_at=row.created_at,
        finished_at=row.finished_at,
        under_way=row.lease_expires_at is not None,
        failures=row.failures,
        waiting_for=row.waiting_for,
        error=row.error,
        judgement=row.judgement,
    )
