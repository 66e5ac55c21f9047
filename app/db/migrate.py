"""Bringing a database to the current schema."""

from alembic import command
from alembic.config import Config

from app.config import ROOT
from app.db.session import Database, storage_errors


def alembic_config() -> Config:
    """The configuration in pyproject.toml."""
    return Config(toml_file=str(ROOT / "pyproject.toml"))


def migrate(database: Database) -> None:
    """Apply every migration that is missing.

    Raises StorageError where the database cannot be used.
    """
    config = alembic_config()
    with storage_errors(), database.engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
