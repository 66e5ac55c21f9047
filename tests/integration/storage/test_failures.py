"""Databases that are locked, full, read-only, damaged or away: one plain sentence, and nothing half written."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, func, select

from app.config import ROOT
from app.db import session as session_module
from app.db.models import ExecutionResult
from app.db.session import Database, persistently
from app.domain.errors import InputError, StorageError
from tests.fixtures.example_data import EPOCH
from tests.fixtures.services import PostgresServer

FULL = "the disk that holds the database is full: free some space, then try again; nothing was written"
PAGE = 4096


def row(key: str, size: int = 1) -> ExecutionResult:
    """Any row; `size` bytes of it are ballast that no compression makes smaller."""
    return ExecutionResult(key=key, judgement={"ballast": os.urandom(size).hex()}, created_at=EPOCH)


def write(database: Database, *rows: ExecutionResult) -> None:
    """Store the rows one by one in one transaction."""
    with database.write() as session:
        for one in rows:
            session.add(one)
            session.flush()


def keys(database: Database) -> list[str]:
    with database.read() as session:
        return list(session.scalars(select(ExecutionResult.key).order_by(ExecutionResult.key)))


@pytest.fixture
def file(sqlite_template: Path, tmp_path: Path) -> Path:
    """A migrated SQLite file."""
    copy = tmp_path / "halflife.db"
    copy.write_bytes(sqlite_template.read_bytes())
    return copy


@contextmanager
def opened(file: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{file}")
    try:
        yield database
    finally:
        database.close()


def test_a_new_file_that_another_process_is_making_is_waited_for(tmp_path: Path) -> None:
    # SQLite's own timeout does not hold for the change of journal with which a new file begins.
    file = tmp_path / "new.db"
    with (
        closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as other,
        opened(file) as database,
    ):
        other.execute("BEGIN IMMEDIATE")
        ends = threading.Timer(0.3, other.execute, ["COMMIT"])
        ends.start()
        with database.query() as connection:
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        ends.join()


class TestLocked:
    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(session_module, "BUSY_SECONDS", 0.2)

    def test_a_writer_gives_up_and_has_written_nothing(self, file: Path) -> None:
        with opened(file) as database, closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageError) as raised:
                write(database, row("a"))
            assert str(raised.value) == "the database is locked: another process has been writing for over 0.2 s"
            # Who reads does not wait for who writes.
            assert keys(database) == []
            other.execute("ROLLBACK")
            write(database, row("a"))
            assert keys(database) == ["a"]

    def test_a_new_file_that_stays_locked_is_given_up(self, tmp_path: Path) -> None:
        file = tmp_path / "new.db"
        with opened(file) as database, closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageError, match="the database is locked"):
                keys(database)

    def test_a_writer_that_has_read_first_is_not_overtaken(self, file: Path) -> None:
        with opened(file) as database, closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as other:
            with database.write() as session:
                assert session.scalar(select(func.count()).select_from(ExecutionResult)) == 0
                with pytest.raises(sqlite3.OperationalError, match="locked"):
                    other.execute("BEGIN IMMEDIATE")
                session.add(row("a"))
            assert keys(database) == ["a"]


class TestFull:
    def test_nothing_of_the_transaction_is_written_and_later_ones_work(self, file: Path) -> None:
        pages = file.stat().st_size // PAGE
        limit = [pages + 4]
        with opened(file) as database:

            @event.listens_for(database.engine, "begin")
            def keep_small(connection: Any) -> None:
                connection.exec_driver_sql(f"PRAGMA max_page_count = {limit[0]}")

            write(database, row("before"))
            with pytest.raises(StorageError) as raised:
                write(database, row("a"), row("b", 20 * PAGE))
            assert str(raised.value) == FULL
            assert keys(database) == ["before"]
            limit[0] = pages + 40
            write(database, row("a"), row("b", 20 * PAGE))
            assert keys(database) == ["a", "b", "before"]

    def test_a_file_system_without_space(self, file: Path, tmp_path: Path) -> None:
        script = """
            import os
            ballast = os.path.join(folder, "ballast")
            with open(ballast, "wb", buffering=0) as output:
                try:
                    while output.write(bytes(4096)):
                        pass
                except OSError:
                    pass
            print(json.dumps([attempt("a", 200_000), keys(database)]))
            os.unlink(ballast)
            print(json.dumps([attempt("a", 200_000), keys(database)]))
        """
        size = file.stat().st_size + 1_000_000
        full, freed = in_own_mount(file, tmp_path / "small", f"mount -t tmpfs -o size={size} none", "true", script)
        assert full == [FULL, ["before"]]
        assert freed == [None, ["a", "before"]]


class TestReadOnly:
    def test_a_read_only_file_system(self, file: Path, tmp_path: Path) -> None:
        script = 'print(json.dumps([attempt("a", 1)]))'
        (said,) = in_own_mount(
            file, tmp_path / "fixed", "mount -t tmpfs none", "mount -o remount,ro none", script, written=False
        )
        (message,) = said
        assert message.startswith("the database file cannot be opened for writing (")
        assert message.endswith("): check its folder's permissions")


class TestFiles:
    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with opened(tmp_path / "absent" / "halflife.db") as database, pytest.raises(StorageError) as raised:
            keys(database)
        assert str(raised.value) == (
            "the database file cannot be opened for writing (unable to open database file):"
            " check its folder's permissions"
        )

    def test_a_file_that_is_no_database(self, tmp_path: Path) -> None:
        file = tmp_path / "halflife.db"
        file.write_bytes(b"no database at all, for longer than a header\n" * 100)
        with opened(file) as database, pytest.raises(StorageError, match=r"damaged \(file is not a database\)"):
            keys(database)

    def test_a_file_with_a_damaged_page(self, file: Path) -> None:
        content = bytearray(file.read_bytes())
        content[PAGE:] = b"\xff" * (len(content) - PAGE)
        file.write_bytes(content)
        with opened(file) as database, pytest.raises(StorageError, match="damaged"):
            keys(database)


class TestPostgresqlAway:
    def test_never_there(self, tmp_path: Path) -> None:
        database = Database(f"postgresql+psycopg://somebody:secret-word@/x?host={tmp_path}")
        with pytest.raises(StorageError, match=r"^the database cannot be used: connection") as raised:
            keys(database)
        assert "\n" not in str(raised.value)
        assert "secret-word" not in str(raised.value)
        database.close()

    @pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
    def test_gone_and_back(self, database: Database, postgres_server: PostgresServer) -> None:
        write(database, row("before"))

        def meanwhile() -> None:
            for act in (lambda: write(database, row("lost")), lambda: keys(database)):
                with pytest.raises(StorageError, match=r"^the database cannot be used: "):
                    act()

        postgres_server.restart(meanwhile)
        write(database, row("after"))
        assert keys(database) == ["after", "before"]

    @pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
    def test_restarted_while_connections_were_idle(
        self, database: Database, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(session_module, "_IDLE_SECONDS", 0.0)
        with database.query() as connection:
            connection.execute(select(ExecutionResult.key))
            write(database, row("before"))
        postgres_server.restart()
        # Nobody notices: each of the two connections that the pool still holds is found dead and replaced.
        with database.query() as connection:
            assert connection.scalar(select(func.count(ExecutionResult.key))) == 1
            write(database, row("after"))

    @pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
    def test_gone_in_the_middle_of_a_transaction(self, database: Database, postgres_server: PostgresServer) -> None:
        with pytest.raises(StorageError), database.write() as session:  # noqa: PT012
            session.add(row("lost"))
            session.flush()
            postgres_server.restart()
            session.add(row("lost too"))
            session.flush()
        assert keys(database) == []


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "sqlite",
        "mysql://somebody:secret-word@host/x",
        "postgresql://somebody:secret-word@host/x",
        "postgresql+psycopg://somebody:secret-word@host:port/x",
    ],
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(InputError, match=r"^HALFLIFE_DATABASE_URL: ") as raised:
        Database(url)
    assert "secret-word" not in str(raised.value)


class TestPersistently:
    @pytest.fixture
    def pauses(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        """The pauses made, on a clock that nothing but they moves."""
        made: list[float] = []

        class Clock:
            @staticmethod
            def monotonic() -> float:
                return sum(made)

            @staticmethod
            def sleep(seconds: float) -> None:
                made.append(seconds)

        monkeypatch.setattr(session_module, "time", Clock)
        return made

    def test_tries_until_the_database_takes_it(self, pauses: list[float]) -> None:
        answers: Iterator[Any] = iter([StorageError("locked"), StorageError("locked"), "taken"])

        def act() -> str:
            answer = next(answers)
            if isinstance(answer, StorageError):
                raise answer
            return str(answer)

        assert persistently(act) == "taken"
        assert pauses == [0.1, 0.2]

    @pytest.mark.parametrize(
        ("seconds", "expected"),
        [
            # 0.1 + 0.2 + 0.4 + 0.8 = 1.5, and another 1.6 would end after 3 s.
            (3.0, [0.1, 0.2, 0.4, 0.8]),
            # 3.1 s in doubling pauses, then 2 s each until 19.1 s.
            (20.0, [0.1, 0.2, 0.4, 0.8, 1.6] + [2.0] * 8),
            (0.0, []),
        ],
    )
    def test_gives_up_with_the_last_error(self, pauses: list[float], seconds: float, expected: list[float]) -> None:
        errors: list[StorageError] = []

        def act() -> None:
            errors.append(StorageError(f"failure {len(errors)}"))
            raise errors[-1]

        with pytest.raises(StorageError) as raised:
            persistently(act, seconds=seconds)
        assert raised.value is errors[-1]
        assert pauses == expected
        assert len(errors) == len(expected) + 1

    def test_other_errors_are_not_repeated(self, pauses: list[float]) -> None:
        def act() -> None:
            raise InputError("wrong")

        with pytest.raises(InputError):
            persistently(act)
        assert pauses == []

    def test_a_locked_database_that_is_released(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(session_module, "BUSY_SECONDS", 0.05)
        failures: list[StorageError] = []
        with opened(file) as database, closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")

            def act() -> None:
                try:
                    write(database, row("a"))
                except StorageError as error:
                    failures.append(error)
                    if len(failures) == 2:
                        other.execute("ROLLBACK")
                    raise

            persistently(act)
            assert len(failures) == 2
            assert keys(database) == ["a"]


PRELUDE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from tests.integration.storage.test_failures import keys, row, write
from app.db.session import Database
from app.domain.errors import StorageError
folder = sys.argv[2]
database = Database(f"sqlite:///{folder}/halflife.db")

def attempt(key, size):
    try:
        write(database, row(key, size))
    except StorageError as error:
        return str(error)
    return None
"""


def in_own_mount(
    file: Path, folder: Path, mount: str, afterwards: str, script: str, *, written: bool = True
) -> list[Any]:
    """What `script` prints, a JSON document a line, where `folder` is a file system that holds a copy of `file`.

    The mount exists for the script's process alone, so nothing can be left behind.
    """
    folder.mkdir()
    lines = script.strip("\n").split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    program = PRELUDE + ('write(database, row("before"))\n' if written else "")
    program += "\n".join(line[indent:] for line in lines)
    shell = f'{mount} "$2" && cp "$3" "$2/halflife.db" && cd "$2" && {afterwards} && exec "$4" -c "$5" "$1" "$2"'
    namespace = ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*namespace, "mount", "-t", "tmpfs", "none", folder], capture_output=True).returncode != 0:
        pytest.skip("this machine lets no test mount a file system of its own (unshare --map-root-user --mount)")
    ended = subprocess.run(
        [*namespace, "sh", "-c", shell, "sh", ROOT, folder, file, sys.executable, program],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]
