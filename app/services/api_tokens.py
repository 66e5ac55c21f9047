"""Tokens for programs: made, recognised and revoked. Only their hashes are stored."""

import hashlib
import secrets
from datetime import UTC, datetime, timedelta

from sqlalchemy import or_, select, update
from sqlalchemy.exc import IntegrityError

from app.db.models import ApiToken
from app.db.session import Database
from app.domain.errors import ConflictError, InputError, NotFoundError

PREFIX = "hl_"
"""So that scanners for leaked secrets, and people, can tell what it is."""
_HINT_CHARACTERS = len(PREFIX) + 5
_LONGEST_NAME = 100
_USE_NOTED_EVERY = timedelta(minutes=1)


def create_token(db: Database, name: str) -> str:
    """Store a new token under a name and return it: the only time it can be seen.

    Raises InputError, ConflictError where there is or was one of that name.
    """
    name = name.strip()
    if not (0 < len(name) <= _LONGEST_NAME and name.isprintable()):
        raise InputError(f"name: must be 1 to {_LONGEST_NAME} printable characters, such as where it is used")
    token = PREFIX + secrets.token_urlsafe(32)
    hint = token[:_HINT_CHARACTERS]
    try:
        with db.write() as session:
            session.add(ApiToken(name=name, token_hash=_hash(token), hint=hint, created_at=datetime.now(UTC)))
    except IntegrityError as error:
        raise ConflictError(f"name: there is, or was, a token called {name!r} already") from error
    return token


def list_tokens(db: Database) -> list[ApiToken]:
    """Every token, the newest first; those that are revoked too."""
    with db.read() as session:
        return list(session.scalars(select(ApiToken).order_by(ApiToken.created_at.desc(), ApiToken.id.desc())))


def revoke_token(db: Database, name: str) -> None:
    """Refuse a token from now on. To revoke it again changes nothing.

    Raises NotFoundError.
    """
    with db.write() as session:
        token = session.scalar(select(ApiToken).where(ApiToken.name == name))
        if token is None:
            raise NotFoundError(f"there is no API token called {name!r}")
        token.revoked_at = token.revoked_at or datetime.now(UTC)


def accepts_token(db: Database, token: str) -> bool:
    """Whether this is a token in force. Notes its use, to the minute."""
    # 256 random bits need no slow hash: nobody can try them all.
    known = ApiToken.token_hash == _hash(token)
    with db.query() as connection:
        found = connection.execute(
            select(ApiToken.id, ApiToken.last_used_at).where(known, ApiToken.revoked_at.is_(None))
        )
        row = found.one_or_none()
    if row is None:
        return False
    now = datetime.now(UTC)
    if row.last_used_at is None or row.last_used_at < now - _USE_NOTED_EVERY:
        stale = or_(ApiToken.last_used_at.is_(None), ApiToken.last_used_at < now)
        with db.transaction() as connection:
            connection.execute(update(ApiToken).where(ApiToken.id == row.id, stale).values(last_used_at=now))
    return True


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
