"""The declarative base, and column types that mean the same on both databases."""

import json
import zlib
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import DateTime, LargeBinary, MetaData, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator

LARGEST_ID = 2**31 - 1
"""Largest number in an integer column of PostgreSQL."""


class Base(DeclarativeBase):
    """Names every constraint, so that migrations can drop them on both databases."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_N_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC time. SQLite knows no zones, so both databases store it naive."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse naive times: they are somebody's local time."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without zone cannot be stored")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give the zone back."""
        return None if value is None else value.replace(tzinfo=UTC)


class UntrustedText(TypeDecorator[str]):
    """Text that a model or a program produced, stored as bytes.

    PostgreSQL's text takes no NUL, and neither database takes lone surrogates.
    """

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        """Encode losslessly."""
        return None if value is None else value.encode("utf-8", "surrogatepass")

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:
        """Decode losslessly."""
        return None if value is None else bytes(value).decode("utf-8", "surrogatepass")


class Json(TypeDecorator[Any]):
    """JSON as ASCII text: escapes carry NUL and surrogates through either database unchanged."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Write with sorted keys, so that equal values are equal text."""
        return None if value is None else json.dumps(value, ensure_ascii=True, sort_keys=True)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Read it back."""
        return None if value is None else json.loads(value)


class Packed(TypeDecorator[Any]):
    """JSON, compressed: for what is bulky and read whole. Text of programs shrinks to a fifth and less."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:
        """Level 1: the higher ones cost more time than the bytes they save are worth."""
        return None if value is None else zlib.compress(json.dumps(value).encode("ascii"), 1)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:
        """Read it back."""
        return None if value is None else json.loads(zlib.decompress(value))


class Document(TypeDecorator[Any]):
    """A domain dataclass as JSON, validated when read. The dataclass is the only place where its shape is written."""

    impl = Text
    cache_ok = True

    def __init__(self, kind: type) -> None:
        super().__init__()
        self.kind = kind
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Write as JSON."""
        return None if value is None else self._adapter.dump_json(value).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Read and validate."""
        return None if value is None else self._adapter.validate_json(value)
