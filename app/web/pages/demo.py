"""Loading the demo data, and removing it."""

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse

from app.services.demo_data import load_demo, remove_demo
from app.web.deps import State
from app.web.waking import wake_judges

router = APIRouter(prefix="/demo")


@router.post("/load")
def load(state: State) -> Response:
    """Store the recorded runs that come with Halflife, and show them."""
    load_demo(state.db)
    wake_judges(state)
    return RedirectResponse("/runs", status_code=303)


@router.post("/remove")
def remove(state: State) -> Response:
    """Delete every run that is demo data."""
    remove_demo(state.db)
    return RedirectResponse("/runs", status_code=303)
