"""Several processes that find an empty database: one makes the schema, the others wait and find it made."""

import multiprocessing
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import text

from app.db.migrate import alembic_config, is_current, migrate
from app.db.models import Base
from app.db.session import Database
from app.domain.errors import StorageError
from tests.fixtures.services import PostgresServer

PROCESSES = 4


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Address of a database without any table."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'halflife.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name = server.create()
    yield server.url(name)
    server.drop(name)


def migrate_at_once(url: str, start: Barrier, said: Connection) -> None:
    """In a process of its own: migrate as soon as all the others stand ready, and say how it went."""
    database = Database(url)
    start.wait(60)
    try:
        migrate(database)
        said.send((is_current(database), None))
    except Exception as error:  # noqa: BLE001 — the test's process is to see whatever it was
        said.send((False, repr(error)))
    finally:
        database.close()


def at_once(act: Callable[[str, Barrier, Connection], None], url: str) -> list[tuple[bool, str | None]]:
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(PROCESSES)
    answers = []
    processes = []
    for _ in range(PROCESSES):
        receive, send = context.Pipe(duplex=False)
        process = context.Process(target=act, args=(url, start, send))
        process.start()
        send.close()
        answers.append(receive)
        processes.append(process)
    said = [answer.recv() for answer in answers]
    for process in processes:
        process.join()
    return said


def test_four_processes_at_once(empty_url: str) -> None:
    assert at_once(migrate_at_once, empty_url) == [(True, None)] * PROCESSES
    database = Database(empty_url)
    with database.engine.connect() as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.check(config)  # raises where the tables are not what the models say
        assert len(connection.execute(text("SELECT version_num FROM alembic_version")).all()) == 1
        for table in Base.metadata.tables:
            assert connection.execute(text(f"SELECT count(*) FROM {table}")).scalar() == 0  # noqa: S608
    database.close()


def test_a_second_time_changes_nothing(database: Database) -> None:
    assert is_current(database)
    with database.engine.connect() as connection:
        before = connection.execute(text("SELECT version_num FROM alembic_version")).all()
    migrate(database)
    with database.engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).all() == before


def test_a_database_that_cannot_be_used(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'absent' / 'halflife.db'}")
    with pytest.raises(StorageError, match="cannot be opened for writing"):
        migrate(database)
    database.close()
