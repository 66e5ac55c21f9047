"""Problem sets, their problems, and one problem in full."""

from dataclasses import dataclass
from itertools import groupby

from sqlalchemy import func, select
from sqlalchemy.orm import Session, undefer

from app.db.models import BuggyProgramRow, ProblemRow, ProblemSetRow
from app.domain.errors import NotFoundError
from app.domain.problems import BuggyProgram, Problem

PAGE = 100


@dataclass(frozen=True, slots=True)
class ProblemSetFamily:
    """A problem set by name with its versions, newest first."""

    name: str
    versions: tuple[ProblemSetRow, ...]


@dataclass(frozen=True, slots=True)
class ProblemLine:
    """One line of a set's table. `cases` is None where the tests are code."""

    id: int
    position: int
    key: str
    title: str
    difficulty: str | None
    language: str
    test_style: str
    cases: int | None
    buggy_programs: int


@dataclass(frozen=True, slots=True)
class ProblemPage:
    """Up to a hundred problems; `next_after` continues, None at the end."""

    rows: tuple[ProblemLine, ...]
    next_after: int | None


@dataclass(frozen=True, slots=True)
class ProblemDetail:
    """A problem in full."""

    problem_set: ProblemSetRow
    problem: Problem
    buggy_programs: tuple[BuggyProgram, ...]


def list_problem_sets(session: Session) -> list[ProblemSetFamily]:
    """Every set by name, with its versions."""
    rows = session.scalars(select(ProblemSetRow).order_by(ProblemSetRow.name, ProblemSetRow.version.desc()))
    return [ProblemSetFamily(name, tuple(versions)) for name, versions in groupby(rows, key=lambda row: row.name)]


def problem_set(session: Session, problem_set_id: int) -> ProblemSetRow:
    """One version of a set.

    Raises NotFoundError.
    """
    row = session.get(ProblemSetRow, problem_set_id)
    if row is None:
        raise NotFoundError(f"there is no problem set {problem_set_id}")
    return row


def list_problems(session: Session, problem_set_id: int, after: int | None) -> ProblemPage:
    """The problems of a set behind position `after`, in order."""
    buggy = (
        select(func.count()).where(BuggyProgramRow.problem_id == ProblemRow.id).correlate(ProblemRow).scalar_subquery()
    )
    query = (
        select(
            ProblemRow.id,
            ProblemRow.position,
            ProblemRow.key,
            ProblemRow.title,
            ProblemRow.difficulty,
            ProblemRow.language,
            ProblemRow.test_style,
            ProblemRow.case_count,
            buggy,
        )
        .where(ProblemRow.problem_set_id == problem_set_id)
        .order_by(ProblemRow.position)
        .limit(PAGE + 1)
    )
    if after is not None:
        query = query.where(ProblemRow.position > after)
    found = [ProblemLine(*row) for row in session.execute(query)]
    rows = tuple(found[:PAGE])
    return ProblemPage(rows, rows[-1].position if len(found) > PAGE else None)


def problem_detail(session: Session, problem_set_id: int, problem_id: int) -> ProblemDetail:
    """One problem of a set with its definition and its buggy programs.

    Raises NotFoundError.
    """
    row = session.execute(
        select(ProblemRow, ProblemSetRow)
        .join(ProblemSetRow, ProblemSetRow.id == ProblemRow.problem_set_id)
        .where(ProblemRow.id == problem_id, ProblemRow.problem_set_id == problem_set_id)
        .options(undefer(ProblemRow.definition))
    ).one_or_none()
    if row is None:
        raise NotFoundError(f"problem set {problem_set_id} has no problem {problem_id}")
    buggy = session.scalars(
        select(BuggyProgramRow.definition).where(BuggyProgramRow.problem_id == problem_id).order_by(BuggyProgramRow.id)
    )
    return ProblemDetail(row[1], row[0].definition, tuple(buggy))
