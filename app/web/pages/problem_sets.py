"""Problem sets by name and version, one version's problems, and one problem."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.db.base import LARGEST_ID
from app.db.queries import problem_sets as queries
from app.domain.problems import CaseTests, StdinTests
from app.web.deps import AppState, RowId, State
from app.web.rendering import render

router = APIRouter(prefix="/problem-sets")

SIGNATURE, REFERENCE = "signature", "reference"
"""What may be loaded into the box, beside buggy programs."""


@router.get("")
def list_sets(
    request: Request, state: State, after: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None
) -> Response:
    """Problem sets, a hundred versions a page, and imports that brought none yet."""
    with state.db.read() as session:
        context = {
            "page": queries.list_problem_sets(session, after),
            "first_page": after is None,
            "imports": queries.latest_imports(session),
        }
    return render(request, "pages/problem_sets.html", context)


@router.get("/{problem_set_id}")
def show_set(
    request: Request,
    state: State,
    problem_set_id: RowId,
    q: str = "",
    difficulty: str = "",
    tests: str = "",
    buggy: str = "",
    after: Annotated[int | None, Query(ge=0, le=LARGEST_ID)] = None,
) -> Response:
    """One version: what validation found, and its problems, searched and narrowed."""
    narrowed = queries.ProblemFilter(_findable(q), _findable(difficulty), _findable(tests), bool(buggy))
    with state.db.read() as session:
        row = queries.problem_set(session, problem_set_id)
        context = {
            "problem_set": row,
            "report": _report(row.report),
            "page": queries.list_problems(session, problem_set_id, after, narrowed),
            "narrowed": narrowed,
            "choices": queries.filter_choices(session, problem_set_id),
            "first_page": after is None,
        }
    return render(request, "pages/problem_set.html", context)


@router.get("/{problem_set_id}/problems/{problem_id}")
def show_problem(
    request: Request, state: State, problem_set_id: RowId, problem_id: RowId, load: str = SIGNATURE
) -> Response:
    """One problem: what is asked, how it is judged, its buggy programs, and a box to try a program in.

    `load` names what the box holds: the signature, the reference, or a buggy program by its key.
    """
    context = problem_context(state, problem_set_id, problem_id)
    context["source"] = _loaded(context["detail"], load)
    return render(request, "pages/problem.html", context)


def problem_context(state: AppState, problem_set_id: int, problem_id: int) -> dict[str, Any]:
    """What the problem's page shows, with an empty box."""
    with state.db.read() as session:
        detail = queries.problem_detail(session, problem_set_id, problem_id)
    tests = detail.problem.tests
    cases = tests.cases if isinstance(tests, CaseTests | StdinTests) else None
    return {
        "detail": detail,
        "problem": detail.problem,
        "problem_id": problem_id,
        "visible_cases": [case for case in cases or () if case.visible],
        "hidden_count": None if cases is None else sum(not case.visible for case in cases),
        "source": "",
        "error": None,
    }


def _findable(text: str) -> str:
    """What was typed, without what no database holds as text."""
    return text.strip().replace("\0", "").encode("utf-8", "ignore").decode()


def _loaded(detail: queries.ProblemDetail, load: str) -> str:
    if load == REFERENCE:
        return next(iter(detail.problem.reference.files.values()), "")
    for buggy in detail.buggy_programs:
        if load == f"buggy:{buggy.key}":
            return next(iter(buggy.program.files.values()), "")
    return detail.problem.signature


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
