"""Links that open a result without a login."""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Json, UtcDateTime


class ShareLink(Base):
    """A link by the hash of its random token; the token itself is shown once and not stored."""

    __tablename__ = "share_links"

    id: Mapped[int] = mapped_column(primary_key=True)
    token_hash: Mapped[str] = mapped_column(unique=True)
    shows: Mapped[dict[str, Any]] = mapped_column(Json)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
