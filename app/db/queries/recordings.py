"""Imported runs: where they come from, and where our judge says otherwise than the recording."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, select
from sqlalchemy.orm import Session, undefer

from app.db.models import Attempt, BuggyProgramRow, ProblemRow, Recording, RecordingImport, Run, Trajectory
from app.db.queries.labels import trajectory_label
from app.domain.errors import NotFoundError
from app.domain.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An attempt that was judged here, and not as it is recorded. `counts`: its verdict is in the figures."""

    trajectory_id: int
    label: str
    attempt_index: int
    recorded: str
    judged: str
    counts: bool


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """The recording of an imported run, the conditions that it does not say, and where it was judged otherwise."""

    recording: Recording
    unknown: tuple[str, ...]
    disagreements: tuple[Disagreement, ...]


_DISAGREES = and_(
    Attempt.judge_version.is_not(None),
    Attempt.recorded_verdict.is_not(None),
    Attempt.recorded_verdict != Attempt.verdict,
    # A failure of whatever kind is what was recorded.
    ~and_(Attempt.recorded_verdict == Verdict.FAILED, Attempt.verdict != Verdict.AC),
)


def disagreements(session: Session, run_id: int) -> tuple[Disagreement, ...]:
    """Every disagreement of an imported run, in the order of its problems."""
    rows = session.execute(
        select(
            Trajectory.id,
            ProblemRow.key,
            BuggyProgramRow.key,
            Attempt.attempt_index,
            Attempt.recorded_verdict,
            Attempt.verdict,
            Attempt.attempt_index < Trajectory.attempts_judged,
        )
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .outerjoin(BuggyProgramRow, BuggyProgramRow.id == Trajectory.buggy_program_id)
        .where(Trajectory.run_id == run_id, _DISAGREES)
        .order_by(Trajectory.position, Attempt.attempt_index)
    )
    return tuple(
        Disagreement(trajectory, trajectory_label(key, buggy_key), index, recorded or "", judged or "", counts)
        for trajectory, key, buggy_key, index, recorded, judged, counts in rows
    )


def imported_run(session: Session, run_id: int) -> ImportedRun | None:
    """Where a run was imported from, None for one that was made here."""
    row = session.execute(
        select(Recording, Run.unknown)
        .join(Run, Run.id == Recording.run_id)
        .where(Recording.run_id == run_id)
        .options(undefer(Recording.skipped))
    ).one_or_none()
    if row is None:
        return None
    return ImportedRun(row[0], tuple(row[1] or ()), disagreements(session, run_id))


def made_at(session: Session, run: Run) -> tuple[datetime | None, datetime | None]:
    """When a run began and when it ended.

    Both None where its recording tells no time: the run has that of its import instead.
    """
    recorded = select(Recording.imported_at).where(Recording.run_id == run.id)
    if run.imported_from is not None and session.scalar(recorded) == run.created_at:
        return None, None
    return run.created_at, run.finished_at


def recording_import(session: Session, import_id: int) -> RecordingImport:
    """One import, without its file.

    Raises NotFoundError.
    """
    row = session.get(RecordingImport, import_id)
    if row is None:
        raise NotFoundError(f"there is no import {import_id}")
    return row


def latest_imports(session: Session) -> list[RecordingImport]:
    """The last five imports, newest first."""
    return list(session.scalars(select(RecordingImport).order_by(RecordingImport.id.desc()).limit(5)))
