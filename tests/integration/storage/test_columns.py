"""Column types and constraints mean the same on both databases."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, insert, select, text, update
from sqlalchemy.exc import IntegrityError, StatementError

from app.db.base import Json, Packed, UntrustedText, UtcDateTime
from app.db.models import Attempt, ProblemRow, ProblemSetRow
from app.db.session import Database
from tests.fixtures.engine import Engine, addition, store_problems, store_script

HOSTILE = ["", "\x00", "a\x00b", "\ud800", "\udfff\ud800", "\U0001f600\u202e", "</script>\r\n\t\\u0000"]
FOREIGN_KEY = r"(?i)foreign key"
SHEET = Table(
    "sheet",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("words", UntrustedText),
    Column("document", Json),
    Column("packed", Packed),
    Column("at", UtcDateTime),
)


@pytest.fixture
def sheet(database: Database) -> Iterator[Database]:
    """A database with a table of one column a type."""
    SHEET.create(database.engine)
    yield database
    SHEET.drop(database.engine)


def there_and_back(database: Database, column: str, value: Any) -> Any:
    with database.write() as session:
        session.execute(insert(SHEET).values({column: value}))
    with database.read() as session:
        return session.scalar(select(SHEET.c[column]))


@pytest.mark.parametrize("value", [*HOSTILE, None], ids=ascii)
def test_untrusted_text(sheet: Database, value: str | None) -> None:
    assert there_and_back(sheet, "words", value) == value


@pytest.mark.parametrize(
    "value", [{"a\x00": HOSTILE}, HOSTILE, {"n": [1, 2**70, 0.1, True, None]}, {}, [], ""], ids=ascii
)
@pytest.mark.parametrize("column", ["document", "packed"])
def test_json(sheet: Database, column: str, value: Any) -> None:
    assert there_and_back(sheet, column, value) == value


def test_bulky_text_is_kept_small(sheet: Database) -> None:
    with sheet.write() as session:
        session.execute(insert(SHEET).values(packed={"stdout": "line of output\n" * 4000}))
        assert session.scalar(text("SELECT length(packed) FROM sheet")) < 1000


def test_equal_documents_are_equal_text(sheet: Database) -> None:
    with sheet.write() as session:
        session.execute(insert(SHEET), [{"document": {"b": 1, "a": 2}}, {"document": {"a": 2, "b": 1}}])
        assert session.scalars(text("SELECT DISTINCT document FROM sheet")).all() == ['{"a": 2, "b": 1}']


def test_times_are_kept_in_utc(sheet: Database) -> None:
    summer = datetime(2026, 7, 1, 1, 30, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    found = there_and_back(sheet, "at", summer)
    # 01:30 two hours east of Greenwich is 23:30 of the day before in UTC.
    assert found == datetime(2026, 6, 30, 23, 30, 0, 123456, tzinfo=UTC)
    assert found.utcoffset() == timedelta(0)
    with sheet.read() as session:
        raw = session.scalar(text("SELECT CAST(at AS TEXT) FROM sheet"))
    assert raw == "2026-06-30 23:30:00.123456"


def test_a_time_without_zone_is_refused(sheet: Database) -> None:
    with pytest.raises(StatementError, match="a time without zone cannot be stored"):
        there_and_back(sheet, "at", datetime(2026, 7, 1))  # noqa: DTZ001 — the very thing that is refused
    with sheet.read() as session:
        assert session.execute(select(SHEET)).all() == []


def test_foreign_keys_are_enforced(database: Database) -> None:
    orphan = ProblemRow(
        problem_set_id=999,
        position=0,
        key="a",
        title="a",
        language="python",
        test_style="cases",
        tests_hash="0",
        definition=addition("a"),
    )
    with pytest.raises(IntegrityError, match=FOREIGN_KEY), database.write() as session:
        session.add(orphan)
    with database.read() as session:
        assert session.scalars(select(ProblemRow.id)).all() == []


def test_a_problem_set_in_use_cannot_be_removed(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    with pytest.raises(IntegrityError, match=FOREIGN_KEY), engine.database.write() as session:
        session.execute(text("DELETE FROM problem_sets"))
    with engine.database.read() as session:
        assert session.scalars(select(ProblemSetRow.id)).all() == [problems]


@pytest.mark.parametrize(
    ("passed", "run", "total"),
    [(2, 3, 3), (3, 3, 4), (2, 2, 3), (0, 0, 0), (-1, -1, -1), (None, None, None), (None, 3, 3), (3, None, 3)],
    ids=str,
)
def test_accepted_means_every_case(engine: Engine, passed: int | None, run: int | None, total: int | None) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"default": "I do not know."})
    run_id = engine.submit(problems, model, attempts=1)
    engine.drain()
    (trajectory,) = engine.trajectories(run_id)
    counts = {"cases_passed": passed, "cases_run": run, "cases_total": total}
    with pytest.raises(IntegrityError, match="accepted_means_every_case"), engine.database.write() as session:
        session.execute(update(Attempt).values(verdict="AC", **counts))
    (attempt,) = engine.attempts(trajectory.id)
    assert (attempt.verdict, attempt.cases_total) == ("no_code", None)
    # The same counts are nothing to object to under another verdict, nor is AC with every case.
    with engine.database.write() as session:
        session.execute(update(Attempt).values(verdict="WA", **counts))
        session.execute(update(Attempt).values(verdict="AC", cases_passed=3, cases_run=3, cases_total=3))
