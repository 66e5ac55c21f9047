"""How each figure is computed."""

from fastapi import APIRouter, Request, Response

from app.domain.metrics.catalogue import CATALOGUE
from app.web.rendering import render

router = APIRouter()


@router.get("/computed")
def how_it_is_computed(request: Request) -> Response:
    """Formulas and caveats; every figure of the other pages links to its paragraph here."""
    return render(request, "pages/computed.html", {"catalogue": CATALOGUE})
