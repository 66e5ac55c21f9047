"""The migrations build what the models say, and can be taken back, on both databases."""

from alembic import command
from sqlalchemy import inspect

from app.db.migrate import alembic_config
from app.db.session import Database


def alembic(database: Database, act, *arguments: str) -> None:
    config = alembic_config()
    with database.engine.connect() as connection:
        config.attributes["connection"] = connection
        act(config, *arguments)


def test_models_match_migrations(database):
    alembic(database, command.check)


def test_migrations_go_down_and_up_again(database):
    tables = set(inspect(database.engine).get_table_names())
    alembic(database, command.downgrade, "base")
    assert inspect(database.engine).get_table_names() == ["alembic_version"]
    alembic(database, command.upgrade, "head")
    assert set(inspect(database.engine).get_table_names()) == tables
    alembic(database, command.check)
