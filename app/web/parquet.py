"""The attempts of a run as Parquet: the columns of its CSV, then every text. docs/exports.md describes the file.

Only for those who installed the extra `parquet`: see `app.web.exports.parquet_missing`.
"""

import io
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow
from pyarrow.parquet import ParquetWriter
from sqlalchemy import ARRAY, Boolean, Float, Integer
from sqlalchemy.types import TypeEngine

from app.db.base import Json, UntrustedText, UtcDateTime
from app.db.queries.exports import whole_trajectories
from app.db.queries.run import run_head
from app.db.session import Database
from app.web.documents import plain
from app.web.whole_run import COLUMNS, TEXTS, attempt_rows, run_document

_ROWS = 1_000
"""In a row group, all of which is in memory: with their texts some tens of megabytes."""


def parquet_parts(db: Database, run_id: int) -> Iterable[bytes]:
    """The file by row groups, with the run's document as its metadata `halflife`.

    Raises NotFoundError before it gives the first part.
    """
    with db.read() as session:
        head = run_head(session, run_id)

    def parts() -> Iterator[bytes]:
        columns = {**COLUMNS, **TEXTS}
        fields = [pyarrow.field(name, _type(kind)) for name, kind in columns.items()]
        written = [_written(kind) for kind in columns.values()]
        passed_on = _PassedOn()
        with db.read() as session:
            document = json.dumps(run_document(session, head), default=plain)
            schema = pyarrow.schema(fields, metadata={"halflife": document})
            trajectories = whole_trajectories(session, run_id, texts=True)
            rows = (row for one in trajectories for row in attempt_rows(head, one, texts=True))
            with ParquetWriter(passed_on, schema, compression="zstd") as writer:
                while group := list(islice(rows, _ROWS)):
                    values = zip(*group, strict=True)
                    arrays = [
                        pyarrow.array([None if value is None else write(value) for value in column], field.type)
                        for column, write, field in zip(values, written, fields, strict=True)
                    ]
                    writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
                    yield passed_on.taken()
        yield passed_on.taken()

    return parts()


def _type(kind: TypeEngine[Any]) -> pyarrow.DataType:
    match kind:
        case UtcDateTime():
            return pyarrow.timestamp("us", tz="UTC")
        case UntrustedText():
            # Parquet's strings are UTF-8, which has no lone surrogates.
            return pyarrow.binary()
        case Boolean():
            return pyarrow.bool_()
        case Integer():
            return pyarrow.int64()
        case Float():
            return pyarrow.float64()
        case ARRAY():
            return pyarrow.list_(pyarrow.string())
        case _:
            return pyarrow.string()


def _written(kind: TypeEngine[Any]) -> Callable[[Any], Any]:
    """What makes of a value what its column takes."""
    match kind:
        case UntrustedText():
            return lambda text: text.encode("utf-8", "surrogatepass")
        case Json():
            return json.dumps  # ASCII: escapes carry what UTF-8 cannot
        case _:
            return lambda value: value


class _PassedOn(io.RawIOBase):
    """A file that is written once, from its start, and passed on in pieces."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """Of the whole file, what was passed on included."""
        return self._position

    def write(self, data: Any, /) -> int:
        """Keep it until it is taken."""
        piece = bytes(data)
        self._pieces.append(piece)
        self._position += len(piece)
        return len(piece)

    def taken(self) -> bytes:
        """What was written since the last time."""
        piece = b"".join(self._pieces)
        self._pieces.clear()
        return piece
