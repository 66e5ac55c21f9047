"""The API as its own schema describes it: whatever is sent, it never fails on its side, and answers as documented."""

from pathlib import Path

import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings, strategies
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance

from app.config import Settings
from app.db.session import Database
from app.main import create_app
from tests.fixtures.example_data import store_example
from tests.integration.web.conftest import BASE_URL

EXAMPLES = 15
"""Requests made up for each operation, the same ones every time."""
HOST = {"Host": "127.0.0.1:8000"}
"""The name by which the server is called; it answers to no other."""


def test_nothing_that_is_sent_is_too_much(database: Database, database_url: str, tmp_path: Path) -> None:
    store_example(database)
    app = create_app(Settings(home=tmp_path / "home", database_url=database_url))
    asked: list[str] = []
    with TestClient(app, base_url=BASE_URL):  # runs the lifespan, which opens what the routes share
        schema = schemathesis.openapi.from_asgi("/api/openapi.json", app, headers=HOST)
        for found in schema.get_all_operations():
            operation = found.ok()

            @given(case=operation.as_strategy(), existing=strategies.booleans())
            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                derandomize=True,
                database=None,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            def send(case: schemathesis.Case, existing: bool) -> None:
                if existing and case.path_parameters:
                    # What numbers are made up names nothing; the example's rows begin at 1.
                    case.path_parameters = dict.fromkeys(case.path_parameters, 1)
                case.call_and_validate(headers=HOST, checks=[not_a_server_error, response_schema_conformance])

            send()
            asked.append(operation.label)
    assert "POST /api/problem-sets/imports" in asked
    assert len(asked) >= 20
