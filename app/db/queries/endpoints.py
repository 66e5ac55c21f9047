"""Models as the pages list them. The encrypted key is never loaded, only its hint."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.db.models import ModelEndpoint, ModelTest, Run
from app.domain.errors import NotFoundError
from app.domain.ports import Sampling


@dataclass(frozen=True, slots=True)
class EndpointRow:
    """A model configuration. `has_key` without `key_hint` is a key too short to show a part of.

    `test` is its latest one.
    """

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
    archived_at: datetime | None
    runs: int
    test: ModelTest | None


def list_endpoints(session: Session, *, only: int | None = None) -> list[EndpointRow]:
    """Every model, those in use first and then by name, with how many runs use it; `only` the one of this id."""
    runs = select(func.count()).where(Run.endpoint_id == ModelEndpoint.id).correlate(ModelEndpoint).scalar_subquery()
    latest = (
        select(func.max(ModelTest.id))
        .where(ModelTest.endpoint_id == ModelEndpoint.id)
        .correlate(ModelEndpoint)
        .scalar_subquery()
    )
    query = (
        select(ModelEndpoint, ModelEndpoint.api_key.is_not(None), runs, ModelTest)
        .outerjoin(ModelTest, ModelTest.id == latest)
        .order_by(ModelEndpoint.archived_at.is_not(None), ModelEndpoint.name)
    )
    if only is not None:
        query = query.where(ModelEndpoint.id == only)
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
            archived_at=endpoint.archived_at,
            runs=count,
            test=test,
        )
        for endpoint, has_key, count, test in session.execute(query)
    ]


def endpoint_row(session: Session, endpoint_id: int) -> EndpointRow:
    """One model.

    Raises NotFoundError.
    """
    found = list_endpoints(session, only=endpoint_id)
    if not found:
        raise NotFoundError(f"there is no model {endpoint_id}")
    return found[0]
