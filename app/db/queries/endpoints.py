"""Models as the pages list them. The encrypted key is never loaded, only its hint."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, and_, func, or_, select
from sqlalchemy.orm import Session

from app.db.models import ModelEndpoint, ModelTest, Run
from app.domain.errors import InputError, NotFoundError
from app.domain.ports import Sampling

PAGE = 50


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
    reasoning: bool | None
    has_key: bool
    key_hint: str | None
    created_at: datetime
    archived_at: datetime | None
    runs: int
    test: ModelTest | None


@dataclass(frozen=True, slots=True)
class EndpointPage:
    """Up to fifty models; `next_after` continues behind them, None at the end."""

    rows: tuple[EndpointRow, ...]
    next_after: int | None


def list_endpoints(session: Session, after: int | None = None) -> EndpointPage:
    """Models behind `after` (an id), those in use first and then by name, with how many runs use each.

    Raises InputError where there is no model `after`.
    """
    archived = ModelEndpoint.archived_at.is_not(None)
    query = _endpoints().order_by(archived, ModelEndpoint.name).limit(PAGE + 1)
    if after is not None:
        last = session.execute(select(archived, ModelEndpoint.name).where(ModelEndpoint.id == after)).one_or_none()
        if last is None:
            raise InputError(f"after: there is no model {after}")
        behind = ModelEndpoint.name > last[1]
        query = query.where(and_(archived, behind) if last[0] else or_(archived, behind))
    found = tuple(_rows(session, query))
    return EndpointPage(found[:PAGE], found[PAGE - 1].id if len(found) > PAGE else None)


def endpoint_row(session: Session, endpoint_id: int) -> EndpointRow:
    """One model.

    Raises NotFoundError.
    """
    found = next(_rows(session, _endpoints().where(ModelEndpoint.id == endpoint_id)), None)
    if found is None:
        raise NotFoundError(f"there is no model {endpoint_id}")
    return found


def _endpoints() -> Select[*tuple[Any, ...]]:
    runs = select(func.count()).where(Run.endpoint_id == ModelEndpoint.id).correlate(ModelEndpoint).scalar_subquery()
    latest = (
        select(func.max(ModelTest.id))
        .where(ModelTest.endpoint_id == ModelEndpoint.id)
        .correlate(ModelEndpoint)
        .scalar_subquery()
    )
    return select(ModelEndpoint, ModelEndpoint.api_key.is_not(None), runs, ModelTest).outerjoin(
        ModelTest, ModelTest.id == latest
    )


def _rows(session: Session, query: Select[*tuple[Any, ...]]) -> Iterator[EndpointRow]:
    for endpoint, has_key, runs, test in session.execute(query):
        yield EndpointRow(
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
            reasoning=endpoint.reasoning,
            has_key=has_key,
            key_hint=endpoint.key_hint,
            created_at=endpoint.created_at,
            archived_at=endpoint.archived_at,
            runs=runs,
            test=test,
        )
