"""Bringing a database to the current schema."""

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from app.config import ROOT
from app.db.session import Database, storage_errors


def alembic_config() -> Config:
    """The configuration in pyproject.toml."""
    return Config(toml_file=str(ROOT / "pyproject.toml"))


def is_current(database: Database) -> bool:
    """Whether the database has every migration."""
    heads = set(ScriptDirectory.from_config(alembic_config()).get_heads())
    with storage_errors(), database.engine.connect() as connection:
        return set(MigrationContext.configure(connection).get_current_heads()) == heads


def migrate(database: Database) -> None:
    """Apply every migration that is missing. Several processes may do so at once: one works, the others wait.

    Raises StorageError where the database cannot be used.
    """
    if is_current(database):
        return
    config = alembic_config()
    with storage_errors(), database.writer.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
