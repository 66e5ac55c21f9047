"""Adding a model."""

import pytest
from sqlalchemy import select
from sqlalchemy.orm import undefer

from app.adapters.vault import Vault
from app.db.models import ModelEndpoint
from app.main import SECRET_FILE
from tests.integration.web.conftest import Workshop
from tests.integration.web.test_pages import words

KEY = "sk-0123456789abcdef"


def form(**changes: str) -> dict[str, str]:
    return {
        "name": "codestral",
        "base_url": "http://127.0.0.1:11434/v1",
        "model": "codestral:22b",
        "api_key": KEY,
        "max_tokens": "512",
        "concurrency": "2",
        "timeout_seconds": "60",
        **changes,
    }


def test_a_key_is_stored_encrypted_and_never_shown_again(workshop: Workshop) -> None:
    assert workshop.client.post("/models", data=form()).status_code == 303
    shown = workshop.client.get("/models").text
    assert "••••cdef" in shown
    assert KEY not in shown
    with workshop.database.read() as session:
        row = session.scalars(
            select(ModelEndpoint).where(ModelEndpoint.name == "codestral").options(undefer(ModelEndpoint.api_key))
        ).one()
    assert row.api_key is not None
    assert KEY.encode() not in row.api_key
    assert Vault.at(workshop.home / SECRET_FILE).decrypt(row.api_key) == KEY
    assert (row.price_input, row.sampling.max_tokens, row.concurrency) == (None, 512, 2)


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"name": " "}, "name", "Give the model a name."),
        ({"name": "a\x00b"}, "name", "Must not hold line breaks or control characters."),
        ({"name": "priced"}, "name", "There is a model called 'priced' already."),
        ({"base_url": "ftp://x"}, "base_url", "Must be an http or https address"),
        ({"base_url": "http://user:pass@host/v1"}, "base_url", "Must not hold a user name or password"),
        ({"model": ""}, "model", "Name the model to ask for."),
        ({"temperature": "3"}, "temperature", "Must be between 0 and 2."),
        ({"top_p": "0"}, "top_p", "Must be above 0 and at most 1."),
        ({"max_tokens": "many"}, "max_tokens", "Enter a whole number."),
        ({"price_input": "-1"}, "price_input", "Must not be negative."),
        ({"timeout_seconds": "inf"}, "timeout_seconds", "Enter a number"),
    ],
)
def test_an_error_stands_at_its_field_and_the_key_is_not_sent_back(
    workshop: Workshop, changes: dict[str, str], field: str, message: str
) -> None:
    answer = workshop.client.post("/models", data=form(**changes))
    assert answer.status_code == 422
    assert f'id="{field}-error"' in answer.text
    assert message in words(answer.text)
    assert KEY not in answer.text
    assert 'value="512"' in answer.text or "max_tokens" in changes
    with workshop.database.read() as session:
        assert len(session.scalars(select(ModelEndpoint)).all()) == 2
