"""Problem sets of one JSON object a line (or gzip of it), which is what HumanEval's format and its relatives share."""

import ast
import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from app.datasets import payload
from app.datasets.python_source import Unparsable, parse
from app.datasets.records import Record, json_lines
from app.domain.problems import Problem, ProblemSet


@dataclass(frozen=True, slots=True)
class Publication:
    """A file as somebody published it. `sha256` is that of its content, uncompressed."""

    sha256: str
    licence: str
    source: str

    def terms(self, data: bytes) -> tuple[str, str]:
        """Licence and source of this file; other sets in the same format have terms of their own."""
        published = hashlib.sha256(payload.content(data)).hexdigest() == self.sha256
        return (self.licence, self.source) if published else ("unknown", "")


def read_lines(
    data: bytes,
    name: str,
    format: str,
    publication: Publication,
    problem: Callable[[Record], tuple[Problem, str | None]],
) -> ProblemSet:
    """Read a problem a line. `problem` gives it with what a person should know about it, None where that is nothing.

    Raises FormatError naming the line.
    """
    problems: list[Problem] = []
    notes: list[str] = []
    lines: dict[str, int | None] = {}
    for record in json_lines(payload.text(data)):
        try:
            read, note = problem(record)
        except RecursionError:
            record.fail("its code is nested too deep")
        if read.key in lines:
            record.fail(f"task_id {read.key!r} was already used in line {lines[read.key]}")
        lines[read.key] = record.line
        problems.append(read)
        if note:
            notes.append(f"{read.key}: {note}")
    licence, source = publication.terms(data)
    return ProblemSet(
        name=name,
        format=format,
        problems=tuple(problems),
        licence=licence,
        source=source,
        notes=tuple(notes),
    )


def python_module(record: Record, source: str, what: str) -> ast.Module:
    """The syntax tree of code in a record. Raises FormatError saying that `what` is not valid Python."""
    try:
        return parse(source)
    except Unparsable as error:
        record.fail(f"{what} is not valid Python: {error}")
