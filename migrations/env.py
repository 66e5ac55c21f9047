"""Runs migrations on the database of the settings, or on the connection that the caller put into the config."""

from typing import Any, Literal

from alembic import context
from sqlalchemy import Connection, text
from sqlalchemy.types import TypeDecorator

from app.config import Settings
from app.db.models import Base
from app.db.session import Database

LOCK_TIMEOUT_MS = 10_000
"""A migration that waits longer for a table than this would stand in everybody's way: it fails instead."""


MIGRATION_LOCK = 7_301_000
"""PostgreSQL advisory lock: one process migrates, others wait and then find nothing to do."""


def render_item(kind: str, item: Any, _context: Any) -> str | Literal[False]:
    """Write our column types as what the database has: a migration must not change when the code does."""
    if kind == "type" and isinstance(item, TypeDecorator):
        return f"sa.{type(item.impl_instance).__name__}()"
    return False


def run(connection: Connection) -> None:
    """Migrate over `connection`, in one transaction."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET lock_timeout = {LOCK_TIMEOUT_MS}")
        connection.commit()
    # SQLite cannot alter a table in place; batch mode copies it.
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=connection.dialect.name == "sqlite",
        compare_server_default=True,
        render_item=render_item,
        # Alembic thinks that SQLite cannot; with our own BEGIN IMMEDIATE it can, and a second migrator waits.
        transactional_ddl=True,
    )
    with context.begin_transaction():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
        context.run_migrations()


def main() -> None:
    """Entry point of every alembic command."""
    given = context.config.attributes.get("connection")
    if given is not None:
        run(given)
        return
    database = Database(Settings().database)
    with database.writer.connect() as connection:
        run(connection)
    database.close()


main()
