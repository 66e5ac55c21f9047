"""`halflife doctor`, and settings that are wrong, by name."""

import json
import socket
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Ended, Home


def checks(ended: Ended) -> dict[str, tuple[bool, str]]:
    return {check["name"]: (check["ok"], check["detail"]) for check in json.loads(ended.out)["checks"]}


def test_a_machine_where_all_is_well(bare_home: Home) -> None:
    ended = bare_home.run("doctor", "--json")
    assert (ended.code, ended.err) == (0, ""), ended.out
    assert json.loads(ended.out)["ok"] is True
    found = checks(ended)
    assert found["data"] == (True, str(bare_home.path))
    assert found["database"] == (True, f"sqlite:///{bare_home.path}/halflife.db")
    assert found["queue"] == (True, f"{bare_home.path}/queue/messages")
    for promise in ("no network", "read-only root", "time limit", "memory limit", "output limit"):
        assert found[promise][0]


def test_a_home_that_cannot_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = Home(tmp_path / "file").run("doctor", "--json")
    assert (ended.code, ended.err) == (1, "")
    assert json.loads(ended.out)["ok"] is False
    assert checks(ended)["installation"] == (
        False,
        f"{tmp_path / 'file'} cannot be used: File exists; set HALFLIFE_HOME to a writable folder",
    )


def test_what_fails_is_marked_in_the_text(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = Home(tmp_path / "file" / "below").call("doctor")
    assert ended.code == 1
    ok, failed = ended.out.splitlines()
    assert ok.startswith("ok    python        3.")
    assert failed.startswith("FAIL  installation  ")
    assert "Not a directory" in failed


def test_a_damaged_database(bare_home: Home) -> None:
    bare_home.path.mkdir()
    (bare_home.path / "halflife.db").write_bytes(b"no database\n" * 1000)
    ended = bare_home.call("doctor", "--json")
    assert ended.code == 1
    assert checks(ended)["installation"][1].startswith("the database file is damaged (file is not a database)")


def test_no_isolation_is_said_and_is_not_healthy(bare_home: Home) -> None:
    ended = bare_home.call("doctor", "--json", HALFLIFE_SANDBOX="unsandboxed")
    assert ended.code == 1
    found = checks(ended)
    # Limits are kept all the same; of isolation nothing is claimed.
    assert [name for name, (ok, _) in found.items() if not ok] == ["setting"]
    assert "no network" not in found
    assert found["setting"] == (
        False,
        "HALFLIFE_SANDBOX=unsandboxed: programs run without isolation",
    )


def test_a_queue_that_is_away(bare_home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.cli.doctor.inspect_sandbox", lambda _: [])  # what it finds is the first test's
    ended = bare_home.call("doctor", "--json", HALFLIFE_BROKER_URL="redis://:secret-word@127.0.0.1:1/0")
    assert ended.code == 1
    ok, detail = checks(ended)["queue"]
    assert not ok
    assert "Connection refused" in detail
    assert "secret-word" not in ended.out


WRONG = [
    ("HALFLIFE_PORT", "abc", "Input should be a valid integer"),
    ("HALFLIFE_SANDBOX", "docker", "Input should be 'bubblewrap', 'slot' or 'unsandboxed'"),
    ("HALFLIFE_EXECUTE_SLOTS", "0", "Input should be greater than or equal to 1"),
    ("HALFLIFE_SECRET_KEY", "secret-word", "must be 32 url-safe base64-encoded bytes"),
    ("HALFLIFE_DATABASE_URL", "mysql://me:secret-word@host/x", "must be an address such as postgresql+psycopg://"),
    ("HALFLIFE_BROKER_URL", "amqp://me:secret-word@host", "must be an address such as redis://"),
]


@pytest.mark.parametrize(("name", "value", "said"), WRONG, ids=[name for name, _, _ in WRONG])
def test_a_wrong_setting_is_named(bare_home: Home, name: str, value: str, said: str) -> None:
    ended = bare_home.call("problems", "list", **{name: value})
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"halflife: {name}: {said}")
    assert ended.err.count("\n") == 1
    assert "secret-word" not in ended.err
    assert bare_home.contents() == {}


def test_two_wrong_settings_and_the_real_program(bare_home: Home) -> None:
    ended = bare_home.run("runs", "list", HALFLIFE_PORT="65536", HALFLIFE_LEASE_SECONDS="0")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "halflife: HALFLIFE_PORT: Input should be less than or equal to 65535;"
        " HALFLIFE_LEASE_SECONDS: Input should be greater than 0\n"
    )
    assert not bare_home.path.exists()


def test_a_database_that_is_away(bare_home: Home, tmp_path: Path) -> None:
    url = f"postgresql+psycopg://somebody:secret-word@/x?host={tmp_path}"
    ended = bare_home.call("problems", "list", HALFLIFE_DATABASE_URL=url)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("halflife: the database cannot be used: ")
    assert "secret-word" not in ended.err


def test_serving_where_others_could_reach_it_is_refused(bare_home: Home) -> None:
    ended = bare_home.call("serve", HALFLIFE_HOST="0.0.0.0")  # noqa: S104 — what is refused
    assert ended.code == 2
    assert ended.err.startswith("halflife: HALFLIFE_HOST: 0.0.0.0 can be reached from outside, where a login is")


def test_serving_on_a_port_that_is_taken(bare_home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = bare_home.call("serve", HALFLIFE_PORT=str(port))
    assert ended.code == 2
    assert ended.err.startswith(f"halflife: HALFLIFE_PORT: 127.0.0.1:{port} cannot be used (Address already in use)")
