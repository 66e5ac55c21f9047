"""The models that can be asked, the form that adds one, and one model: its test, its terms, its end."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.db.base import LARGEST_ID
from app.db.queries.endpoints import EndpointRow, endpoint_row, list_endpoints
from app.domain.errors import ConflictError, InputError
from app.domain.work import WorkerKind
from app.services.manage_endpoints import add_endpoint, archive_endpoint, change_endpoint, delete_endpoint
from app.services.try_model import submit_model_test
from app.web.deps import AppState, RowId, State
from app.web.forms import (
    ENDPOINT_FIELDS,
    REASONING,
    EndpointChangeForm,
    EndpointForm,
    FieldErrors,
    read_endpoint,
    read_endpoint_change,
)
from app.web.rendering import render

router = APIRouter(prefix="/models")


@router.get("")
def list_models(
    request: Request, state: State, after: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None
) -> Response:
    """The models, fifty a page, and the empty form."""
    return _list_page(request, state, EndpointForm(), FieldErrors(), after=after)


@router.post("")
def create_model(request: Request, state: State, form: Annotated[EndpointForm, Form()]) -> Response:
    """Add the model and go to its page, or show the form again with its errors."""
    errors = FieldErrors()
    wanted = read_endpoint(form, errors)
    if not errors.messages:
        try:
            model_id = add_endpoint(state.db, state.vault, wanted, state.addresses)
        except (InputError, ConflictError) as error:
            errors.place(error, ENDPOINT_FIELDS)
        else:
            return RedirectResponse(f"/models/{model_id}", status_code=303)
    return _list_page(request, state, form, errors, status_code=422)


@router.get("/{model_id}")
def show_model(request: Request, state: State, model_id: RowId) -> Response:
    """One model."""
    model = _model(state, model_id)
    return _model_page(request, model, _form_of(model), FieldErrors())


@router.get("/{model_id}/test")
def test_part(request: Request, state: State, model_id: RowId) -> Response:
    """The part of the page that waits for the test's answer."""
    return render(request, "partials/model_test.html", {"model": _model(state, model_id)})


@router.post("/{model_id}")
def change_model(
    request: Request, state: State, model_id: RowId, form: Annotated[EndpointChangeForm, Form()]
) -> Response:
    """Change its name, key, limits and prices, or show the form again with its errors."""
    errors = FieldErrors()
    change = read_endpoint_change(form, errors)
    if not errors.messages:
        try:
            change_endpoint(state.db, state.vault, model_id, change)
        except (InputError, ConflictError) as error:
            errors.place(error, ENDPOINT_FIELDS)
        else:
            return RedirectResponse(f"/models/{model_id}", status_code=303)
    # The key is write-only: it is typed again rather than sent back in a page.
    shown = form.model_copy(update={"api_key": ""})
    return _model_page(request, _model(state, model_id), shown, errors, status_code=422)


@router.post("/{model_id}/tests")
def test_model(state: State, model_id: RowId) -> Response:
    """Ask the model one tiny request; its page shows how it went."""
    submit_model_test(state.db, model_id)
    state.queue.wake(WorkerKind.GENERATE)
    return RedirectResponse(f"/models/{model_id}#test", status_code=303)


@router.post("/{model_id}/archive")
def archive_model(state: State, model_id: RowId) -> Response:
    """Offer it to new runs no more."""
    archive_endpoint(state.db, model_id, archived=True)
    return RedirectResponse(f"/models/{model_id}", status_code=303)


@router.post("/{model_id}/restore")
def restore_model(state: State, model_id: RowId) -> Response:
    """Offer it to new runs again."""
    archive_endpoint(state.db, model_id, archived=False)
    return RedirectResponse(f"/models/{model_id}", status_code=303)


@router.post("/{model_id}/delete")
def delete_model(state: State, model_id: RowId) -> Response:
    """Delete it, where no run used it."""
    delete_endpoint(state.db, model_id)
    return RedirectResponse("/models", status_code=303)


def _list_page(
    request: Request,
    state: AppState,
    form: EndpointForm,
    errors: FieldErrors,
    status_code: int = 200,
    after: int | None = None,
) -> Response:
    with state.db.read() as session:
        page = list_endpoints(session, after)
    # The key is write-only: it is typed again rather than sent back in a page.
    shown = form.model_copy(update={"api_key": ""})
    context = {"page": page, "first_page": after is None, "form": shown, "errors": errors.messages}
    return render(request, "pages/models.html", context, status_code=status_code)


def _model_page(
    request: Request, model: EndpointRow, form: EndpointChangeForm, errors: FieldErrors, status_code: int = 200
) -> Response:
    context = {"model": model, "form": form, "errors": errors.messages}
    return render(request, "pages/model.html", context, status_code=status_code)


def _model(state: AppState, model_id: int) -> EndpointRow:
    with state.db.read() as session:
        return endpoint_row(session, model_id)


def _form_of(model: EndpointRow) -> EndpointChangeForm:
    """The stored terms as they would be typed."""
    return EndpointChangeForm(
        name=model.name,
        concurrency=str(model.concurrency),
        timeout_seconds=f"{model.timeout_seconds:g}",
        price_input="" if model.price_input is None else repr(model.price_input),
        price_output="" if model.price_output is None else repr(model.price_output),
        reasoning=REASONING[model.reasoning],
    )
