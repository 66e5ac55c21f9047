"""Links that open a result without a login."""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Document, Packed, UtcDateTime
from app.domain.sharing import Scope


class ShareLink(Base):
    """A link by the hash of its random token; the token itself is shown once and not stored."""

    __tablename__ = "share_links"

    id: Mapped[int] = mapped_column(primary_key=True)
    token_hash: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    """What it shows in words; it outlives what it names."""
    scope: Mapped[Scope] = mapped_column(Document(Scope))
    frozen: Mapped[bool]
    snapshot: Mapped[dict[str, Any] | None] = mapped_column(Packed, deferred=True)
    """What a frozen link shows; a live one reads it anew each time."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
