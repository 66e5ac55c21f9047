"""Problem sets by name and version, one version's problems, and one problem."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.db.base import LARGEST_ID
from app.db.queries import problem_sets as queries
from app.domain.problems import CaseTests
from app.web.deps import RowId, State
from app.web.rendering import render

router = APIRouter(prefix="/problem-sets")


@router.get("")
def list_sets(request: Request, state: State) -> Response:
    """Every problem set."""
    with state.db.read() as session:
        families = queries.list_problem_sets(session)
    return render(request, "pages/problem_sets.html", {"families": families})


@router.get("/{problem_set_id}")
def show_set(
    request: Request,
    state: State,
    problem_set_id: RowId,
    after: Annotated[int | None, Query(ge=0, le=LARGEST_ID)] = None,
) -> Response:
    """One version: what validation found, and its problems."""
    with state.db.read() as session:
        row = queries.problem_set(session, problem_set_id)
        page = queries.list_problems(session, problem_set_id, after)
    context = {"problem_set": row, "report": _report(row.report), "page": page, "first_page": after is None}
    return render(request, "pages/problem_set.html", context)


@router.get("/{problem_set_id}/problems/{problem_id}")
def show_problem(request: Request, state: State, problem_set_id: RowId, problem_id: RowId) -> Response:
    """One problem: what is asked, how it is judged, and its buggy programs."""
    with state.db.read() as session:
        detail = queries.problem_detail(session, problem_set_id, problem_id)
    tests = detail.problem.tests
    context = {
        "detail": detail,
        "problem": detail.problem,
        "visible_cases": [case for case in tests.cases if case.visible] if isinstance(tests, CaseTests) else [],
        "hidden_count": sum(not case.visible for case in tests.cases) if isinstance(tests, CaseTests) else None,
    }
    return render(request, "pages/problem.html", context)


def _report(stored: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """The validation report as (what, why) lines. Reports of other versions of an importer are shown as they are."""

    def lines(name: str) -> list[tuple[str, str]]:
        entries = stored.get(name) or []
        if not isinstance(entries, list):
            entries = [entries]
        return [
            (str(entry.get("key", "")), str(entry.get("reason", ""))) if isinstance(entry, dict) else ("", str(entry))
            for entry in entries
        ]

    return {name: lines(name) for name in ("rejected", "warnings", "notes")}
