"""Iterative refinement over the API."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from app.db.base import LARGEST_ID
from app.domain.errors import NotFoundError
from app.services.challenge_set import LONGEST_NAME, MOST_RUNS, ChallengeRequest, make_challenge_set
from app.web import refined_runs
from app.web.deps import RowId, State
from app.web.forms import LARGEST_COUNT
from app.web.refined_runs import RefinedQuery, refined_view
from app.web.refinement import RefinementQuery, document, refinement_view

router = APIRouter(prefix="/api", tags=["refinement"])


class ChallengeIn(BaseModel):
    """The `size` problems whose first attempts failed most over the `runs`, to be stored under a `name`."""

    runs: list[Annotated[int, Field(ge=1, le=LARGEST_ID)]] = Field(min_length=1, max_length=MOST_RUNS)
    size: int = Field(ge=1, le=LARGEST_COUNT)
    name: str = Field(max_length=LONGEST_NAME)


class ChallengeOut(BaseModel):
    """The problem set made; `created` false where the very same was there before. `notes` say where it comes from."""

    problem_set_id: int
    name: str
    version: int
    problems: int
    created: bool
    notes: list[str]


@router.get("/runs/{run_id}/refinement")
def get_refinement(state: State, run_id: RowId, count_last: bool = False, published: bool = False) -> dict[str, Any]:
    """ISR@k, medians, fixes by verdict, verdict flow, tiers, and a single attempt against all of a run.

    Shares are fractions, null is undefined with its `status`; intervals are of 95 %. `count_last`: a failing attempt
    that none follows is an occurrence. `published`: syntax errors count as runtime errors, as in the paper's table,
    whose rows are told beside.
    """
    with state.db.read() as session:
        return document(refinement_view(session, run_id, RefinementQuery(count_last, published)))


@router.get("/refinement")
def get_refined_runs(request: Request, state: State) -> dict[str, Any]:
    """Runs of a problem set (`set`) by difficulty; `subset`, `run` (ids, comma-separated) and `start` narrow them."""
    with state.db.read() as session:
        view = refined_view(session, RefinedQuery.read(request.query_params))
    if view is None:
        raise NotFoundError("there are no runs yet")
    return refined_runs.document(view)


@router.post("/challenge-sets", status_code=201)
def create_challenge_set(state: State, body: ChallengeIn) -> ChallengeOut:
    """Make a problem set of what runs failed most; ties are broken by key."""
    report = make_challenge_set(state.db, ChallengeRequest(body.runs, body.size, body.name))
    return ChallengeOut(
        problem_set_id=report.problem_set_id,
        name=report.name,
        version=report.version,
        problems=report.problems,
        created=report.created,
        notes=list(report.notes),
    )
