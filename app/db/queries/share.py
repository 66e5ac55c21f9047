"""Shared links: the list of them, and the one that a token opens."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.db.models import ShareLink
from app.domain.sharing import LinkState, Scope, link_state

PAGE = 50


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link without its snapshot."""

    id: int
    title: str
    scope: Scope
    frozen: bool
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None

    @property
    def state(self) -> LinkState:
        """Whether it opens now."""
        return link_state(self.expires_at, self.revoked_at, datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class LinkPage:
    """Up to fifty links, newest first; `next_before` continues with older ones, None at the end."""

    rows: tuple[LinkRow, ...]
    next_before: int | None


def list_links(session: Session, before: int | None = None) -> LinkPage:
    """Links older than `before` (an id), newest first."""
    query = select(*_COLUMNS).order_by(ShareLink.id.desc()).limit(PAGE + 1)
    if before is not None:
        query = query.where(ShareLink.id < before)
    found = [LinkRow(*row) for row in session.execute(query)]
    return LinkPage(tuple(found[:PAGE]), found[PAGE - 1].id if len(found) > PAGE else None)


def link_by_hash(session: Session, token_hash: str) -> LinkRow | None:
    """The link whose token has this hash."""
    row = session.execute(select(*_COLUMNS).where(ShareLink.token_hash == token_hash)).one_or_none()
    return None if row is None else LinkRow(*row)


def link_snapshot(session: Session, link_id: int) -> dict[str, Any] | None:
    """What a frozen link shows; None for a live one, and once it is revoked."""
    return session.scalar(select(ShareLink.snapshot).where(ShareLink.id == link_id))


_COLUMNS = (
    ShareLink.id,
    ShareLink.title,
    ShareLink.scope,
    ShareLink.frozen,
    ShareLink.created_at,
    ShareLink.expires_at,
    ShareLink.revoked_at,
)
