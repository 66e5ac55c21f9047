"""Settings, read once from the environment (prefix HALFLIFE_)."""

import os
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

ROOT = Path(__file__).resolve().parent.parent
"""Where templates, static files and migrations stand beside the code."""


class SandboxChoice(StrEnum):
    """Which isolation the execute worker uses."""

    BUBBLEWRAP = "bubblewrap"
    SLOT = "slot"
    """Containers that are started beside the worker."""
    UNSANDBOXED = "unsandboxed"
    """Resource limits alone, no namespaces. Every page and verdict says so."""


class Settings(BaseSettings):
    """All that differs between installations. Defaults are those of one machine, without services."""

    model_config = SettingsConfigDict(env_prefix="HALFLIFE_", env_ignore_empty=True, extra="forbid")

    home: Path = Field(default_factory=lambda: Path.home() / ".halflife")
    """Where the embedded database, queue and secret key live."""
    database_url: str | None = None
    """SQLAlchemy URL (`postgresql+psycopg://…`); None is an SQLite file in `home`."""
    broker_url: str | None = None
    """`redis://…`; None is Celery's filesystem transport in `home`."""
    secret_key: str | None = None
    """Fernet key that encrypts stored API keys; None makes one in `home`, readable by its owner alone."""

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)

    sandbox: SandboxChoice = SandboxChoice.BUBBLEWRAP
    execute_slots: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1)
    """Executions at once: one a core, since a candidate may burn a whole one. With slot containers, as many as there
    are; where this is set, at least so many are waited for."""
    slots_dir: Path | None = None
    """Where the slot containers' sockets are."""
    generate_threads: int = Field(default=16, ge=1)
    """Requests to models at once, over all endpoints; each endpoint has its own lower limit."""

    lease_seconds: float = Field(default=30.0, gt=0)
    """A worker that has not renewed a step for this long is taken for dead. Renewed three times as often."""
    sweep_seconds: float = Field(default=5.0, gt=0)
    """How often workers look for work that no message announced."""

    @cached_property
    def database(self) -> str:
        """The SQLAlchemy URL in force."""
        return self.database_url or f"sqlite:///{self.home / 'halflife.db'}"

    def environment(self) -> dict[str, str]:
        """These settings as environment variables, for processes that must have the same."""
        given = {name: getattr(self, name) for name in self.model_fields_set - {"home"}}
        given = {name: value for name, value in given.items() if value is not None} | {"home": self.home.resolve()}
        return {f"HALFLIFE_{name.upper()}": str(value) for name, value in given.items()}
