"""The application over a migrated database: filled with the example once a session, or nearly empty for each test."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.config import Settings
from app.db.session import Database
from app.main import create_app
from tests.fixtures.example_data import Example, store_example, store_model, store_problem_set
from tests.fixtures.services import PostgresServer

BASE_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Site:
    """The example behind its pages. Tests only read it."""

    client: TestClient
    database: Database
    example: Example


@dataclass(frozen=True)
class Workshop:
    """A site of one test's own, with a problem set of three problems, a model and repair-search."""

    client: TestClient
    database: Database
    home: Path
    problem_set: int
    model: int
    search: int

    def wakes(self) -> list[str]:
        """The wake-ups sent so far, by the names of their files, which hold the queue's."""
        return sorted(path.name for path in (self.home / "queue" / "messages").iterdir())


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("site")
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_template"), home / "halflife.db")
        settings = Settings(home=home)
    else:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        name = server.create(template=request.getfixturevalue("postgres_template"))
        settings = Settings(home=home, database_url=server.url(name))
    database = Database(settings.database)
    example = store_example(database)
    with TestClient(create_app(settings), base_url=BASE_URL) as client:
        yield Site(client, database, example)
    database.close()


@pytest.fixture
def workshop(database: Database, database_url: str, tmp_path: Path) -> Iterator[Workshop]:
    home = tmp_path / "home"
    with database.write() as session:
        problem_set, _ = store_problem_set(session, "Small", 3)
        model = store_model(session, "priced", price=0.2)
        search = store_model(session, "repair-search", kind="repair-search", price=0.0)
        ids = (problem_set.id, model.id, search.id)
    settings = Settings(home=home, database_url=database_url)
    with TestClient(create_app(settings), base_url=BASE_URL, follow_redirects=False) as client:
        yield Workshop(client, database, home, *ids)
