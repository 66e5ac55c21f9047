"""Two to ten runs beside each other: curves, figures, pairs, and where they differ problem by problem."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.domain.errors import InputError, NotFoundError
from app.web import charts, comparison, fits
from app.web.board import BY_SLUG
from app.web.comparison import FEWEST, MOST, PAGE, WHOLE, CompareQuery, Table, compare
from app.web.deps import State
from app.web.rendering import render
from app.web.scatter import Axis, accuracy_against

router = APIRouter(prefix="/compare")


@router.get("")
def show_comparison(request: Request, state: State) -> Response:
    """The comparison; without runs that can be compared, what to do."""
    try:
        query = CompareQuery.read(request.query_params)
    except InputError as error:
        return _choice(request, CompareQuery(), str(error))
    if len(query.run_ids) < FEWEST:
        return _choice(request, query, None)
    if "run" in request.query_params or len(request.query_params.getlist("runs")) > 1:
        # What a form sent becomes an address to pass on.
        return RedirectResponse(f"/compare?{query.address()}", status_code=303)
    try:
        found = compare(state.db, query.run_ids)
    except NotFoundError as error:
        return _choice(request, query, str(error), status=404)
    rows = [row for row in found.rows if row.differs or not query.differing]
    long = len(rows) > WHOLE
    places = slice((query.page - 1) * PAGE, query.page * PAGE) if long else slice(None)
    fitted = [fits.fits_of_run(run.figures) for run in found.runs]
    attempts = max(run.row.protocol.attempts for run in found.runs)
    budgets = comparison.budgets(found)
    context = {
        "query": query,
        "found": found,
        "fitted": fitted,
        "fitting": fits,
        "comparison": comparison,
        "chart": charts.comparison_chart(
            [(name, fit.published, fit.careful) for name, fit in zip(found.names, fitted, strict=True)], attempts
        ),
        "budgets": budgets,
        "budget_chart": None
        if budgets is None
        else charts.budget_chart(
            budgets.budgets,
            [budgets.budgets[place] for place in budgets.marked],
            [
                (place, name, shares)
                for place, (name, shares) in enumerate(zip(found.names, budgets.shares, strict=True))
                if shares is not None
            ],
        ),
        "scatters": [drawn for axis in Axis if (drawn := accuracy_against(axis, found.lines)) is not None],
        "rows": rows[places],
        "first": places.start or 0,
        "total": len(rows),
        "next_page": query.page + 1 if long and query.page * PAGE < len(rows) else None,
        "tables": list(Table),
        "columns": BY_SLUG,
    }
    return render(request, "pages/compare.html", context)


def _choice(request: Request, query: CompareQuery, error: str | None, *, status: int = 400) -> Response:
    context = {"query": query, "error": error, "most": MOST}
    return render(request, "pages/compare_choice.html", context, status_code=status if error else 200)
