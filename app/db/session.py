"""One Database a process: its engine, and the two kinds of session.

On SQLite every write session begins IMMEDIATE. A deferred transaction that reads first and writes later
fails at once with "database is locked" when another writer came between; an immediate one waits its turn.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from sqlite3 import SQLITE_BUSY
from sqlite3 import Connection as SqliteConnection
from sqlite3 import OperationalError as SqliteOperationalError
from typing import Any, TypeVar

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    DisconnectionError,
    InterfaceError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from app.domain.errors import InputError, StorageError

T = TypeVar("T")

BUSY_SECONDS = 20
"""How long a writer waits for its turn on SQLite before it gives up; transactions here take milliseconds."""

_POOL: dict[str, Any] = {"pool_size": 20, "max_overflow": 40, "pool_use_lifo": True}
"""A session a thread: 16 threads of a generate worker and two more, or the 40 in which pages are made.

The connection used last is used next: it has the statements that are repeated prepared.
"""
_IDLE_SECONDS = 1.0
"""A connection not used for longer is asked whether it is still alive; asking at every use costs a trip each time."""
_BAD_URL = "HALFLIFE_DATABASE_URL: must be an address such as postgresql+psycopg://user@host/database"


class Database:
    """Owns the engine. `read()` and `write()` open short sessions; nothing else commits.

    What workers do for every attempt goes without the ORM, by `query()` and `transaction()`: at a third of the cost.

    Raises InputError where `url` is no address of a database that can be used.
    """

    def __init__(self, url: str) -> None:
        self.sqlite = url.startswith("sqlite:")
        if not self.sqlite and not url.startswith("postgresql+psycopg:"):
            raise InputError(_BAD_URL)
        try:
            self._open(url)
        except (ArgumentError, ValueError) as error:
            raise InputError(_BAD_URL) from error
        self.writer: Engine = self.engine.execution_options(begin_immediate=True)
        """The same engine; its transactions take SQLite's write lock when they begin."""
        # PostgreSQL shows every statement of a transaction the newest state; beginning one would only cost two trips.
        self._looker = self.engine if self.sqlite else self.engine.execution_options(isolation_level="AUTOCOMMIT")

    def _open(self, url: str) -> None:
        if self.sqlite:
            connect_args = {"timeout": BUSY_SECONDS, "check_same_thread": False}
            self.engine: Engine = create_engine(url, connect_args=connect_args, **_POOL)
            event.listen(self.engine, "connect", _configure_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        else:
            self.engine = create_engine(url, **_POOL)
            event.listen(self.engine, "checkin", _note_use)
            event.listen(self.engine, "checkout", _check_idle)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that is rolled back at its end.

        Raises StorageError where the database cannot be used.
        """
        with storage_errors(), Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session that commits when the block ends, and rolls back when it raises.

        Raises StorageError where the database cannot be used; nothing was written then.
        """
        with storage_errors(), Session(self.writer, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def query(self) -> Iterator[Connection]:
        """A connection for reading.

        Raises StorageError where the database cannot be used.
        """
        with storage_errors(), self._looker.connect() as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection that commits when the block ends, and rolls back when it raises.

        Raises StorageError where the database cannot be used; nothing was written then.
        """
        with storage_errors(), self.writer.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def persistently(act: Callable[[], T], *, seconds: float = 20.0) -> T:
    """Call `act` until the database takes it, for results that would be dear to make again.

    `act` must be safe to repeat, as a fenced write is. Raises the last StorageError after `seconds`.
    """
    deadline = time.monotonic() + seconds
    pause = 0.1
    while True:
        try:
            return act()
        except StorageError:
            if time.monotonic() + pause > deadline:
                raise
            time.sleep(pause)
            pause = min(2 * pause, 2.0)


@contextmanager
def storage_errors() -> Iterator[None]:
    """Turn a driver's complaint about the database itself into a StorageError with plain words."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise StorageError(_plain(error)) from error
    except PoolTimeoutError as error:
        raise StorageError("every connection to the database is in use: try again in a moment") from error
    except DBAPIError as error:
        # SQLite says DatabaseError itself, none of its kinds, for a file that is damaged or no database.
        if error.connection_invalidated or type(error) is DatabaseError:
            raise StorageError(_plain(error)) from error
        raise


def _plain(error: DBAPIError) -> str:
    text = str(error.orig).strip()
    if "database is locked" in text:
        return f"the database is locked: another process has been writing for over {BUSY_SECONDS} s"
    if "disk is full" in text or "No space left" in text:
        return "the disk that holds the database is full: free some space, then try again; nothing was written"
    if "not a database" in text or "malformed" in text:
        return f"the database file is damaged ({text}): put a copy back, or move it away to start anew"
    if "readonly database" in text or "unable to open" in text:
        return f"the database file cannot be opened for writing ({text}): check its folder's permissions"
    return f"the database cannot be used: {text.splitlines()[0] if text else type(error.orig).__name__}"


def _configure_sqlite(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
    assert isinstance(connection, SqliteConnection)  # noqa: S101 — narrows the type; the listener is SQLite's alone
    connection.isolation_level = None  # we send BEGIN ourselves, see _begin_sqlite
    _write_ahead(connection)
    # In WAL mode NORMAL cannot corrupt the file; a power cut may lose the last commits, a killed process none.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _write_ahead(connection: SqliteConnection) -> None:
    # The first to open a new database changes its journal. SQLite lets nobody wait for that change, whatever its
    # timeout says: processes that start at once would fail with "database is locked".
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except SqliteOperationalError as error:
            if error.sqlite_errorcode & 0xFF != SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            return


def _note_use(_connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
    record.info["used"] = time.monotonic()


def _check_idle(connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:
    if time.monotonic() - record.info.get("used", math.inf) > _IDLE_SECONDS:
        try:
            connection.cursor().execute("SELECT 1")
            connection.rollback()
        except psycopg.Error as error:
            raise DisconnectionError from error  # the pool opens another one


def _begin_sqlite(connection: Connection) -> None:
    immediate = connection.get_execution_options().get("begin_immediate", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")
