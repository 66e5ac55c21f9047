"""Problem sets, their problems, and one problem in full."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session, undefer

from app.db.models import BuggyProgramRow, ProblemImport, ProblemRow, ProblemSetRow
from app.domain.errors import InputError, NotFoundError
from app.domain.problems import BuggyProgram, Problem

PAGE = 100


@dataclass(frozen=True, slots=True)
class VersionLine:
    """One version of a problem set; `older` where there is a newer one of its name."""

    version: ProblemSetRow
    older: bool


@dataclass(frozen=True, slots=True)
class VersionPage:
    """Up to a hundred versions; `next_after` continues behind them, None at the end."""

    rows: tuple[VersionLine, ...]
    next_after: int | None


@dataclass(frozen=True, slots=True)
class ProblemFilter:
    """What a set's table is narrowed to; empty is no narrowing. `text` is looked for in keys and titles."""

    text: str = ""
    difficulty: str = ""
    test_style: str = ""
    buggy: bool = False
    """Only problems with buggy programs."""


_EVERY = ProblemFilter()


@dataclass(frozen=True, slots=True)
class FilterChoices:
    """The difficulties and styles of tests that a set's problems have."""

    difficulties: tuple[str, ...]
    test_styles: tuple[str, ...]


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
    """Up to a hundred problems; `next_after` continues, None at the end. `total` counts all that are looked for."""

    rows: tuple[ProblemLine, ...]
    next_after: int | None
    total: int


@dataclass(frozen=True, slots=True)
class ProblemDetail:
    """A problem in full."""

    problem_set: ProblemSetRow
    problem: Problem
    buggy_programs: tuple[BuggyProgram, ...]


def list_problem_sets(session: Session, after: int | None = None) -> VersionPage:
    """Versions of problem sets behind `after` (an id), by name, and newest first within one.

    Raises InputError where there is no problem set `after`.
    """
    query = select(ProblemSetRow).order_by(ProblemSetRow.name, ProblemSetRow.version.desc()).limit(PAGE + 1)
    above = None
    if after is not None:
        last = session.get(ProblemSetRow, after)
        if last is None:
            raise InputError(f"after: there is no problem set {after}")
        above = last.name
        older = and_(ProblemSetRow.name == above, ProblemSetRow.version < last.version)
        query = query.where(or_(ProblemSetRow.name > above, older))
    found = session.scalars(query).all()
    lines = []
    for row in found[:PAGE]:
        lines.append(VersionLine(row, older=row.name == above))
        above = row.name
    return VersionPage(tuple(lines), found[PAGE - 1].id if len(found) > PAGE else None)


def problem_set(session: Session, problem_set_id: int) -> ProblemSetRow:
    """One version of a set.

    Raises NotFoundError.
    """
    row = session.get(ProblemSetRow, problem_set_id)
    if row is None:
        raise NotFoundError(f"there is no problem set {problem_set_id}")
    return row


def filter_choices(session: Session, problem_set_id: int) -> FilterChoices:
    """What a set's problems can be narrowed to."""

    def values(column: InstrumentedAttribute[str | None] | InstrumentedAttribute[str]) -> tuple[str, ...]:
        query = select(column).where(ProblemRow.problem_set_id == problem_set_id, column.is_not(None)).distinct()
        return tuple(sorted(value for value in session.scalars(query) if value))

    return FilterChoices(tuple(from_easy_to_hard(values(ProblemRow.difficulty))), values(ProblemRow.test_style))


def from_easy_to_hard(difficulties: Iterable[str]) -> list[str]:
    """Difficulties in their order; those under other names stand last, by name."""
    ranks = {name: rank for rank, name in enumerate(("easy", "medium", "hard"))}
    return sorted(difficulties, key=lambda name: (ranks.get(name.lower(), len(ranks)), name))


def list_problems(
    session: Session, problem_set_id: int, after: int | None, narrowed: ProblemFilter = _EVERY
) -> ProblemPage:
    """The problems of a set behind position `after`, in order."""
    conditions = _conditions(problem_set_id, narrowed)
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
        .where(*conditions)
        .order_by(ProblemRow.position)
        .limit(PAGE + 1)
    )
    if after is not None:
        query = query.where(ProblemRow.position > after)
    found = [ProblemLine(*row) for row in session.execute(query)]
    rows = tuple(found[:PAGE])
    total = session.scalar(select(func.count()).select_from(ProblemRow).where(*conditions)) or 0
    return ProblemPage(rows, rows[-1].position if len(found) > PAGE else None, total)


def _conditions(problem_set_id: int, narrowed: ProblemFilter) -> list[ColumnElement[bool]]:
    conditions = [ProblemRow.problem_set_id == problem_set_id]
    if narrowed.text:
        wanted = narrowed.text.lower()
        conditions.append(
            or_(
                *(func.lower(column).contains(wanted, autoescape=True) for column in (ProblemRow.key, ProblemRow.title))
            )
        )
    if narrowed.difficulty:
        conditions.append(ProblemRow.difficulty == narrowed.difficulty)
    if narrowed.test_style:
        conditions.append(ProblemRow.test_style == narrowed.test_style)
    if narrowed.buggy:
        conditions.append(exists().where(BuggyProgramRow.problem_id == ProblemRow.id))
    return conditions


def problem_import(session: Session, import_id: int) -> ProblemImport:
    """One import, without its file.

    Raises NotFoundError.
    """
    row = session.get(ProblemImport, import_id)
    if row is None:
        raise NotFoundError(f"there is no import {import_id}")
    return row


def latest_imports(session: Session) -> list[ProblemImport]:
    """The last five imports that brought no set: under way, failed or cancelled; newest first."""
    query = select(ProblemImport).where(ProblemImport.problem_set_id.is_(None)).order_by(ProblemImport.id.desc())
    return list(session.scalars(query.limit(5)))


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
