"""Adding model endpoints and looking after them: what decides their replies stays as it is, see docs/decisions/0006."""

import contextlib
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.adapters.addresses import PublicAddresses
from app.adapters.vault import Vault
from app.db.models import EndpointKind, ModelEndpoint, ModelTest, Run, RunStatus
from app.db.session import Database
from app.domain.errors import ConflictError, InputError, NotFoundError
from app.domain.ports import Sampling
from app.domain.protocol.policy import check_sampling

REPAIR_SEARCH = "repair-search"
DEFAULT_TIMEOUT_SECONDS = 600.0
"""As the official SDK has it: a small local server answers one request at a time, and others wait in line."""
MAX_CONCURRENCY = 1000


@dataclass(frozen=True, slots=True)
class EndpointRequest:
    """What a person enters. Prices per million tokens, None where unknown; `reasoning` None where it is not marked."""

    name: str
    kind: EndpointKind = EndpointKind.OPENAI
    base_url: str | None = None
    model: str | None = None
    api_key: str | None = None
    sampling: Sampling = field(default_factory=Sampling)
    concurrency: int = 4
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    price_input: float | None = None
    price_output: float | None = None
    reasoning: bool | None = None
    script: dict[str, Any] | None = None


def add_endpoint(db: Database, vault: Vault, request: EndpointRequest, addresses: PublicAddresses | None = None) -> int:
    """Store an endpoint, whose host must be one of `addresses`, and return its id.

    Raises InputError naming the field, ConflictError where the name is taken.
    """
    _check(request)
    if addresses is not None and request.base_url is not None:
        _check_host(request.base_url, addresses)
    # Copied from elsewhere, a key often brings a line end along.
    api_key, key_hint = _stored_key(vault, (request.api_key or "").strip())
    row = ModelEndpoint(
        name=request.name.strip(),
        kind=request.kind,
        base_url=request.base_url,
        model=request.model,
        sampling=request.sampling,
        concurrency=request.concurrency,
        timeout_seconds=request.timeout_seconds,
        price_input=request.price_input,
        price_output=request.price_output,
        reasoning=request.reasoning,
        api_key=api_key,
        key_hint=key_hint,
        script=request.script,
        created_at=datetime.now(UTC),
    )
    try:
        with db.write() as session:
            session.add(row)
            session.flush()
            return row.id
    except IntegrityError as error:
        raise ConflictError(f"name: there is a model called {request.name!r} already") from error


@dataclass(frozen=True, slots=True)
class EndpointChange:
    """What may change of a stored endpoint. `api_key`: None keeps the key, an empty one removes it."""

    name: str
    concurrency: int
    timeout_seconds: float
    price_input: float | None
    price_output: float | None
    api_key: str | None = None
    reasoning: bool | None = None


def change_endpoint(db: Database, vault: Vault, endpoint_id: int, change: EndpointChange) -> None:
    """Change what does not decide an endpoint's replies; prices hold for requests from now on.

    Raises NotFoundError, InputError naming the field, ConflictError where the name is taken or where a run under way
    has a budget in money and the price would become unknown.
    """
    _check_name(change.name)
    _check_key(change.api_key or "")
    _check_terms(change.concurrency, change.timeout_seconds, change.price_input, change.price_output)
    key = None if change.api_key is None else change.api_key.strip()
    try:
        with db.write() as session:
            row = _locked(session, endpoint_id)
            if change.price_input is None or change.price_output is None:
                _refuse_unknown_price(session, endpoint_id)
            row.name = change.name.strip()
            row.concurrency, row.timeout_seconds = change.concurrency, change.timeout_seconds
            row.price_input, row.price_output = change.price_input, change.price_output
            row.reasoning = change.reasoning
            if key is not None:
                row.api_key, row.key_hint = _stored_key(vault, key)
    except IntegrityError as error:
        raise ConflictError(f"name: there is a model called {change.name!r} already") from error


def delete_endpoint(db: Database, endpoint_id: int) -> None:
    """Delete an endpoint that no run ever used.

    Raises NotFoundError, ConflictError where a run used it: runs must go on saying what they asked.
    """
    try:
        with db.write() as session:
            row = _locked(session, endpoint_id)
            session.execute(delete(ModelTest).where(ModelTest.endpoint_id == endpoint_id))
            session.delete(row)
    except IntegrityError as error:
        raise ConflictError("runs used this model, so it cannot be deleted; archive it instead") from error


def archive_endpoint(db: Database, endpoint_id: int, *, archived: bool) -> None:
    """Offer an endpoint to new runs no more, or again. Runs that use it go on. Raises NotFoundError."""
    with db.write() as session:
        _locked(session, endpoint_id).archived_at = datetime.now(UTC) if archived else None


def ensure_repair_search(db: Database, vault: Vault) -> None:
    """Offer the baseline that needs no key, in every installation."""
    with db.read() as session:
        present = session.scalar(select(ModelEndpoint.id).where(ModelEndpoint.name == REPAIR_SEARCH))
    if present is None:
        baseline = EndpointRequest(
            name=REPAIR_SEARCH, kind=EndpointKind.REPAIR_SEARCH, price_input=0.0, price_output=0.0
        )
        with contextlib.suppress(ConflictError):  # another process offered it meanwhile
            add_endpoint(db, vault, baseline)


def _locked(session: Session, endpoint_id: int) -> ModelEndpoint:
    row = session.scalar(select(ModelEndpoint).where(ModelEndpoint.id == endpoint_id).with_for_update())
    if row is None:
        raise NotFoundError(f"there is no model {endpoint_id}")
    return row


def _refuse_unknown_price(session: Session, endpoint_id: int) -> None:
    run_id = session.scalar(
        select(Run.id).where(
            Run.endpoint_id == endpoint_id,
            Run.status.in_([RunStatus.RUNNING, RunStatus.PAUSED]),
            Run.budget_cost.is_not(None),
        )
    )
    if run_id is not None:
        raise ConflictError(f"price: run {run_id} is under way with a budget in money, which needs both prices")


def _stored_key(vault: Vault, key: str) -> tuple[bytes | None, str | None]:
    """The key encrypted, and its hint: four characters of a short key would be most of it."""
    return vault.encrypt(key) if key else None, key[-4:] if len(key) >= 12 else None


def _check(request: EndpointRequest) -> None:
    _check_name(request.name)
    if request.kind is EndpointKind.OPENAI:
        _check_base_url(request.base_url or "")
        if not (request.model or "").strip():
            raise InputError("model: name the model to ask for")
    _check_key(request.api_key or "")
    _check_terms(request.concurrency, request.timeout_seconds, request.price_input, request.price_output)
    check_sampling(request.sampling.temperature, request.sampling.top_p)
    if request.sampling.max_tokens < 1:
        raise InputError("maximum tokens: must be at least 1")


def _check_name(name: str) -> None:
    if not name.strip():
        raise InputError("name: give the model a name")


def _check_key(key: str) -> None:
    if not (key.strip().isascii() and key.strip().isprintable()):
        raise InputError("API key: must be printable ASCII characters, on one line")


def _check_terms(
    concurrency: int, timeout_seconds: float, price_input: float | None, price_output: float | None
) -> None:
    if not 1 <= concurrency <= MAX_CONCURRENCY:
        raise InputError(f"concurrency: must be between 1 and {MAX_CONCURRENCY}")
    if not 0 < timeout_seconds < math.inf:
        raise InputError("timeout: must be a positive number of seconds")
    prices = [price for price in (price_input, price_output) if price is not None]
    if not all(price >= 0 for price in prices):
        raise InputError("price: must not be negative")
    if math.inf in prices:
        raise InputError("price: must be a finite number")


def _check_host(base_url: str, addresses: PublicAddresses) -> None:
    """To be told at once: what counts is the same check at every connection."""
    parts = urlsplit(base_url)
    try:
        addresses.resolve(parts.hostname or "", parts.port or {"http": 80, "https": 443}[parts.scheme])
    except InputError as error:
        raise InputError(f"base URL: {error}") from error
    except OSError as error:
        raise InputError(f"base URL: no address is known for {parts.hostname}") from error


def _check_base_url(base_url: str) -> None:
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an unfinished IPv6 address, or a port that is no number up to 65535
        usable = False
    if not usable:
        raise InputError("base URL: must be an http or https address, such as http://127.0.0.1:8081/v1")
    if parts.username or parts.password:
        raise InputError("base URL: must not hold a user name or password; give the API key in its own field")
