"""Making and revoking links that open a result without a login."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import select

from app.db.models import Run, ShareLink
from app.db.session import Database
from app.domain.errors import ConflictError, InputError, NotFoundError
from app.domain.sharing import Scope

TOKEN_BYTES = 24
"""192 bits: nobody guesses one."""
LONGEST_DAYS = 3650
LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class LinkRequest:
    """A link to make. `snapshot`: what a frozen link shows; None makes a live one. `days` None: it never expires."""

    scope: Scope
    title: str
    snapshot: dict[str, Any] | None
    days: int | None


@dataclass(frozen=True, slots=True)
class NewLink:
    """The only time that the token is known."""

    id: int
    token: str


def create_share_link(db: Database, wanted: LinkRequest) -> NewLink:
    """Store a link under the hash of a new random token.

    Raises InputError for a bad title or expiry and for texts that quote hidden tests, NotFoundError for a missing run.
    """
    title = " ".join(wanted.title.split())
    if not title or len(title) > LONGEST_TITLE or not title.isprintable():
        raise InputError(f"title: between 1 and {LONGEST_TITLE} printable characters")
    if wanted.days is not None and not 1 <= wanted.days <= LONGEST_DAYS:
        raise InputError(f"expiry: between 1 and {LONGEST_DAYS:,} days, not {wanted.days}")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    now = datetime.now(UTC)
    with db.write() as session:
        if wanted.scope.run_id is not None:
            protocol = session.scalar(select(Run.protocol).where(Run.id == wanted.scope.run_id))
            if protocol is None:
                raise NotFoundError(f"there is no run {wanted.scope.run_id}")
            wanted.scope.check_disclosure(protocol.disclosure)
        row = ShareLink(
            token_hash=token_hash(token),
            title=title,
            scope=wanted.scope,
            frozen=wanted.snapshot is not None,
            snapshot=wanted.snapshot,
            created_at=now,
            expires_at=None if wanted.days is None else now + timedelta(days=wanted.days),
        )
        session.add(row)
        session.flush()
        return NewLink(row.id, token)


def revoke_share_link(db: Database, link_id: int) -> None:
    """Close a link at once and for good; a snapshot is deleted with it.

    Raises NotFoundError, ConflictError where it is revoked already.
    """
    with db.write() as session:
        row = session.get(ShareLink, link_id, with_for_update=True)
        if row is None:
            raise NotFoundError(f"there is no shared link {link_id}")
        if row.revoked_at is not None:
            raise ConflictError(f"shared link {link_id} is revoked already")
        row.revoked_at = datetime.now(UTC)
        row.snapshot = None


def token_hash(token: str) -> str:
    """What is stored of a token. It is random, so that a plain hash keeps it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
