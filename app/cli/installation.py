"""What every command works on: settings, the migrated database, the keys and the queue."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from app.adapters.queue import Queue, make_celery
from app.adapters.sandbox.opening import open_sandbox
from app.adapters.vault import Vault
from app.config import Settings
from app.db.migrate import migrate
from app.db.session import Database
from app.domain.errors import InputError, StorageError
from app.domain.ports import Sandbox

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@dataclass(frozen=True, slots=True)
class Installation:
    """The opened installation."""

    settings: Settings
    db: Database
    vault: Vault
    queue: Queue


def read_settings() -> Settings:
    """The settings of the environment.

    Raises InputError naming the variables that are wrong.
    """
    try:
        return Settings()
    except ValidationError as error:
        wrong = "; ".join(
            f"HALFLIFE_{str(e['loc'][0]).upper()}: {e['msg']}" if e["loc"] else e["msg"].removeprefix("Value error, ")
            for e in error.errors()
        )
        raise InputError(wrong) from error


@contextmanager
def installation() -> Iterator[Installation]:
    """Open the installation, making and migrating its database where needed.

    Raises InputError, StorageError.
    """
    settings = read_settings()
    try:
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        vault = Vault.of(settings.home, settings.secret_key)
        queue = Queue(make_celery(settings))
    except OSError as error:
        raise StorageError(
            f"{settings.home} cannot be used: {error.strerror}; set HALFLIFE_HOME to a writable folder"
        ) from error
    db = Database(settings.database)
    try:
        migrate(db)
        yield Installation(settings, db, vault, queue)
    finally:
        db.close()


@contextmanager
def sandbox_of(settings: Settings, slots: int | None = None) -> Iterator[Sandbox]:
    """The sandbox of the settings, with their number of slots unless another is given.

    Raises SandboxUnavailable with what to install.
    """
    sandbox = open_sandbox(settings, slots)
    try:
        yield sandbox
    finally:
        sandbox.close()


def emit(document: Any, as_json: bool, text: str) -> None:
    """Print a result: the document as JSON, or its text."""
    # ASCII escapes: a program's output may hold lone surrogates, which no terminal takes.
    sys.stdout.write(json.dumps(document, indent=2) + "\n" if as_json else text.rstrip("\n") + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Print progress or a warning to stderr, where it does not mix with a result."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
