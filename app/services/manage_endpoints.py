"""Adding model endpoints and looking after them."""

import contextlib
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from app.adapters.vault import Vault
from app.db.models import EndpointKind, ModelEndpoint
from app.db.session import Database
from app.domain.errors import ConflictError, InputError
from app.domain.ports import Sampling

REPAIR_SEARCH = "repair-search"
DEFAULT_TIMEOUT_SECONDS = 600.0
"""As the official SDK has it: a small local server answers one request at a time, and others wait in line."""
MAX_CONCURRENCY = 1000


@dataclass(frozen=True, slots=True)
class EndpointRequest:
    """What a person enters. Prices per million tokens, None where unknown."""

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
    script: dict[str, Any] | None = None


def add_endpoint(db: Database, vault: Vault, request: EndpointRequest) -> int:
    """Store an endpoint and return its id.

    Raises InputError naming the field, ConflictError where the name is taken.
    """
    _check(request)
    key = _key(request)
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
        api_key=vault.encrypt(key) if key else None,
        # Four characters of a short key would be most of it.
        key_hint=key[-4:] if len(key) >= 12 else None,
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


def _key(request: EndpointRequest) -> str:
    """The key as it is sent. Copied from elsewhere, it often brings a line end along."""
    return (request.api_key or "").strip()


def _check(request: EndpointRequest) -> None:
    if not request.name.strip():
        raise InputError("name: give the model a name")
    if request.kind is EndpointKind.OPENAI:
        _check_base_url(request.base_url or "")
        if not (request.model or "").strip():
            raise InputError("model: name the model to ask for")
    if not (_key(request).isascii() and _key(request).isprintable()):
        raise InputError("API key: must be printable ASCII characters, on one line")
    if not 1 <= request.concurrency <= MAX_CONCURRENCY:
        raise InputError(f"concurrency: must be between 1 and {MAX_CONCURRENCY}")
    if not 0 < request.timeout_seconds < math.inf:
        raise InputError("timeout: must be a positive number of seconds")
    prices = [price for price in (request.price_input, request.price_output) if price is not None]
    if not all(price >= 0 for price in prices):
        raise InputError("price: must not be negative")
    if math.inf in prices:
        raise InputError("price: must be a finite number")
    sampling = request.sampling
    if sampling.temperature is not None and not 0 <= sampling.temperature <= 2:
        raise InputError("temperature: must be between 0 and 2")
    if sampling.top_p is not None and not 0 < sampling.top_p <= 1:
        raise InputError("top-p: must be above 0 and at most 1")
    if sampling.max_tokens < 1:
        raise InputError("maximum tokens: must be at least 1")


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
