"""Problem sets over the API."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel

from app.db.base import LARGEST_ID
from app.db.models import ProblemSetRow
from app.db.queries import problem_sets as queries
from app.web.deps import RowId, State

router = APIRouter(prefix="/api/problem-sets", tags=["problem sets"])


class ProblemSetOut(BaseModel):
    """One version of a problem set."""

    id: int
    name: str
    version: int
    content_hash: str
    licence: str
    source: str
    problems: int
    created_at: datetime

    @classmethod
    def of(cls, row: ProblemSetRow) -> Self:
        """From the stored row."""
        return cls(
            id=row.id,
            name=row.name,
            version=row.version,
            content_hash=row.content_hash,
            licence=row.licence,
            source=row.source,
            problems=row.problem_count,
            created_at=row.created_at,
        )


class ProblemSetListOut(BaseModel):
    """Up to a hundred versions. Pass `next_after` as `after` for those behind them."""

    problem_sets: list[ProblemSetOut]
    next_after: int | None


class ProblemLineOut(BaseModel):
    """One problem. `cases` null: its tests are code."""

    id: int
    key: str
    title: str
    language: str
    cases: int | None
    buggy_programs: int


class ProblemSetDetailOut(ProblemSetOut):
    """A version with up to a hundred of its problems. Pass `next_after` as `after` for more."""

    items: list[ProblemLineOut] = []
    next_after: int | None = None


@router.get("")
def list_problem_sets(
    state: State, after: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None
) -> ProblemSetListOut:
    """Versions of problem sets by name, newest first within one."""
    with state.db.read() as session:
        page = queries.list_problem_sets(session, after)
    return ProblemSetListOut(
        problem_sets=[ProblemSetOut.of(line.version) for line in page.rows], next_after=page.next_after
    )


@router.get("/{problem_set_id}")
def get_problem_set(
    state: State, problem_set_id: RowId, after: Annotated[int | None, Query(ge=0, le=LARGEST_ID)] = None
) -> ProblemSetDetailOut:
    """One version of a set."""
    with state.db.read() as session:
        detail = ProblemSetDetailOut.of(queries.problem_set(session, problem_set_id))
        page = queries.list_problems(session, problem_set_id, after)
    detail.items = [
        ProblemLineOut(
            id=row.id,
            key=row.key,
            title=row.title,
            language=row.language,
            cases=row.cases,
            buggy_programs=row.buggy_programs,
        )
        for row in page.rows
    ]
    detail.next_after = page.next_after
    return detail
