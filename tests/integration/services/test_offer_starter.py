"""The starter problems come with a new installation, and never a second time."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import select

from app.datasets.native import problem_set
from app.db.models import ProblemSetRow
from app.db.session import Database
from app.domain.errors import SandboxUnavailable
from app.domain.ports import Sandbox
from app.services.offer_starter import offer_starter
from tests.fixtures.engine import store_problems

SMALL = problem_set(
    {
        "problems": [
            {
                "key": "one",
                "entry_point": "one",
                "signature": "def one(): ...",
                "reference": "def one():\n    return 1\n",
                "cases": [{"arguments": [], "expected": 1}],
            }
        ]
    },
    "starter",
)


def versions(database: Database) -> list[tuple[str, int]]:
    with database.read() as session:
        rows = session.execute(select(ProblemSetRow.name, ProblemSetRow.version).order_by(ProblemSetRow.id))
        return [(name, version) for name, version in rows]


def test_offered_once(database: Database, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    # The real ones are imported by the tests of importing.
    monkeypatch.setattr("app.services.offer_starter.starter_set", lambda: SMALL)
    opened: list[Sandbox] = []

    @contextmanager
    def open_sandbox() -> Iterator[Sandbox]:
        opened.append(sandbox)
        yield sandbox

    store_problems(database, sandbox, ["a"], name="other")
    offer_starter(database, open_sandbox, 2)
    offer_starter(database, open_sandbox, 2)
    assert versions(database) == [("other", 1), ("starter", 1)]
    assert len(opened) == 1


def test_without_a_sandbox_nothing_is_stored(database: Database) -> None:
    @contextmanager
    def open_sandbox() -> Iterator[Sandbox]:
        raise SandboxUnavailable("bwrap is not on the PATH")
        yield

    with pytest.raises(SandboxUnavailable):
        offer_starter(database, open_sandbox, 2)
    assert versions(database) == []
