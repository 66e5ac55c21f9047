"""Models as the page lists them. The encrypted key is never loaded, only its hint."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.db.models import ModelEndpoint, Run
from app.domain.ports import Sampling


@dataclass(frozen=True, slots=True)
class EndpointRow:
    """A model configuration. `has_key` without `key_hint` is a key too short to show a part of."""

    id: int
    name: str
    kind: str
    base_url: str | None
    model: str | None
    sampling: Sampling
    concurrency: int
    timeout_seconds: float
    price_input: float | None
    price_output: float | None
    has_key: bool
    key_hint: str | None
    created_at: datetime
    runs: int


def list_endpoints(session: Session) -> list[EndpointRow]:
    """Every model by name, with how many runs use it."""
    runs = select(func.count()).where(Run.endpoint_id == ModelEndpoint.id).correlate(ModelEndpoint).scalar_subquery()
    rows = session.execute(select(ModelEndpoint, ModelEndpoint.api_key.is_not(None), runs).order_by(ModelEndpoint.name))
    return [
        EndpointRow(
            id=endpoint.id,
            name=endpoint.name,
            kind=endpoint.kind,
            base_url=endpoint.base_url,
            model=endpoint.model,
            sampling=endpoint.sampling,
            concurrency=endpoint.concurrency,
            timeout_seconds=endpoint.timeout_seconds,
            price_input=endpoint.price_input,
            price_output=endpoint.price_output,
            has_key=has_key,
            key_hint=endpoint.key_hint,
            created_at=endpoint.created_at,
            runs=count,
        )
        for endpoint, has_key, count in rows
    ]
