"""The models that can be asked, and the form that adds one."""

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from app.db.queries.endpoints import list_endpoints
from app.domain.errors import ConflictError, InputError
from app.services.manage_endpoints import add_endpoint
from app.web.deps import AppState, State
from app.web.forms import ENDPOINT_FIELDS, EndpointForm, FieldErrors, read_endpoint
from app.web.rendering import render

router = APIRouter(prefix="/models")


@router.get("")
def list_models(request: Request, state: State) -> Response:
    """Every model, and the empty form."""
    return _page(request, state, EndpointForm(), FieldErrors())


@router.post("")
def create_model(request: Request, state: State, form: Annotated[EndpointForm, Form()]) -> Response:
    """Add the model, or show the form again with its errors."""
    errors = FieldErrors()
    wanted = read_endpoint(form, errors)
    if not errors.messages:
        try:
            add_endpoint(state.db, state.vault, wanted)
        except (InputError, ConflictError) as error:
            errors.place(error, ENDPOINT_FIELDS)
        else:
            return RedirectResponse("/models", status_code=303)
    return _page(request, state, form, errors, status_code=422)


def _page(
    request: Request, state: AppState, form: EndpointForm, errors: FieldErrors, status_code: int = 200
) -> Response:
    with state.db.read() as session:
        models = list_endpoints(session)
    # The key is write-only: it is typed again rather than sent back in a page.
    shown = form.model_copy(update={"api_key": ""})
    context = {"models": models, "form": shown, "errors": errors.messages}
    return render(request, "pages/models.html", context, status_code=status_code)
