"""Uploaded problem sets: imported once by an execute worker, and nothing but the reason left where that fails."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.orm import undefer

from app.datasets.payload import MAX_BYTES
from app.db.models import ProblemImport, ProblemRow, ProblemSetRow
from app.domain.errors import ConflictError, InputError
from app.domain.ports import Execution, ExecutionOutcome
from app.services.chores import Chores
from app.services.upload_problem_set import cancel_import, perform_import, submit_import
from tests.fixtures.engine import Engine
from tests.unit.datasets.test_pdb import ITEM, TESTS

HALVE = {
    "key": "halve",
    "entry_point": "halve",
    "signature": "def halve(x): ...",
    "reference": "def halve(x):\n    return x / 2\n",
    "cases": [{"arguments": [4], "expected": 2.0}],
    "buggy": [{"key": "double", "source": "def halve(x):\n    return x * 2\n", "bugs": [{}]}],
}
WRONG = {**HALVE, "key": "wrong", "reference": "def halve(x):\n    return x\n", "buggy": []}


def native(*problems: dict[str, Any]) -> bytes:
    return json.dumps({"problems": problems, "licence": "CC0-1.0"}).encode()


class Uploads:
    """An execute worker's imports; `before` is called ahead of each execution."""

    def __init__(self, engine: Engine) -> None:
        self.database = engine.database
        self.before: Callable[[], object] = lambda: None
        self.stopping = False
        self._real = engine.sandbox
        self.name, self.memory_tier = engine.sandbox.name, engine.sandbox.memory_tier
        self.chores = Chores(
            engine.database,
            ProblemImport,
            lambda claim: perform_import(engine.database, claim, self, slots=1, stopping=lambda: self.stopping),
            tries=3,
            lease_seconds=30.0,
        )

    def run(self, execution: Execution, **options: Any) -> ExecutionOutcome:
        self.before()
        return self._real.run(execution, **options)

    def close(self) -> None:
        """The real sandbox is the whole suite's."""

    def submit(self, data: bytes, format: str = "native", **fields: Any) -> int:
        return submit_import(
            self.database, data, **{"file_name": "Halves.json.gz", "name": "", "licence": "", **fields}, format=format
        )

    def row(self, import_id: int) -> ProblemImport:
        with self.database.read() as session:
            query = select(ProblemImport).where(ProblemImport.id == import_id)
            return session.scalars(query.options(undefer(ProblemImport.upload), undefer(ProblemImport.tests))).one()

    def stored(self) -> int:
        with self.database.read() as session:
            counts = [session.scalar(select(func.count()).select_from(table)) for table in (ProblemSetRow, ProblemRow)]
        return sum(count or 0 for count in counts)


@pytest.fixture
def uploads(engine: Engine) -> Uploads:
    return Uploads(engine)


def test_what_is_sound_is_stored_and_the_file_forgotten(uploads: Uploads) -> None:
    import_id = uploads.submit(gzip.compress(native(HALVE, WRONG)), licence="MIT")
    assert uploads.chores.perform_next()
    row = uploads.row(import_id)
    assert (row.error, row.upload, row.tried, row.total) == (None, None, 2, 2)
    assert row.report == {
        "version": 1, "created": True, "problems": 1, "buggy_programs": 1, "rejected": 1, "weak": 0,
    }  # fmt: skip
    with uploads.database.read() as session:
        stored = session.get_one(ProblemSetRow, row.problem_set_id, options=[undefer(ProblemSetRow.report)])
    assert (stored.name, stored.licence, stored.format) == ("halves", "MIT", "native")
    assert [entry["key"] for entry in stored.report["rejected"]] == ["wrong"]
    # The same content again is the same version, not another.
    again = uploads.submit(native(HALVE, WRONG), licence="MIT")
    uploads.chores.perform_next()
    repeated = uploads.row(again)
    assert repeated.problem_set_id == row.problem_set_id
    assert repeated.report is not None
    assert repeated.report["created"] is False


def test_items_whose_tests_are_a_file_of_their_own(uploads: Uploads) -> None:
    items, tests = json.dumps([ITEM]).encode(), json.dumps(TESTS).encode()
    import_id = uploads.submit(items, "pdb", tests=tests)
    assert uploads.chores.perform_next()
    row = uploads.row(import_id)
    assert (row.error, row.upload, row.tests) == (None, None, None)
    assert row.report is not None
    assert (row.report["problems"], row.report["buggy_programs"], row.report["rejected"]) == (1, 1, 0)


def quixbugs_with(path: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(path, "x = 1\n")
    return packed.getvalue()


@pytest.mark.parametrize(
    ("data", "format", "reason"),
    [
        (b"{", "native", "line 1"),
        (native(WRONG), "native", "no problem of halves is sound"),
        (gzip.compress(native(HALVE))[:40], "native", "the gzip stream is truncated"),
        # 256 MB of zeros in a quarter of a megabyte.
        (gzip.compress(bytes(MAX_BYTES + 1), 1), "native", "larger than the"),
        (quixbugs_with("../../outside.py"), "quixbugs", "is not a plain relative path"),
        (b"\xff\xfe\x00", "humaneval", "not UTF-8"),
    ],
    ids=["syntax", "unsound", "truncated", "bomb", "traversal", "binary"],
)
def test_a_file_that_fails_leaves_nothing_but_the_reason(
    uploads: Uploads, data: bytes, format: str, reason: str
) -> None:
    import_id = uploads.submit(data, format)
    assert uploads.chores.perform_next()
    row = uploads.row(import_id)
    assert row.error is not None
    assert reason in row.error
    assert (row.upload, row.problem_set_id, row.due_at) == (None, None, None)
    assert uploads.stored() == 0


def test_a_cancelled_import_stores_nothing(uploads: Uploads) -> None:
    import_id = uploads.submit(native(HALVE))
    uploads.before = lambda: uploads.row(import_id).finished_at or cancel_import(uploads.database, import_id)
    assert uploads.chores.perform_next()
    assert uploads.row(import_id).error == "cancelled"
    assert uploads.stored() == 0
    with pytest.raises(ConflictError):
        cancel_import(uploads.database, import_id)


def test_a_worker_that_stops_leaves_the_import_to_another(uploads: Uploads) -> None:
    import_id = uploads.submit(native(HALVE))
    uploads.stopping = True
    assert uploads.chores.perform_next()
    assert uploads.stored() == 0
    assert uploads.chores.due() == 1
    uploads.stopping = False
    assert uploads.chores.perform_next()
    assert uploads.row(import_id).error is None
    assert uploads.stored() == 2  # a set and its problem


def test_a_file_that_ends_every_worker_is_given_up(uploads: Uploads) -> None:
    import_id = uploads.submit(native(HALVE))
    with uploads.database.write() as session:
        row = session.get_one(ProblemImport, import_id)
        session.execute(update(ProblemImport).values(lease_number=3, lease_expires_at=row.created_at))
    assert not uploads.chores.perform_next()
    row = uploads.row(import_id)
    assert (row.error, row.upload) == ("its worker ended while it was under way", None)
    assert uploads.stored() == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"data": b""}, "file: choose a file"),
        ({"format": "csv"}, "format: choose one of"),
        ({"file_name": "", "name": " "}, "name: give the problem set a name"),
        ({"name": "a\x00b"}, "name: must not hold"),
        ({"licence": "\ud800"}, "licence: must not hold"),
    ],
)
def test_what_is_refused_at_once(uploads: Uploads, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        uploads.submit(**{"data": native(HALVE), **fields})
    assert uploads.chores.due() == 0
