"""The list of runs, and the form that starts one."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.db.base import LARGEST_ID
from app.db.models import RunStatus
from app.db.queries import runs as queries
from app.domain.errors import ConflictError, InputError, NotFoundError
from app.services.submit_run import submit_run
from app.web.deps import AppState, State
from app.web.forms import RUN_FIELDS, FieldErrors, RunForm, read_run
from app.web.rendering import render
from app.web.waking import wake_run

router = APIRouter()


@router.get("/")
def home() -> Response:
    """The runs are the start page."""
    return RedirectResponse("/runs")


@router.get("/runs")
def list_runs(
    request: Request,
    state: State,
    status: str = "",
    model: str = "",
    problem_set: str = "",
    before: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None,
) -> Response:
    """Runs, newest first, narrowed by status, model and problem set."""
    narrowed = queries.RunFilter(
        status=status if status in set(RunStatus) else None,
        endpoint_id=int(model) if model.isascii() and model.isdigit() and len(model) < 10 else None,
        problem_set=problem_set.replace("\0", "") or None,
    )
    with state.db.read() as session:
        page = queries.list_runs(session, narrowed, before)
        context = {
            "page": page,
            "narrowed": narrowed,
            "models": queries.model_choices(session),
            "problem_sets": queries.problem_set_names(session),
            "statuses": list(RunStatus),
            "first_page": before is None,
        }
    return render(request, "pages/runs.html", context)


@router.get("/runs/new")
def new_run(request: Request, state: State, problem_set: str = "", model: str = "") -> Response:
    """The empty form; a link may choose the problem set or the model beforehand."""
    return _form_page(request, state, RunForm(problem_set=problem_set, model=model), FieldErrors())


@router.post("/runs")
def create_run(request: Request, state: State, form: Annotated[RunForm, Form()]) -> Response:
    """Start the run and go to its page, or show the form again with its errors."""
    errors = FieldErrors()
    wanted = read_run(form, errors)
    if not errors.messages:
        try:
            run_id = submit_run(state.db, wanted)
        except (InputError, NotFoundError, ConflictError) as error:
            errors.place(error, RUN_FIELDS)
        else:
            wake_run(state, run_id)
            return RedirectResponse(f"/runs/{run_id}", status_code=303)
    return _form_page(request, state, form, errors, status_code=422)


def _form_page(
    request: Request, state: AppState, form: RunForm, errors: FieldErrors, status_code: int = 200
) -> Response:
    with state.db.read() as session:
        context = {
            "form": form,
            "errors": errors.messages,
            "models": queries.model_choices(session, archived=False),
            "problem_sets": queries.problem_set_choices(session),
        }
    return render(request, "pages/run_new.html", context, status_code=status_code)
