"""`halflife tokens …`, and what comes before a team's services start."""

import json

from app.db.migrate import is_current
from app.db.session import Database
from app.services.api_tokens import accepts_token
from tests.integration.cli.conftest import Home


def accepted(home: Home, token: str) -> bool:
    database = Database(f"sqlite:///{home.path}/halflife.db")
    try:
        return accepts_token(database, token)
    finally:
        database.close()


def test_a_token_is_made_listed_and_revoked(bare_home: Home) -> None:
    made = bare_home.call("tokens", "create", "nightly")
    assert (made.code, made.err) == (0, "")
    token = made.out.strip()
    assert accepted(bare_home, token)
    listed = bare_home.call("tokens", "list", "--json")
    assert token not in listed.out
    (document,) = json.loads(listed.out)
    assert (document["name"], document["hint"], document["revoked_at"]) == ("nightly", token[:8], None)
    assert document["last_used_at"] is not None
    assert bare_home.call("tokens", "revoke", "nightly").out == "nightly revoked\n"
    assert bare_home.call("tokens", "list").out == f"nightly  {token[:8]}…  revoked\n"
    assert not accepted(bare_home, token)


def test_a_token_that_is_not_there(bare_home: Home) -> None:
    ended = bare_home.call("tokens", "revoke", "other")
    assert (ended.code, ended.err) == (2, "halflife: there is no API token called 'other'\n")


def test_migrating_needs_no_secret_and_can_be_repeated(bare_home: Home) -> None:
    bare_home.path.mkdir()
    for _ in range(2):
        ended = bare_home.call("migrate")
        assert (ended.code, ended.out, ended.err) == (0, "", "the database has the current schema\n")
    assert [path.name for path in bare_home.path.glob("*.key")] == []
    database = Database(f"sqlite:///{bare_home.path}/halflife.db")
    assert is_current(database)
    database.close()
