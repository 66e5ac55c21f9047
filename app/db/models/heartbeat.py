"""Signs of life of worker processes."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, UtcDateTime


class Heartbeat(Base):
    """One worker process: what it is, how much of it is busy, and when it was last heard of."""

    __tablename__ = "heartbeats"

    worker: Mapped[str] = mapped_column(primary_key=True)
    """Kind, process id and host name."""
    kind: Mapped[str]
    slots: Mapped[int]
    """Steps that it performs at once; those of workers that share slot containers count each container again."""
    busy: Mapped[int]
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
