"""Adding a model."""

import pytest
from sqlalchemy import select
from sqlalchemy.orm import undefer

from app.adapters.vault import Vault
from app.db.models import ModelEndpoint, ModelTest
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
        ({"temperature": "3"}, "temperature", "Must be between 0 and 2, not 3."),
        ({"top_p": "0"}, "top_p", "Must be above 0 and at most 1, not 0."),
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


def change(**fields: str) -> dict[str, str]:
    return {"name": "renamed", "concurrency": "7", "timeout_seconds": "60", "price_input": "", **fields}


def stored(workshop: Workshop, model_id: int) -> ModelEndpoint:
    with workshop.database.read() as session:
        query = select(ModelEndpoint).where(ModelEndpoint.id == model_id).options(undefer(ModelEndpoint.api_key))
        return session.scalars(query).one()


def test_a_model_is_changed_and_its_key_kept_replaced_and_removed(workshop: Workshop) -> None:
    address = workshop.client.post("/models", data=form()).headers["location"]
    model_id = int(address.rpartition("/")[2])
    before = stored(workshop, model_id).api_key
    assert workshop.client.post(address, data=change(price_input="0.25", price_output="1")).status_code == 303
    row = stored(workshop, model_id)
    assert (row.name, row.concurrency, row.price_input, row.price_output) == ("renamed", 7, 0.25, 1.0)
    assert (row.api_key, row.key_hint) == (before, "cdef")
    # What decides its replies stays.
    assert (row.base_url, row.model, row.sampling.max_tokens) == ("http://127.0.0.1:11434/v1", "codestral:22b", 512)
    workshop.client.post(address, data=change(api_key="sk-a-new-key-9876"))
    assert stored(workshop, model_id).key_hint == "9876"
    assert "sk-a-new-key" not in workshop.client.get(address).text
    workshop.client.post(address, data=change(remove_key="1"))
    assert (stored(workshop, model_id).api_key, stored(workshop, model_id).key_hint) == (None, None)


def test_a_wrong_change_stands_at_its_field_and_changes_nothing(workshop: Workshop) -> None:
    answer = workshop.client.post(f"/models/{workshop.model}", data=change(name="repair-search", concurrency="0"))
    assert answer.status_code == 422
    assert "Must be between 1 and 1,000." in words(answer.text)
    taken = workshop.client.post(f"/models/{workshop.model}", data=change(name="repair-search"))
    assert "There is a model called 'repair-search' already." in words(taken.text)
    assert stored(workshop, workshop.model).name == "priced"


def test_a_price_that_a_budget_needs_cannot_become_unknown(workshop: Workshop) -> None:
    start = {"problem_set": str(workshop.problem_set), "model": str(workshop.model), "budget_cost": "1"}
    assert workshop.client.post("/runs", data=start).status_code == 303
    answer = workshop.client.post(f"/models/{workshop.model}", data=change(price_output="1"))
    assert answer.status_code == 422
    assert "is under way with a budget in money, which needs both prices" in words(answer.text)
    assert stored(workshop, workshop.model).price_input == 0.2


def test_an_unused_model_is_deleted_and_a_used_one_archived(workshop: Workshop) -> None:
    address = workshop.client.post("/models", data=form()).headers["location"]
    assert workshop.client.post(f"{address}/delete").headers["location"] == "/models"
    assert workshop.client.get(address).status_code == 404
    start = {"problem_set": str(workshop.problem_set), "model": str(workshop.model)}
    assert workshop.client.post("/runs", data=start).status_code == 303
    refused = workshop.client.post(f"/models/{workshop.model}/delete")
    assert refused.status_code == 409
    assert "cannot be deleted; archive it instead" in words(refused.text)
    assert workshop.client.post(f"/models/{workshop.model}/archive").status_code == 303
    assert "priced" not in workshop.client.get("/runs/new").text
    again = workshop.client.post("/runs", data=start)
    assert again.status_code == 422
    assert "Priced is archived; offer it again on its page first." in words(again.text)
    workshop.client.post(f"/models/{workshop.model}/restore")
    assert "priced" in workshop.client.get("/runs/new").text


def test_a_test_is_queued_for_a_generate_worker(workshop: Workshop) -> None:
    sent = workshop.client.post(f"/models/{workshop.model}/tests")
    assert (sent.status_code, sent.headers["location"]) == (303, f"/models/{workshop.model}#test")
    assert [".generate." in name for name in workshop.wakes()] == [True]
    shown = workshop.client.get(f"/models/{workshop.model}").text
    assert "waits for a generate worker" in words(shown)
    assert f'hx-get="/models/{workshop.model}/test"' in shown
    with workshop.database.write() as session:
        test = session.scalars(select(ModelTest)).one()
        test.finish("key refused by http://127.0.0.1:11434 (status 401)")
    part = workshop.client.get(f"/models/{workshop.model}/test").text
    assert "hx-get" not in part
    assert "Does not work Key refused by http://127.0.0.1:11434 (status 401). Enter the key again below." in words(part)


def test_a_model_over_the_api(workshop: Workshop) -> None:
    address = f"/api/models/{workshop.model}"
    terms = {"name": "renamed", "concurrency": 2, "timeout_seconds": 9, "price_input": None, "price_output": 1.5,
             "reasoning": True}  # fmt: skip
    changed = workshop.client.put(address, json={**terms, "api_key": KEY})
    assert changed.status_code == 200
    got = workshop.client.get(address).json()
    assert got == changed.json()
    assert {name: got[name] for name in ("name", "concurrency", "price_input", "price_output", "key_hint", "test")} == {
        "name": "renamed", "concurrency": 2, "price_input": None, "price_output": 1.5, "key_hint": "cdef", "test": None,
    }  # fmt: skip
    assert got["reasoning"] is True
    assert KEY not in changed.text
    assert workshop.client.put(address, json={"name": "x"}).status_code == 400
    queued = workshop.client.post(f"{address}/tests")
    assert (queued.status_code, queued.json()["test"]["finished_at"]) == (202, None)
    assert workshop.client.post(f"{address}/tests").status_code == 409
    assert workshop.client.post(f"{address}/archive").json()["archived_at"] is not None
    assert workshop.client.post(f"{address}/restore").json()["archived_at"] is None
    assert workshop.client.delete(address).status_code == 204
    assert workshop.client.get(address).status_code == 404
