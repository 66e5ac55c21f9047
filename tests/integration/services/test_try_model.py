"""Testing a model: asked once by a generate worker, with what is wrong in words and never the key."""

from pathlib import Path

import pytest
from sqlalchemy import select, update

from app.adapters.vault import Vault
from app.db.models import ModelTest
from app.db.session import Database
from app.domain.errors import ConflictError, InputError
from app.services.chores import Chores
from app.services.manage_endpoints import (
    EndpointChange,
    EndpointRequest,
    add_endpoint,
    change_endpoint,
    delete_endpoint,
    ensure_repair_search,
)
from app.services.try_model import perform_model_test, submit_model_test
from tests.fixtures.chat_server import ChatServer
from workers.wiring import RemoteModels

KEY = "sk-0123456789abcdef"


class Tried:
    """A generate worker's tests over one database."""

    def __init__(self, database: Database, home: Path) -> None:
        self.database = database
        self.vault = Vault.at(home / "secret.key")
        models = RemoteModels(self.vault, None)
        self.chores = Chores(
            database,
            ModelTest,
            lambda claim: perform_model_test(database, claim, models.model_for),
            tries=1,
            lease_seconds=30.0,
        )

    def add(self, model: str, base_url: str) -> int:
        request = EndpointRequest(model, base_url=base_url, model=model, api_key=KEY, timeout_seconds=5)
        return add_endpoint(self.database, self.vault, request)

    def run(self, endpoint: int) -> ModelTest:
        test_id = submit_model_test(self.database, endpoint)
        assert self.chores.perform_next()
        assert not self.chores.perform_next()
        return self.row(test_id)

    def row(self, test_id: int) -> ModelTest:
        with self.database.read() as session:
            return session.scalars(select(ModelTest).where(ModelTest.id == test_id)).one()


@pytest.fixture
def tried(database: Database, tmp_path: Path) -> Tried:
    return Tried(database, tmp_path)


def test_a_model_that_works(tried: Tried, chat_server: ChatServer) -> None:
    test = tried.run(tried.add("normal", chat_server.base_url))
    assert test.error is None
    assert test.answer is not None
    assert test.answer.startswith("served-model said “def f():")
    assert test.answer.endswith("; 7 + 3 tokens.")
    # One request, with the model's own sampling and a tiny answer.
    (body,) = chat_server.bodies
    assert (body["max_tokens"], body["temperature"]) == (16, 0.8)


@pytest.mark.parametrize(
    ("model", "words"),
    [("no-usage", "it does not report tokens, so costs will be unknown."), ("empty-reply", "sent an empty reply")],
)
def test_what_is_odd_about_an_answer_is_said(tried: Tried, chat_server: ChatServer, model: str, words: str) -> None:
    assert words in (tried.run(tried.add(model, chat_server.base_url)).answer or "")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("unauthorized", "key refused by"),
        ("no-such-model", "no such model (no-such-model)"),
        ("html", "answers with HTML: not an OpenAI-compatible API at this address"),
        ("rate-limited", "rate limit of"),
    ],
)
def test_what_is_wrong_is_said_in_words(tried: Tried, chat_server: ChatServer, model: str, words: str) -> None:
    test = tried.run(tried.add(model, chat_server.base_url))
    assert test.answer is None
    assert test.error is not None
    assert words in test.error
    assert KEY not in test.error


def test_a_server_that_is_not_there(tried: Tried) -> None:
    # Port 9 (discard) is not served here.
    assert tried.run(tried.add("absent", "http://127.0.0.1:9/v1")).error == "no connection to http://127.0.0.1:9"


def test_a_replaced_key_is_used_by_the_next_request(tried: Tried, chat_server: ChatServer) -> None:
    endpoint = tried.add("normal", chat_server.base_url)
    tried.run(endpoint)
    terms = EndpointChange("normal", concurrency=1, timeout_seconds=5, price_input=None, price_output=None)
    change_endpoint(tried.database, tried.vault, endpoint, terms)
    tried.run(endpoint)
    changed = EndpointChange("normal", 1, 5, None, None, api_key="sk-another-key-1234")
    change_endpoint(tried.database, tried.vault, endpoint, changed)
    tried.run(endpoint)
    sent = [headers["authorization"] for headers in chat_server.headers]
    assert sent == [f"Bearer {KEY}", f"Bearer {KEY}", "Bearer sk-another-key-1234"]


def test_a_test_whose_worker_died_is_not_asked_again(tried: Tried, chat_server: ChatServer) -> None:
    endpoint = tried.add("normal", chat_server.base_url)
    test_id = submit_model_test(tried.database, endpoint)
    with pytest.raises(ConflictError, match="is being tested already"):
        submit_model_test(tried.database, endpoint)
    with tried.database.write() as session:
        row = session.get_one(ModelTest, test_id)
        session.execute(update(ModelTest).values(lease_number=1, lease_expires_at=row.created_at))
    assert tried.chores.due() == 1
    assert not tried.chores.perform_next()
    assert chat_server.bodies == []
    assert tried.row(test_id).error == "its worker ended while it was under way"


def test_a_program_of_ours_has_no_server_to_test(tried: Tried) -> None:
    ensure_repair_search(tried.database, tried.vault)
    with pytest.raises(InputError, match="there is no server to test"):
        submit_model_test(tried.database, 1)


def test_a_tested_model_can_be_deleted(tried: Tried, chat_server: ChatServer) -> None:
    endpoint = tried.add("normal", chat_server.base_url)
    tried.run(endpoint)
    delete_endpoint(tried.database, endpoint)
    with tried.database.read() as session:
        assert session.scalar(select(ModelTest)) is None
