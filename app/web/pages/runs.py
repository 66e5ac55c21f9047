"""The list of runs, and the form that starts one."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.db.base import LARGEST_ID
from app.db.models import RunStatus
from app.db.queries import runs as queries
from app.db.queries.run import run_head
from app.db.queries.runs import RunFilter, RunOrder, SortKey
from app.domain.errors import ConflictError, InputError, NotFoundError
from app.domain.protocol.presets import PRESETS
from app.domain.protocol.prompts import PROMPTS_VERSIONS, prompts_name
from app.services.plan_run import plan_run
from app.services.submit_run import RunRequest, submit_run
from app.web import pace
from app.web.deps import AppState, State
from app.web.forms import RUN_FIELDS, FieldErrors, RunForm, preset_of, read_run, run_form
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
    search: str = "",
    sort: str = "",
    direction: str = "",
    after: str = "",
) -> Response:
    """Runs, newest first or as sorted, narrowed by status, model, problem set and what is searched for."""
    narrowed = RunFilter(
        status=status if status in set(RunStatus) else None,
        endpoint_id=int(model) if model.isascii() and model.isdigit() and len(model) < 10 else None,
        problem_set=problem_set.replace("\0", "") or None,
        search=search.replace("\0", "").strip()[:200] or None,
    )
    key = SortKey(sort) if sort in set(SortKey) else SortKey.NEWEST
    order = RunOrder(key, falling=direction != "up")
    with state.db.read() as session:
        page = queries.list_runs(session, narrowed, order, after or None)
        context = {
            "page": page,
            "narrowed": narrowed,
            "order": order,
            "address": _Address(narrowed, order),
            "models": queries.model_choices(session),
            "problem_sets": queries.problem_set_names(session),
            "statuses": list(RunStatus),
            "demo_runs": queries.demo_runs(session),
            "first_page": not after,
            "under_way": any(row.status == RunStatus.RUNNING for row in page.rows),
            "now": datetime.now(UTC),
            "pace": pace,
        }
    return render(request, "pages/runs.html", context)


@router.get("/runs/new")
def new_run(
    request: Request,
    state: State,
    problem_set: str = "",
    model: str = "",
    clone: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None,
) -> Response:
    """The form: empty, with a problem set or a model chosen by a link, or filled in as a run that there is."""
    form = RunForm(problem_set=problem_set, model=model)
    if clone is not None:
        with state.db.read() as session:
            cloned = run_head(session, clone).run
        if cloned.imported_from is not None:
            raise ConflictError(f"run {clone} was imported: its model cannot be asked, so it is not cloned")
        form = run_form(cloned)
    errors = FieldErrors()
    wanted = read_run(form, errors)
    # A form that is not filled in yet has no errors to show.
    return _form_page(request, state, form, FieldErrors(), None if errors.messages else wanted)


@router.post("/runs/preview")
def preview(request: Request, state: State, form: Annotated[RunForm, Form()]) -> Response:
    """The form again, with what the run would send and use; nothing is started."""
    form = form.with_preset()
    errors = FieldErrors()
    wanted = read_run(form, errors)
    return _form_page(request, state, form, errors, None if errors.messages else wanted)


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
            shown = "/grid" if len(wanted.cells) > 1 and not wanted.dry_run else ""
            return RedirectResponse(f"/runs/{run_id}{shown}", status_code=303)
    return _form_page(request, state, form, errors)


def _form_page(
    request: Request, state: AppState, form: RunForm, errors: FieldErrors, wanted: RunRequest | None = None
) -> Response:
    """The form; with the plan of the run that is `wanted`, if it can be made."""
    plan = None
    with state.db.read() as session:
        if wanted is not None:
            try:
                plan = plan_run(session, wanted, form.shown.strip() or None)
            except (InputError, NotFoundError) as error:
                errors.place(error, RUN_FIELDS)
        context = {
            "form": form,
            "errors": errors.messages,
            "models": queries.model_choices(session, archived=False),
            "problem_sets": queries.problem_set_choices(session),
            "difficulties": queries.difficulties(session),
            "presets": PRESETS,
            "preset": preset_of(form),
            "plan": plan,
            "wanted": wanted,
            "prompts_name": ""
            if wanted is None
            else prompts_name(PROMPTS_VERSIONS[wanted.protocol.prompts], wanted.protocol),
            "pace": pace,
        }
    refused = errors.messages and request.method == "POST"
    return render(request, "pages/run_new.html", context, status_code=422 if refused else 200)


class _Address:
    """Addresses of the list as it is, with something about it changed."""

    def __init__(self, narrowed: RunFilter, order: RunOrder) -> None:
        self._narrowed = narrowed
        self._order = order

    def page(self, after: str | None = None) -> str:
        """The page behind `after`, None for the first."""
        return self._to(self._order, after)

    def sorted_by(self, key: str) -> str:
        """By another column, falling; by the same one the other way round. Names rise first."""
        same = key == self._order.key
        falling = not self._order.falling if same else key != SortKey.MODEL
        return self._to(replace(self._order, key=SortKey(key), falling=falling), None)

    def _to(self, order: RunOrder, after: str | None) -> str:
        fields = {
            "status": self._narrowed.status,
            "model": self._narrowed.endpoint_id,
            "problem_set": self._narrowed.problem_set,
            "search": self._narrowed.search,
            "sort": None if order.key is SortKey.NEWEST else order.key.value,
            "direction": None if order.falling else "up",
            "after": after,
        }
        query = urlencode({name: value for name, value in fields.items() if value is not None})
        return f"/runs?{query}" if query else "/runs"
