"""API tokens, on both databases."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from app.db.models import ApiToken
from app.db.session import Database
from app.domain.errors import ConflictError, InputError, NotFoundError
from app.services.api_tokens import accepts_token, create_token, list_tokens, revoke_token


def test_a_token_is_known_by_its_hash_alone(database: Database) -> None:
    token = create_token(database, " nightly ")
    assert token.startswith("hl_")
    assert len(token) == 46  # 3 and 32 bytes in base64: ⌈32 · 8 / 6⌉ = 43
    (row,) = list_tokens(database)
    assert (row.name, row.hint, row.last_used_at, row.revoked_at) == ("nightly", token[:8], None, None)
    with database.read() as session:
        stored = session.execute(select(ApiToken.__table__)).one()
    assert token not in str(stored)
    assert accepts_token(database, token)
    for wrong in ("", "hl_", token[:-1], token + "x", token.upper(), row.token_hash, "hl_\udcff"):
        assert not accepts_token(database, wrong)


def test_its_use_is_noted_to_the_minute(database: Database) -> None:
    token = create_token(database, "nightly")
    before = datetime.now(UTC)
    accepts_token(database, token)
    first = list_tokens(database)[0].last_used_at
    assert first is not None
    assert first >= before
    accepts_token(database, token)
    assert list_tokens(database)[0].last_used_at == first
    with database.write() as session:
        session.execute(update(ApiToken).values(last_used_at=first - timedelta(seconds=61)))
    accepts_token(database, token)
    assert list_tokens(database)[0].last_used_at >= first


def test_a_revoked_token_is_refused_and_keeps_its_name(database: Database) -> None:
    kept, revoked = create_token(database, "kept"), create_token(database, "revoked")
    revoke_token(database, "revoked")
    when = {row.name: row.revoked_at for row in list_tokens(database)}["revoked"]
    revoke_token(database, "revoked")
    assert {row.name: row.revoked_at for row in list_tokens(database)} == {"kept": None, "revoked": when}
    assert accepts_token(database, kept)
    assert not accepts_token(database, revoked)
    with pytest.raises(ConflictError, match="there is, or was, a token called 'revoked'"):
        create_token(database, "revoked")
    with pytest.raises(NotFoundError, match="no API token called 'other'"):
        revoke_token(database, "other")


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\nb"])
def test_a_token_needs_a_name(database: Database, name: str) -> None:
    with pytest.raises(InputError, match="name: must be 1 to 100 printable characters"):
        create_token(database, name)
    assert list_tokens(database) == []
