"""Settings say what is wrong with them, and arrive in child processes as they are."""

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from app.config import LogFormat, SandboxChoice, Settings


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("HALFLIFE_")]:
        monkeypatch.delenv(name)


def in_child(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings that a child process reads."""
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    return Settings()


def test_defaults_are_those_of_one_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = Settings()
    assert settings.home == tmp_path / ".halflife"
    assert settings.database == f"sqlite:///{tmp_path}/.halflife/halflife.db"
    assert (settings.host, settings.port, settings.sandbox) == ("127.0.0.1", 8000, SandboxChoice.BUBBLEWRAP)
    assert settings.execute_slots == os.cpu_count()


def test_all_of_them_reach_a_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path / "a home",
        database_url="postgresql+psycopg://somebody:p%40ss@host/x?sslmode=require",
        broker_url="redis://:word@host:6379/3",
        secret_key="=&; \"'$HOME\\",
        host="::1",
        port=0,
        public_url="https://halflife.example.org:8443",
        password="a $ecret, long enough",
        allowed_endpoint_hosts="models.internal, 10.0.0.7",
        log_format=LogFormat.JSON,
        sandbox=SandboxChoice.UNSANDBOXED,
        execute_slots=3,
        slots_dir=tmp_path,
        generate_threads=5,
        lease_seconds=0.1,
        sweep_seconds=1e-3,
    )
    # Every field is given above, so that a new one is not forgotten here.
    assert settings.model_fields_set == set(Settings.model_fields)
    child = in_child(settings, monkeypatch)
    assert child == settings
    assert child.database == settings.database
    assert child.endpoint_hosts == {"models.internal", "10.0.0.7"}


def test_defaults_reach_a_child_as_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, database_url=None)
    assert settings.environment() == {"HALFLIFE_HOME": str(tmp_path)}
    assert in_child(settings, monkeypatch) == Settings(home=tmp_path)


def test_a_relative_home_means_the_same_in_another_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings(home=Path("here")).environment() == {"HALFLIFE_HOME": str(tmp_path / "here")}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "abc"),
        ("PORT", "65536"),
        ("PORT", "-1"),
        ("EXECUTE_SLOTS", "0"),
        ("GENERATE_THREADS", "0"),
        ("LEASE_SECONDS", "0"),
        ("LEASE_SECONDS", "nan"),
        ("SWEEP_SECONDS", "-1"),
        ("SANDBOX", "docker"),
    ],
)
def test_wrong_values_are_refused_by_name(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"HALFLIFE_{name}", value)
    with pytest.raises(ValidationError) as raised:
        Settings()
    assert [error["loc"] for error in raised.value.errors()] == [(name.lower(),)]


LONG = "twelve chars"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"host": "0.0.0.0"}, "HALFLIFE_HOST: 0.0.0.0 can be reached from outside"),  # noqa: S104 — what is refused
        ({"host": "halflife.example"}, "HALFLIFE_HOST: halflife.example can be reached from outside"),
        ({"password": LONG}, "HALFLIFE_PASSWORD: a login needs HALFLIFE_PUBLIC_URL"),
        ({"public_url": "https://x.example", "password": "eleven char"}, "HALFLIFE_PASSWORD: must have 12 characters"),
        ({"public_url": "x.example"}, "HALFLIFE_PUBLIC_URL: must be an http or https address"),
        ({"public_url": "ftp://x.example"}, "HALFLIFE_PUBLIC_URL: must be"),
        ({"public_url": "https://x.example/halflife"}, "HALFLIFE_PUBLIC_URL: must be"),
        ({"public_url": "https://me@x.example"}, "HALFLIFE_PUBLIC_URL: must be"),
        ({"public_url": "https://x.example:port"}, "HALFLIFE_PUBLIC_URL: must be"),
    ],
)
def test_nobody_is_served_by_accident(given: dict[str, str], said: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Settings(**given)
    assert said in str(raised.value)
    assert given.get("password", "no password") not in str(raised.value)


def test_a_team_is_served_everywhere() -> None:
    settings = Settings(host="0.0.0.0", public_url="https://x.example/", password=LONG)  # noqa: S104
    assert settings.team
    assert not Settings(host="::1").team
