"""Uploaded recordings: imported once by an execute worker, whatever becomes of the first one."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.orm import undefer

from app.db.models import RecordingImport, Run
from app.domain.errors import ConflictError, InputError, NotFoundError
from app.domain.ports import Execution, ExecutionOutcome
from app.services.chores import Chores
from app.services.import_recording import RecordingRequest
from app.services.judge_program import CachedJudge
from app.services.remove_recording import remove_recording
from app.services.upload_recording import cancel_recording, perform_recording, submit_recording
from tests.fixtures.engine import Engine, store_problems

PROGRAMS = [f"def add(a, b):\n    return a + b + {n}\n" for n in (2, 1, 0)]
RECORD = {
    "task_id": "a",
    "given_tests": ["assert add(1, 2) == 3"],
    "implementations": PROGRAMS,
    "test_feedback": [["assert add(1, 2) == 3"], ["assert add(1, 2) == 3"], []],
    "is_passing": True,
    "is_solved": True,
}
FILE = json.dumps(RECORD).encode()


class Uploads:
    """An execute worker's imports; `before` is called ahead of each execution, of which there have been `executed`."""

    def __init__(self, engine: Engine) -> None:
        self.database = engine.database
        self.problem_set = store_problems(engine.database, engine.sandbox, ["a", "b"])
        self.before: Callable[[], object] = lambda: None
        self.stopping = False
        self.executed = 0
        self._real = engine.sandbox
        self.name, self.memory_tier = engine.sandbox.name, engine.sandbox.memory_tier
        judge = CachedJudge(engine.database, self)
        self.chores = Chores(
            engine.database,
            RecordingImport,
            lambda claim: perform_recording(engine.database, claim, judge, slots=1, stopping=lambda: self.stopping),
            tries=3,
            lease_seconds=30.0,
        )

    def run(self, execution: Execution, **options: Any) -> ExecutionOutcome:
        self.before()
        self.executed += 1
        return self._real.run(execution, **options)

    def close(self) -> None:
        """The real sandbox is the whole suite's."""

    def submit(self, upload: bytes = FILE, **options: Any) -> int:
        request = {"format": "ldb", "model": "own", "attempts": 3, "re_execute": True, **options}
        return submit_recording(
            self.database, upload, RecordingRequest(problem_set_id=self.problem_set, **request), file_name="own.jsonl"
        )

    def row(self, import_id: int) -> RecordingImport:
        with self.database.read() as session:
            return session.get_one(RecordingImport, import_id, options=[undefer(RecordingImport.upload)])

    def runs(self) -> int:
        with self.database.read() as session:
            return session.scalar(select(func.count()).select_from(Run)) or 0


@pytest.fixture
def uploads(engine: Engine) -> Uploads:
    return Uploads(engine)


def test_a_file_becomes_a_run_and_is_forgotten(uploads: Uploads) -> None:
    import_id = uploads.submit()
    assert (uploads.row(import_id).upload, uploads.chores.due(), uploads.runs()) == (FILE, 1, 0)
    assert uploads.chores.perform_next()
    row = uploads.row(import_id)
    assert (row.error, row.upload, row.done, row.total) == (None, None, 3, 3)
    assert row.report is not None
    assert (row.report["run"], row.report["solved_at_attempt"], row.report["n"]) == (row.run_id, [0, 0, 1], 1)
    # The same file again names the run that there is, and judges nothing.
    again = uploads.submit()
    uploads.chores.perform_next()
    assert (uploads.row(again).run_id, uploads.runs(), uploads.executed) == (row.run_id, 1, 3)
    assert row.run_id is not None
    remove_recording(uploads.database, row.run_id)
    with uploads.database.read() as session:  # what led to a removed run went with it
        assert session.scalar(select(func.count()).select_from(RecordingImport)) == 0


def test_another_worker_goes_on_where_one_died(uploads: Uploads) -> None:
    import_id = uploads.submit()

    def die() -> None:
        if uploads.executed == 2:
            with uploads.database.write() as session:  # as if its lease had run out under a killed process
                session.execute(update(RecordingImport).values(lease_expires_at=None, lease_number=1))
            uploads.before = lambda: None
            raise KeyboardInterrupt

    uploads.before = die
    with pytest.raises(KeyboardInterrupt):
        uploads.chores.perform_next()
    assert (uploads.runs(), uploads.row(import_id).finished_at) == (0, None)
    assert uploads.chores.perform_next()
    row = uploads.row(import_id)
    assert (row.error, uploads.runs()) == (None, 1)


def test_a_worker_that_stops_gives_it_back_with_what_it_judged(uploads: Uploads) -> None:
    import_id = uploads.submit()
    uploads.stopping = True
    assert uploads.chores.perform_next()
    assert (uploads.row(import_id).finished_at, uploads.chores.due()) == (None, 1)
    uploads.stopping = False
    assert uploads.chores.perform_next()
    assert uploads.row(import_id).error is None


def test_cancelling_stores_nothing(uploads: Uploads) -> None:
    import_id = uploads.submit()
    uploads.before = lambda: cancel_recording(uploads.database, import_id) if uploads.executed == 0 else None
    assert uploads.chores.perform_next()
    row = uploads.row(import_id)
    assert (row.error, row.upload, uploads.runs()) == ("cancelled", None, 0)
    with pytest.raises(ConflictError, match="is finished already"):
        cancel_recording(uploads.database, import_id)
    with pytest.raises(NotFoundError):
        cancel_recording(uploads.database, 99)


def test_what_is_wrong_with_a_file_ends_its_import_with_the_reason(uploads: Uploads) -> None:
    for upload, reason in (
        (b"\xff", "line 1: the file is not UTF-8 text (byte 0xff)"),
        (b" \n", "the file is empty"),
        (json.dumps({**RECORD, "task_id": "z"}).encode(), "line 1: the set has no problem 'z'"),
        (
            json.dumps({**RECORD, "is_solved": "\0"}).encode(),
            "line 1: field 'is_solved' must be a boolean, not a string",
        ),
    ):
        import_id = uploads.submit(upload)
        assert uploads.chores.perform_next()
        assert (uploads.row(import_id).error, uploads.runs()) == (reason, 0)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"upload": b""}, "file: choose a file that is not empty"),
        ({"format": "yaml"}, "format: choose one of halflife, ldb, outcomes, tree"),
        ({"model": " "}, "model: name the model, since the recording does not"),
        ({"model": "a\nb"}, "model: must not hold line breaks or control characters"),
        ({"attempts": 51}, "attempts: must be between 1 and 50"),
        ({"format": "outcomes"}, "re-execute: recordings of this format hold no programs"),
    ],
)
def test_what_is_refused_at_once(uploads: Uploads, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError) as refused:
        uploads.submit(**options)
    assert str(refused.value) == reason
    assert uploads.chores.due() == 0
