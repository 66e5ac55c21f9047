"""Iterative refinement: what the attempts of one run after its first came to, and runs of a set side by side."""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import QueryParams

from app.domain.errors import ConflictError, InputError, NotFoundError
from app.services.challenge_set import make_challenge_set
from app.web import refined_runs, refinement_charts
from app.web.deps import AppState, RowId, State
from app.web.fits import p_value
from app.web.forms import CHALLENGE_FIELDS, ChallengeForm, FieldErrors, read_challenge
from app.web.measures import figure_words
from app.web.refined_runs import RefinedQuery, refined_view
from app.web.refinement import (
    CSV_HEADER,
    RefinementQuery,
    csv_rows,
    flow_sentence,
    isr_sentence,
    median_words,
    published_rows,
    refinement_view,
)
from app.web.rendering import render
from app.web.tables import csv_lines
from app.web.tiers import FIGURES

router = APIRouter()


@router.get("/runs/{run_id}/refinement")
def show(request: Request, state: State, run_id: RowId, count_last: str = "", published: str = "") -> Response:
    """One run."""
    with state.db.read() as session:
        view = refinement_view(session, run_id, RefinementQuery.read(count_last, published))
    pair = view.single.paired
    other = None if view.single.run_id is None or not pair.n else (pair.both + pair.lost) / pair.n
    context: dict[str, Any] = {
        "view": view,
        "head": view.found.head,
        "run": view.found.head.run,
        "isr_sentence": isr_sentence(view),
        "isr_chart": refinement_charts.isr_chart(view.within, other),
        "flow_sentence": flow_sentence(view),
        "flow_chart": refinement_charts.flow_chart(view.flow.matrix),
        "median_words": median_words,
        "figure_words": figure_words,
        "published_rows": published_rows(),
        "p_value": p_value,
    }
    return render(request, "pages/refinement.html", context)


@router.get("/runs/{run_id}/refinement.csv")
def as_csv(state: State, run_id: RowId, count_last: str = "", published: str = "") -> Response:
    """Every figure of the page, a row each."""
    with state.db.read() as session:
        view = refinement_view(session, run_id, RefinementQuery.read(count_last, published))
    headers = {"Content-Disposition": f'attachment; filename="halflife-run-{run_id}-refinement.csv"'}
    return Response("".join(csv_lines(CSV_HEADER, csv_rows(view))), media_type="text/csv", headers=headers)


@router.get("/refinement")
def runs_of_a_set(request: Request, state: State) -> Response:
    """Runs of a problem set side by side, by difficulty."""
    return _runs_page(request, state, RefinedQuery.read(request.query_params), ChallengeForm(), {})


@router.get("/refinement.csv")
def runs_as_csv(request: Request, state: State) -> Response:
    """A row a run and difficulty."""
    with state.db.read() as session:
        view = refined_view(session, RefinedQuery.read(request.query_params))
    rows = [] if view is None else refined_runs.csv_rows(view)
    headers = {"Content-Disposition": 'attachment; filename="halflife-refinement.csv"'}
    return Response("".join(csv_lines(refined_runs.CSV_HEADER, rows)), media_type="text/csv", headers=headers)


@router.post("/refinement/challenge-set")
def make_set(request: Request, state: State, form: Annotated[ChallengeForm, Form()]) -> Response:
    """Make a problem set of what the ticked runs failed most."""
    errors = FieldErrors()
    wanted = read_challenge(form, errors)
    if not errors.messages:
        try:
            report = make_challenge_set(state.db, wanted)
            return RedirectResponse(f"/problem-sets/{report.problem_set_id}", status_code=303)
        except (InputError, ConflictError, NotFoundError) as error:
            errors.place(error, CHALLENGE_FIELDS)
    return _runs_page(
        request, state, RefinedQuery.read(QueryParams(form.query)), form, errors.messages, status_code=422
    )


def _runs_page(
    request: Request,
    state: AppState,
    query: RefinedQuery,
    form: ChallengeForm,
    errors: dict[str, str],
    *,
    status_code: int = 200,
) -> Response:
    with state.db.read() as session:
        view = refined_view(session, query)
    context: dict[str, Any] = {
        "view": view,
        "figures": FIGURES,
        "marks": refined_runs.MARKS,
        "form": form,
        "errors": errors,
    }
    return render(request, "pages/refined_runs.html", context, status_code=status_code)
