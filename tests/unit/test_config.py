"""Settings say what is wrong with them, and arrive in child processes as they are."""

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from app.config import SandboxChoice, Settings


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
