"""Models offered and added, on both databases. The words of most refusals are tested with the command line."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select

from app.adapters.vault import Vault
from app.db.models import EndpointKind, ModelEndpoint
from app.db.session import Database
from app.domain.errors import ConflictError, InputError
from app.domain.ports import Sampling
from app.services.manage_endpoints import EndpointRequest, add_endpoint, ensure_repair_search

URL = "http://127.0.0.1:8081/v1"


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault.at(tmp_path / "secret.key")


def stored(database: Database) -> list[ModelEndpoint]:
    with database.read() as session:
        return list(session.scalars(select(ModelEndpoint).order_by(ModelEndpoint.id)))


def key_of(database: Database, vault: Vault, endpoint_id: int) -> str | None:
    with database.read() as session:
        encrypted = session.scalar(select(ModelEndpoint.api_key).where(ModelEndpoint.id == endpoint_id))
    return None if encrypted is None else vault.decrypt(encrypted)


def test_every_field_is_stored(database: Database, vault: Vault) -> None:
    request = EndpointRequest(
        name=" mine ",
        base_url=URL,
        model="qwen",
        api_key="sk-0123456789",
        sampling=Sampling(temperature=None, top_p=0.9, max_tokens=7),
        concurrency=2,
        timeout_seconds=1.5,
        price_input=0.0,
        price_output=2.5,
    )
    endpoint_id = add_endpoint(database, vault, request)
    (row,) = stored(database)
    assert (row.id, row.name, row.kind) == (endpoint_id, "mine", EndpointKind.OPENAI)
    assert (row.base_url, row.model, row.sampling) == (URL, "qwen", request.sampling)
    assert (row.concurrency, row.timeout_seconds, row.price_input, row.price_output) == (2, 1.5, 0.0, 2.5)
    assert key_of(database, vault, endpoint_id) == "sk-0123456789"


@pytest.mark.parametrize(
    ("entered", "kept", "hint"),
    [
        (" sk-0123456789\r\n", "sk-0123456789", "6789"),
        ("0123456789ab", "0123456789ab", "89ab"),
        # Of eleven characters four would be too many to show.
        ("0123456789a", "0123456789a", None),
        ("  ", None, None),
        (None, None, None),
    ],
)
def test_a_key_is_kept_as_it_is_sent(
    database: Database, vault: Vault, entered: str | None, kept: str | None, hint: str | None
) -> None:
    endpoint_id = add_endpoint(database, vault, EndpointRequest("mine", base_url=URL, model="m", api_key=entered))
    assert key_of(database, vault, endpoint_id) == kept
    assert stored(database)[0].key_hint == hint


@pytest.mark.parametrize("key", ["a b\nc", "schlüssel", "\ud800", "\x00"], ids=ascii)
def test_a_key_that_no_header_takes(database: Database, vault: Vault, key: str) -> None:
    with pytest.raises(InputError, match=r"^API key: must be printable ASCII") as raised:
        add_endpoint(database, vault, EndpointRequest("mine", base_url=URL, model="m", api_key=key))
    assert key not in str(raised.value)
    assert stored(database) == []


def test_a_name_is_taken_once(database: Database, vault: Vault) -> None:
    add_endpoint(database, vault, EndpointRequest("mine", base_url=URL, model="m"))
    with pytest.raises(ConflictError, match=r"^name: there is a model called 'mine' already$"):
        add_endpoint(database, vault, EndpointRequest("mine", base_url=URL, model="other"))
    assert [row.model for row in stored(database)] == ["m"]


def test_the_baseline_is_offered_once(database: Database, vault: Vault) -> None:
    start = threading.Barrier(4, timeout=20)

    def offer(_: int) -> None:
        start.wait()
        ensure_repair_search(database, vault)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(offer, range(4)))
    (row,) = stored(database)
    assert (row.name, row.kind, row.price_input, row.price_output) == ("repair-search", "repair-search", 0.0, 0.0)
