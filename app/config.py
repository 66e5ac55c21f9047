"""Settings, read once from the environment (prefix HALFLIFE_)."""

import ipaddress
import os
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

ROOT = Path(__file__).resolve().parent.parent
"""Where templates, static files and migrations stand beside the code."""


SHORTEST_PASSWORD = 12
"""Characters: everybody of a team knows it, and whoever reaches the server may guess."""


class LogFormat(StrEnum):
    """How log lines are written."""

    TEXT = "text"
    JSON = "json"


class SandboxChoice(StrEnum):
    """Which isolation the execute worker uses."""

    BUBBLEWRAP = "bubblewrap"
    SLOT = "slot"
    """Containers that are started beside the worker."""
    UNSANDBOXED = "unsandboxed"
    """Resource limits alone, no namespaces. Every page and verdict says so."""


class Settings(BaseSettings):
    """All that differs between installations. Defaults are those of one machine, without services."""

    # A complaint about one setting must not write the others, passwords among them, into a log.
    model_config = SettingsConfigDict(
        env_prefix="HALFLIFE_", env_ignore_empty=True, extra="forbid", hide_input_in_errors=True
    )

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
    public_url: str | None = None
    """Where a team's browsers find the dashboard (`https://halflife.example.org`); None serves this machine alone."""
    password: str | None = None
    """What a team logs in with: the password itself, or its argon2 hash."""
    allowed_endpoint_hosts: str | None = None
    """Host names, separated by commas, of models in the team's own network; all others must be public addresses."""
    log_format: LogFormat = LogFormat.TEXT

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

    @model_validator(mode="after")
    def _nobody_gets_in_without_login(self) -> Self:
        if self.public_url is None:
            if not is_loopback(self.host):
                raise ValueError(
                    f"HALFLIFE_HOST: {self.host} can be reached from outside, where a login is needed: set"
                    " HALFLIFE_PUBLIC_URL, HALFLIFE_PASSWORD and HALFLIFE_SECRET_KEY (docs/deployment.md), or use"
                    " 127.0.0.1 and reach it through an SSH tunnel"
                )
            if self.password is not None:
                raise ValueError("HALFLIFE_PASSWORD: a login needs HALFLIFE_PUBLIC_URL, the address people use")
        elif not _is_origin(self.public_url):
            raise ValueError(
                "HALFLIFE_PUBLIC_URL: must be an http or https address without a path, such as"
                " https://halflife.example.org"
            )
        if self.password is not None and len(self.password) < SHORTEST_PASSWORD:
            raise ValueError(f"HALFLIFE_PASSWORD: must have {SHORTEST_PASSWORD} characters or more")
        return self

    @property
    def team(self) -> bool:
        """Whether people reach this installation over a network, and log in."""
        return self.public_url is not None

    @cached_property
    def endpoint_hosts(self) -> frozenset[str]:
        """`allowed_endpoint_hosts`, each in lower case."""
        return frozenset(
            filter(None, (host.strip().lower() for host in (self.allowed_endpoint_hosts or "").split(",")))
        )

    @cached_property
    def database(self) -> str:
        """The SQLAlchemy URL in force."""
        return self.database_url or f"sqlite:///{self.home / 'halflife.db'}"

    def environment(self) -> dict[str, str]:
        """These settings as environment variables, for processes that must have the same."""
        given = {name: getattr(self, name) for name in self.model_fields_set - {"home"}}
        given = {name: value for name, value in given.items() if value is not None} | {"home": self.home.resolve()}
        return {f"HALFLIFE_{name.upper()}": str(value) for name, value in given.items()}


def is_loopback(host: str) -> bool:
    """Whether a server on this address is reached from this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_origin(address: str) -> bool:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return usable and parts.path in ("", "/") and not (parts.query or parts.fragment or "@" in parts.netloc)
