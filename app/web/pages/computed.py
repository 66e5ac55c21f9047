"""How each figure is computed."""

from dataclasses import asdict
from functools import lru_cache

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from markupsafe import Markup

from app.domain.metrics.catalogue import CATALOGUE
from app.domain.metrics.unequal import Unequal, unequal_difficulty
from app.web import charts
from app.web.rendering import render

router = APIRouter()


@router.get("/computed")
def how_it_is_computed(request: Request) -> Response:
    """Formulas and caveats; every figure of the other pages links to its paragraph here."""
    context = {"catalogue": CATALOGUE, "unequal": _unequal(), "unequal_chart": _unequal_chart()}
    return render(request, "pages/computed.html", context)


@router.get("/computed/unequal-difficulty.json")
def unequal_figures() -> Response:
    """The figures of the simulation without decline."""
    headers = {"Content-Disposition": 'attachment; filename="unequal-difficulty.json"'}
    return JSONResponse(asdict(_unequal()), headers=headers)


@lru_cache
def _unequal() -> Unequal:
    """As large as HumanEval, and as hard as it is for a weak model. Seeded, so that it is the same everywhere."""
    return unequal_difficulty(164, 6, (0.5, 1.5), repetitions=2000, seed=0)


@lru_cache
def _unequal_chart() -> Markup:
    return charts.unequal_chart(_unequal())
