"""A run as a whole, for files: a document that says what it is, and its attempts as rows.

Every table of attempts has `COLUMNS`, whatever its format.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from sqlalchemy import ARRAY, Boolean, String
from sqlalchemy.orm import Session
from sqlalchemy.types import TypeEngine

from app.db.models import (
    Attempt,
    BuggyProgramRow,
    ModelEndpoint,
    ProblemRow,
    ProblemSetRow,
    Run,
    Trajectory,
    Transcript,
)
from app.db.queries.comparison import whole_rows
from app.db.queries.exports import WholeAttempt, WholeTrajectory
from app.db.queries.figures import computed_figures
from app.db.queries.recordings import imported_run, made_at
from app.db.queries.run import RunHead
from app.domain.metrics.figures import METRICS_VERSION
from app.judge.judge import JUDGE_VERSION
from app.services.column_values import mapped_columns
from app.web.board import Line, line_of
from app.web.commands import create_command
from app.web.documents import discloses
from app.web.fits import fits_document, fits_of_run

MEASURED = {
    name: column.type
    for name, column in mapped_columns(Attempt).items()
    if name not in ("id", "trajectory_id", "attempt_index")
}
"""Every other column of an attempt, whatever a later version adds."""
TEXTS = {name: column.type for name, column in mapped_columns(Transcript).items() if name != "attempt_id"}
"""The same of its texts. They stand behind `COLUMNS` where a format has them."""

_OF_RUN = {
    "run": Run.id.type,
    "model": ModelEndpoint.name.type,
    "problem_set": ProblemSetRow.name.type,
    "problem_set_version": ProblemSetRow.version.type,
    "problem_set_hash": ProblemSetRow.content_hash.type,
}
_OF_TRAJECTORY = {
    "trajectory": Trajectory.id.type,
    "position": Trajectory.position.type,
    "sample": Trajectory.sample.type,
    "problem": ProblemRow.key.type,
    "buggy_program": BuggyProgramRow.key.type,
    "outcome": Trajectory.outcome.type,
    "outcome_reason": Trajectory.outcome_reason.type,
    "solved_at": Trajectory.solved_at.type,
    "attempts_judged": Trajectory.attempts_judged.type,
    "sandbox_failures": Trajectory.sandbox_failures.type,
}
_OF_ATTEMPT = {
    "attempt": Attempt.attempt_index.type,
    "attempt_id": Attempt.id.type,
    "counts": Boolean(),
    "superseded_verdicts": ARRAY(String()),
    **MEASURED,
}
COLUMNS: dict[str, TypeEngine[Any]] = {**_OF_RUN, **_OF_TRAJECTORY, **_OF_ATTEMPT}
"""What a row holds, in order, with the type that the database gives it. docs/exports.md describes each."""


def attempt_rows(head: RunHead, one: WholeTrajectory, *, texts: bool = False) -> Iterator[list[Any]]:
    """A row an attempt; a trajectory without any has one all the same, so that no problem is missing."""
    trajectory, problem_set = one.trajectory, head.problem_set
    shared: list[Any] = [
        head.run.id, head.endpoint.name, problem_set.name, problem_set.version, problem_set.content_hash,
        trajectory.id, trajectory.position, trajectory.sample, one.problem_key, one.buggy_key, trajectory.outcome,
        trajectory.outcome_reason, trajectory.solved_at, trajectory.attempts_judged, trajectory.sandbox_failures,
    ]  # fmt: skip
    for whole in one.attempts:
        attempt = whole.attempt
        superseded = [old.verdict for old in whole.superseded] or None
        measured = [getattr(attempt, name) for name in MEASURED]
        said = texts_of(head, whole) if texts else {}
        told = [said.get(name) for name in TEXTS] if texts else []
        yield [*shared, attempt.attempt_index, attempt.id, one.counts(attempt), superseded, *measured, *told]
    if not one.attempts:
        yield shared + [None] * (len(_OF_ATTEMPT) + (len(TEXTS) if texts else 0))


def texts_of(head: RunHead, whole: WholeAttempt) -> dict[str, Any]:
    """The texts of an attempt by name, none where it has none.

    What a failing hidden case asks is left out unless the protocol told the model.
    """
    if whole.transcript is None:
        return {}
    said = {name: getattr(whole.transcript, name) for name in TEXTS}
    failure = whole.transcript.first_failure
    if failure is not None and not discloses(failure, head.run.protocol.disclosure):
        said["first_failure"] = {"index": failure["index"], "visible": False, "disclosed": False}
    return said


def run_document(session: Session, head: RunHead) -> dict[str, Any]:
    """What a run is and what must be said with it: conditions, versions, figures, caveats, and its command."""
    run, problem_set, endpoint = head.run, head.problem_set, head.endpoint
    figures = computed_figures(session, run.id, JUDGE_VERSION)
    imported = imported_run(session, run.id)
    created_at, finished_at = made_at(session, run)
    return {
        "halflife_export": 1,
        "run": {
            **{name: getattr(run, name) for name in mapped_columns(Run) if name != "protocol"},
            "created_at": created_at,
            "finished_at": finished_at,
            "protocol": asdict(run.protocol),
        },
        "model": {
            "name": endpoint.name,
            "kind": endpoint.kind,
            "base_url": endpoint.base_url,
            "model": endpoint.model,
            "sampling": asdict(endpoint.sampling),
            "price_input": endpoint.price_input,
            "price_output": endpoint.price_output,
        },
        "problem_set": {
            "name": problem_set.name,
            "version": problem_set.version,
            "content_hash": problem_set.content_hash,
            "format": problem_set.format,
            "licence": problem_set.licence,
            "source": problem_set.source,
            "problem_count": problem_set.problem_count,
        },
        "versions": {
            "metrics": METRICS_VERSION,
            "prompts": run.prompts_version,
            "judge_of_run": run.judge_version,
            "judge_today": JUDGE_VERSION,
        },
        "cautions": list(run_line(session, head).cautions),
        "notes": [] if imported is None else imported.recording.notes,
        "figures": asdict(figures),
        "fits": fits_document(fits_of_run(figures)),
        "command": create_command(head),
    }


def run_line(session: Session, head: RunHead) -> Line:
    """The run as the row of a board, with its cautions in words."""
    run_id = head.run.id
    return line_of(whole_rows(session, [run_id], JUDGE_VERSION)[run_id], head, None)
