"""Runs beside each other over the API, and as files."""

from typing import Any

from fastapi import APIRouter, Request, Response

from app.web.comparison import CompareQuery, Comparison, Table, compare, document, table_rows
from app.web.deps import AppState, State
from app.web.latex import comparison_tables
from app.web.methods import comparison_methods
from app.web.tables import csv_lines

router = APIRouter(prefix="/api/compare", tags=["comparison"])

_RUNS: dict[str, Any] = {
    "parameters": [
        {
            "name": "runs",
            "in": "query",
            "required": True,
            "schema": {"type": "string"},
            "description": "Ids of two to ten runs, separated by commas.",
        }
    ]
}


@router.get("", openapi_extra=_RUNS)
def get_comparison(request: Request, state: State) -> dict[str, Any]:
    """Runs with every figure, the differences of every two of them paired by problem, and each problem's end in each.

    Shares are fractions with 95 % intervals; null is undefined or unknown. `p_holm` is mid-p adjusted over the pairs.
    A problem's end is the attempt that solved it, `unsolved`, or `not_ended`; null where it is not among the run's.
    """
    return document(_compared(request, state))


@router.get("/{table}.csv", openapi_extra=_RUNS, response_class=Response)
def get_comparison_csv(request: Request, state: State, table: Table) -> Response:
    """`figures` (a row a figure of a run), `pairs` (a row a pair) or `problems` (a row a problem) as CSV.

    docs/exports.md says what each column holds.
    """
    header, rows = table_rows(_compared(request, state), table)
    return _file("".join(csv_lines(header, rows)), "text/csv; charset=utf-8", f"comparison-{table}.csv")


@router.get("/latex", openapi_extra=_RUNS, response_class=Response)
def get_comparison_latex(request: Request, state: State) -> Response:
    """The figures side by side and the pairs as LaTeX tables with booktabs."""
    return _file(comparison_tables(_compared(request, state)), "application/x-tex; charset=utf-8", "comparison.tex")


@router.get("/methods", openapi_extra=_RUNS, response_class=Response)
def get_comparison_methods(request: Request, state: State) -> Response:
    """A methods section as text: settings, versions, seeds, exclusions, statistics, software, sources."""
    return _file(comparison_methods(_compared(request, state)), "text/plain; charset=utf-8", "comparison-methods.txt")


def _file(content: str, media_type: str, name: str) -> Response:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=disposition)


def _compared(request: Request, state: AppState) -> Comparison:
    return compare(state.db, CompareQuery.read(request.query_params).run_ids)
