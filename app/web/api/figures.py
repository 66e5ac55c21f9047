"""Every figure of a run over the API."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from app.db.queries.decay_counts import decay_counts
from app.db.queries.outcomes import run_outcomes
from app.web.deps import RowId, State
from app.web.fits import fits, fits_document
from app.web.measures import left_out, measures_document

router = APIRouter(prefix="/api/runs/{run_id}/figures", tags=["runs"])


@router.get("")
def get_figures(state: State, run_id: RowId, seed: Annotated[int, Query(ge=0, lt=2**63)] = 0) -> dict[str, Any]:
    """What `halflife metrics run --json` prints, and under `decay` what `halflife metrics decay --json` does.

    Shares are fractions, null is undefined with its `status`; intervals are of 95 %. `seed` is that of the resamples.
    """
    with state.db.read() as session:
        outcomes, counts = run_outcomes(session, run_id), decay_counts(session, run_id)
    decay = fits_document(fits(counts.solved, counts.of, counts.censored))
    return {"decay": decay, **measures_document(outcomes, left_out(counts), seed)}
