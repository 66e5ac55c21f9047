"""API keys at rest: encrypted with Fernet (AES-128-CBC and HMAC-SHA256) under a key kept outside the database."""

import contextlib
import os
import secrets
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from app.domain.errors import InputError


class Vault:
    """Encrypts and decrypts. Plain keys exist only in the generate worker, and in the request that stores one."""

    def __init__(self, secret_key: str) -> None:
        try:
            self._fernet = Fernet(secret_key)
        except ValueError as error:
            raise InputError(
                "HALFLIFE_SECRET_KEY: must be 32 url-safe base64-encoded bytes; make one with"
                " `python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'`"
            ) from error

    @classmethod
    def of(cls, home: Path, secret_key: str | None) -> "Vault":
        """A vault under the given secret or, without one, under the one in `home`."""
        return cls(secret_key) if secret_key is not None else cls.at(home / "secret.key")

    @classmethod
    def at(cls, path: Path) -> "Vault":
        """A vault whose secret lives in a file readable by its owner alone, made on first use."""
        if not path.exists():
            _make_secret(path)
        try:
            return cls(path.read_text("ascii").strip())
        except (ValueError, InputError) as error:
            raise InputError(
                f"{path} holds no secret key: put the right file back, or remove it and enter the API keys again"
            ) from error

    def encrypt(self, api_key: str) -> bytes:
        """Encrypt a key for storage."""
        return self._fernet.encrypt(api_key.encode())

    def decrypt(self, stored: bytes) -> str:
        """Decrypt a stored key.

        Raises InputError where it was stored under another secret.
        """
        try:
            return self._fernet.decrypt(stored).decode()
        except InvalidToken as error:
            raise InputError(
                "the stored API key cannot be read with this secret key: enter the API key again"
            ) from error


def _make_secret(path: Path) -> None:
    """Write a new secret to `path` unless another process did so first.

    The file appears whole or not at all: a process that starts meanwhile must not read half a secret.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(Fernet.generate_key())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
