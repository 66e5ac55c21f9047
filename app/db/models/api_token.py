"""Tokens with which programs use the API where there is a login."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, UtcDateTime


class ApiToken(Base):
    """A token by the hash of its random part; the token itself is shown once and not stored.

    `hint` is how it begins, for a person to tell it by.
    """

    __tablename__ = "api_tokens"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    token_hash: Mapped[str] = mapped_column(unique=True)
    hint: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
