"""Judgements kept for programs that come again."""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Packed, UtcDateTime


class ExecutionResult(Base):
    """A judgement by the hash of everything it depends on: program, tests, limits, judge version, isolation, tier."""

    __tablename__ = "execution_results"

    key: Mapped[str] = mapped_column(primary_key=True)
    judgement: Mapped[dict[str, Any]] = mapped_column(Packed)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
