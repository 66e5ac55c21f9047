"""Where a model is asked, how, and at what price."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Document, Json, UtcDateTime
from app.domain.ports import Sampling


class EndpointKind(StrEnum):
    """Which adapter answers."""

    OPENAI = "openai"
    REPAIR_SEARCH = "repair-search"
    SCRIPTED = "scripted"
    RECORDED = "recorded"
    """None: its runs were imported, and it cannot be asked."""


class ModelEndpoint(Base):
    """A model configuration under a unique name.

    What decides its replies is never changed: a changed configuration is a new endpoint.

    Prices are per million tokens, None where unknown: a cost is then "unknown", never 0.
    The API key is stored encrypted; only `key_hint`, its last four characters, is ever shown.
    """

    __tablename__ = "model_endpoints"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    base_url: Mapped[str | None]
    model: Mapped[str | None]
    sampling: Mapped[Sampling] = mapped_column(Document(Sampling))
    concurrency: Mapped[int]
    timeout_seconds: Mapped[float]
    price_input: Mapped[float | None]
    price_output: Mapped[float | None]
    reasoning: Mapped[bool | None]
    """Whether it reasons before it answers, as somebody marked it; None where nobody did. Tables are split by it."""
    api_key: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    key_hint: Mapped[str | None]
    script: Mapped[dict[str, Any] | None] = mapped_column(Json, deferred=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    archived_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Since when it is offered to new runs no more."""
