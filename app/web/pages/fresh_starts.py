"""Fresh starts: a baseline, its arms, and the form that starts more of them."""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel

from app.db.queries.fresh_starts import fresh_starts
from app.domain.errors import ConflictError, InputError
from app.services.add_arms import ArmRequest, start_arms
from app.web import charts
from app.web.deps import RowId, State
from app.web.fits import p_value
from app.web.forms import FieldErrors, read_arms
from app.web.fresh_starts import CSV_HEADER, arm_views, chart_sentence, csv_rows, detectable, sentence
from app.web.rendering import render
from app.web.tables import csv_lines
from app.web.waking import wake_run

router = APIRouter(prefix="/runs/{run_id}/fresh-starts")


class ArmsForm(BaseModel):
    """The form as typed."""

    arm: list[str] = []
    more: str = ""
    independent: str = ""


@router.get("")
def show(request: Request, state: State, run_id: RowId) -> Response:
    """The comparison that a run belongs to."""
    return _page(request, state, run_id, ArmsForm(), {})


@router.get(".csv")
def as_csv(state: State, run_id: RowId) -> Response:
    """A row an arm."""
    with state.db.read() as session:
        found = fresh_starts(session, run_id)
    name = f"halflife-run-{found.head.run.id}-fresh-starts.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response("".join(csv_lines(CSV_HEADER, csv_rows(found))), media_type="text/csv", headers=headers)


@router.post("")
def start(request: Request, state: State, run_id: RowId, form: Annotated[ArmsForm, Form()]) -> Response:
    """Start arms beside the baseline."""
    errors = FieldErrors()
    nothing: tuple[ArmRequest, ...] = ()
    arms = errors.read("more", lambda: read_arms(form.arm, form.more), nothing)
    if not errors.messages:
        try:
            for arm_id in start_arms(state.db, run_id, arms, shares=not form.independent):
                wake_run(state, arm_id)
            return RedirectResponse(f"/runs/{run_id}/fresh-starts", status_code=303)
        except (InputError, ConflictError) as error:
            errors.messages["more"] = str(error).removeprefix("arm: ").removeprefix("fresh start: ")
    return _page(request, state, run_id, form, errors.messages, status=422)


def _page(
    request: Request, state: State, run_id: int, form: ArmsForm, errors: dict[str, str], *, status: int = 200
) -> Response:
    with state.db.read() as session:
        found = fresh_starts(session, run_id)
    views = arm_views(found)
    context: dict[str, Any] = {
        "head": found.head,
        "baseline": found.baseline,
        "run": found.head.run,
        "views": views,
        "sentence": sentence(views),
        "chart": charts.arms_chart([(view.name, view.curve, view.arm.started) for view in views]),
        "chart_sentence": chart_sentence(views),
        "detectable": detectable,
        "p_value": p_value,
        "form": form,
        "errors": errors,
        "live": any(not view.ended for view in views),
    }
    return render(request, "pages/fresh_starts.html", context, status_code=status)
