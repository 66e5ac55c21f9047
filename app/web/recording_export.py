"""A run as a recording: JSON Lines that `app.recordings.halflife` reads. docs/recordings.md describes them."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

from app.db.models import Attempt, Run, Transcript
from app.db.queries.exports import WholeAttempt, WholeTrajectory, whole_trajectories
from app.db.queries.recordings import imported_run, made_at
from app.db.queries.run import RunHead, run_head
from app.db.session import Database
from app.recordings.halflife import MARK, VERSION
from app.services.import_recording import FACTS_OF_RUN, NO_FACTS
from app.web.documents import discloses, plain

_OF_ATTEMPT = [column.name for column in Attempt.__table__.columns if column.name not in NO_FACTS]
_TEXTS = [column.name for column in Transcript.__table__.columns if column.name not in NO_FACTS]
"""Every other column, whatever a later version adds."""
_OF_RUN = [column.name for column in Run.__table__.columns if column.name in FACTS_OF_RUN]


def recording_lines(db: Database, run_id: int) -> Iterable[bytes]:
    """The run, then a trajectory a line. Raises NotFoundError before it gives the first part."""
    with db.read() as session:
        head = run_head(session, run_id)
        imported = imported_run(session, run_id)
        created_at, finished_at = made_at(session, head.run)
    times = {"created_at": created_at, "finished_at": finished_at}
    notes = [] if imported is None else imported.recording.notes

    def parts() -> Iterator[bytes]:
        with db.read() as session:
            yield _line(_header(head, times, notes))
            for one in whole_trajectories(session, run_id, texts=True):
                yield _line(_trajectory(head, one))

    return parts()


def _header(head: RunHead, times: dict[str, datetime | None], notes: list[str]) -> dict[str, Any]:
    run, problem_set, endpoint = head.run, head.problem_set, head.endpoint
    return {
        MARK: VERSION,
        "run": {name: getattr(run, name) for name in _OF_RUN} | times,
        "protocol": asdict(run.protocol),
        "unknown": run.unknown or [],
        "model": {
            "name": endpoint.name,
            "model": endpoint.model,
            "sampling": asdict(endpoint.sampling),
            "price_input": endpoint.price_input,
            "price_output": endpoint.price_output,
        },
        "problem_set": {
            "name": problem_set.name,
            "version": problem_set.version,
            "content_hash": problem_set.content_hash,
        },
        "notes": notes,
    }


def _trajectory(head: RunHead, one: WholeTrajectory) -> dict[str, Any]:
    trajectory = one.trajectory
    return {
        "problem": one.problem_key,
        "buggy_program": one.buggy_key,
        "sample": trajectory.sample,
        "outcome": trajectory.outcome,
        "outcome_reason": trajectory.outcome_reason,
        "solved_at": trajectory.solved_at,
        "attempts_judged": trajectory.attempts_judged,
        "sandbox_failures": trajectory.sandbox_failures,
        "attempts": [_attempt(head, whole) for whole in one.attempts],
    }


def _attempt(head: RunHead, whole: WholeAttempt) -> dict[str, Any]:
    attempt, transcript = whole.attempt, whole.transcript
    document: dict[str, Any] = {name: getattr(attempt, name) for name in _OF_ATTEMPT}
    program = None
    if transcript is not None:
        document |= {name: getattr(transcript, name) for name in _TEXTS}
        program = transcript.program
        failure = transcript.first_failure
        if failure is not None and not discloses(failure, head.run.protocol.disclosure):
            document["first_failure"] = {"index": failure["index"], "visible": False}
    said = _known(document)
    if head.run.imported_from is not None:
        # Null says that the recording which the run was imported from says nothing.
        said["recorded_verdict"] = attempt.recorded_verdict
    return {"attempt": attempt.attempt_index, "verdict": attempt.verdict, "program": program, **said}


def _known(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value is not None}


def _line(document: dict[str, Any]) -> bytes:
    # ASCII: a program's output may hold lone surrogates, which UTF-8 does not take.
    return (json.dumps(document, default=plain) + "\n").encode("ascii")
