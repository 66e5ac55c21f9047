"""The calculator: decay from counts that a person has, and what a planned run can show. Nothing is stored."""

import math
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from app.domain.errors import InputError
from app.domain.metrics.comparison import smallest_difference
from app.domain.metrics.planning import smallest_rate
from app.domain.protocol.policy import MAX_ATTEMPTS, Protocol
from app.web import charts, fits
from app.web.rendering import render

router = APIRouter()

EXAMPLE = {"solved": "84,17,4,1,3,0", "of": "164"}
SHARES_DIFFERING = (10, 20, 30, 40, 50)
"""Percent of the problems on which two runs differ, for the planner's table."""

Text = Annotated[str, Query(max_length=2000)]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a planned run can show; None is nothing.

    `differences` go by the percent of the problems on which two runs differ; `rates` are of the fit of all attempts
    and of debugging alone.
    """

    problems: int
    differences: dict[int, float | None]
    rates: tuple[float | None, float | None]

    def half_life(self, rate: float) -> float:
        """ln 2/λ in attempts."""
        return math.log(2) / rate


@router.get("/calculator")
def calculate(
    request: Request,
    solved: Text = "",
    of: Text = "",
    censored: Text = "",
    theta: Text = "",
    problems: Text = "",
    attempts: Text = "",
    first: Text = "",
) -> Response:
    """The page; its address holds everything that was entered."""
    form = {
        "solved": solved, "of": of, "censored": censored, "theta": theta,
        "problems": problems, "attempts": attempts, "first": first,
    }  # fmt: skip
    errors: dict[str, str] = {}
    found = plan = None
    if solved or of:
        try:
            found = fits.fits_of_text(solved, _number(of, "of", "problems"), censored, theta)
        except InputError as error:
            errors |= _named(error, ("solved", "of", "censored", "theta"))
    if problems or attempts or first:
        try:
            plan = _plan(problems, attempts, first)
        except InputError as error:
            errors |= _named(error, ("problems", "attempts", "first"))
    context: dict[str, Any] = {
        "form": form, "errors": errors, "found": found, "plan": plan, "fitting": fits, "example": EXAMPLE,
    }  # fmt: skip
    if found is not None:
        policy = Protocol(attempts=max(1, len(found.published.points)))
        context["policy"] = policy
        context["chart"] = charts.decay_chart(found.published, policy, (found.careful, found.debugging))
    return render(request, "pages/calculator.html", context, status_code=422 if errors else 200)


@router.get("/calculator/figures.json")
def download(solved: Text = "", of: Text = "", censored: Text = "", theta: Text = "") -> Response:
    """The figures as `halflife metrics decay --json` prints them."""
    found = fits.fits_of_text(solved, _number(of, "of", "problems"), censored, theta)
    headers = {"Content-Disposition": 'attachment; filename="decay.json"'}
    return JSONResponse(fits.fits_document(found), headers=headers)


def _plan(problems: str, attempts: str, first: str) -> Plan:
    n, k = _number(problems, "problems", "problems"), _number(attempts, "attempts", "attempts")
    if not 1 <= n <= fits.MOST_PROBLEMS:
        raise InputError(f"problems: there must be 1 to {fits.MOST_PROBLEMS:,}, not {n:,}")
    if not 1 <= k <= MAX_ATTEMPTS:
        raise InputError(f"attempts: there must be 1 to {MAX_ATTEMPTS}, not {k:,}")
    try:
        percent = float(first)
    except ValueError:
        percent = 0.0
    if not 0 < percent < 100:
        raise InputError(f"first: {first[:40]!r} is not a percentage between 0 and 100")
    chance = percent / 100
    differences = {share: smallest_difference(n, share / 100) for share in SHARES_DIFFERING}
    return Plan(n, differences, (smallest_rate(n, chance, k), smallest_rate(n, chance, k, start=1)))


def _number(text: str, name: str, of: str) -> int:
    digits = text.strip().replace(",", "")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise InputError(f"{name}: {text[:40]!r} is no number of {of}")
    return int(digits)


def _named(error: InputError, names: tuple[str, ...]) -> dict[str, str]:
    """The error under the field that it names, or under the first."""
    name, _, said = str(error).partition(": ")
    return {name: said} if name in names and said else {names[0]: str(error)}
