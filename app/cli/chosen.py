"""What the arguments of a command name: problem sets, models, programs."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import undefer

from app.cli.installation import Installation
from app.db.models import BuggyProgramRow, ModelEndpoint, ProblemRow, ProblemSetRow
from app.domain.errors import InputError, NotFoundError
from app.domain.problems import BuggyProgram, Problem
from app.domain.programs import Program

SHORTEST_HASH = 8
"""Digits of a content hash that `halflife problems list` shows."""


def problem_set_id(opened: Installation, text: str) -> int:
    """The id of a problem set: NAME is its latest version, NAME@VERSION or NAME@HASH another.

    Raises NotFoundError saying which there are.
    """
    with opened.db.read() as session:
        same_name = ProblemSetRow.name == text
        found = session.scalar(
            select(ProblemSetRow.id).where(same_name).order_by(ProblemSetRow.version.desc()).limit(1)
        )
        name, at, which = text.rpartition("@")
        if found is None and at:
            query = select(ProblemSetRow.id).where(ProblemSetRow.name == name, _is_version(which))
            found = session.scalar(query.order_by(ProblemSetRow.version.desc()).limit(1))
        known: Sequence[str] = session.scalars(select(ProblemSetRow.name).distinct()).all()
    if found is None:
        raise NotFoundError(f"there is no problem set {text!r}; there are: {', '.join(sorted(known)) or 'none'}")
    return found


def _is_version(text: str) -> ColumnElement[bool]:
    if text.isdecimal() and len(text) < SHORTEST_HASH:
        return ProblemSetRow.version == int(text)
    if len(text) < SHORTEST_HASH:
        return ProblemSetRow.id.is_(None)
    return ProblemSetRow.content_hash.startswith(text, autoescape=True)


def endpoint_id(opened: Installation, name: str) -> int:
    """The id of a model.

    Raises NotFoundError saying which there are.
    """
    with opened.db.read() as session:
        found = session.scalar(select(ModelEndpoint.id).where(ModelEndpoint.name == name))
        known = session.scalars(select(ModelEndpoint.name)).all()
    if found is None:
        raise NotFoundError(f"there is no model {name!r}; there are: {', '.join(sorted(known)) or 'none'}")
    return found


@dataclass(frozen=True, slots=True)
class ChosenItem:
    """A buggy program of a set, with its problem."""

    problem: Problem
    tests_hash: str
    buggy: BuggyProgram


def chosen_item(opened: Installation, problems: str, text: str) -> ChosenItem:
    """The buggy program that PROBLEM/KEY names; KEY alone where no other has it, PROBLEM alone where it has one.

    Raises NotFoundError, InputError where several are meant.
    """
    chosen = problem_set_id(opened, problems)
    with opened.db.read() as session:
        rows = session.execute(
            select(BuggyProgramRow.id, ProblemRow.id, ProblemRow.key, BuggyProgramRow.key)
            .join(ProblemRow, ProblemRow.id == BuggyProgramRow.problem_id)
            .where(ProblemRow.problem_set_id == chosen)
            .order_by(ProblemRow.position, BuggyProgramRow.id)
        ).all()
        whole = [row for row in rows if text == f"{row[2]}/{row[3]}"]
        found = whole or [row for row in rows if text in (row[2], row[3])]
        if not found:
            some = ", ".join(f"{problem}/{key}" for _, _, problem, key in rows[:3]) or "none"
            raise NotFoundError(f"{problems} has no buggy program {text!r}; there are {len(rows)}: {some} …")
        if len(found) > 1:
            raise InputError(f"{text!r} may mean {found[0][2]}/{found[0][3]} or {found[1][2]}/{found[1][3]}: say which")
        buggy = session.get_one(BuggyProgramRow, found[0][0], options=[undefer(BuggyProgramRow.definition)])
        problem = session.get_one(ProblemRow, found[0][1], options=[undefer(ProblemRow.definition)])
        return ChosenItem(problem.definition, problem.tests_hash, buggy.definition)


def program_at(place: str, language: str) -> Program:
    """The program in a file, in a folder (every file below it that is not hidden), or on standard input (`-`).

    Raises InputError where it cannot be read or is not UTF-8.
    """
    if place == "-":
        return Program.single(_decoded(sys.stdin.buffer.read(), "standard input"), language)
    path = Path(place)
    try:
        if not path.is_dir():
            return Program.single(_decoded(path.read_bytes(), place), language)
        files = {}
        for file in sorted(path.rglob("*")):
            inside = file.relative_to(path)
            if file.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in inside.parts):
                files[inside.as_posix()] = _decoded(file.read_bytes(), str(file))
    except OSError as error:
        raise InputError(f"{error.filename or place}: {error.strerror}") from error
    if not files:
        raise InputError(f"{place}: the folder holds no file")
    return Program(files)


def _decoded(data: bytes, place: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: it is not UTF-8 (at byte {error.start})") from error
