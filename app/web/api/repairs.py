"""Precise debugging of a run over the API."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from app.db.base import LARGEST_ID
from app.db.queries.precision import ItemFilter, ItemKind, repair_items, repair_summary
from app.db.queries.repair_item import repaired_item
from app.db.queries.run import run_head
from app.domain.metrics.behaviour import USUAL_CUT_OFFS, CutOffs
from app.domain.protocol.policy import MAX_ATTEMPTS
from app.web.deps import RowId, State
from app.web.repairs import item_document, repair_document, repairs_document
from app.web.whole_run import run_line

router = APIRouter(prefix="/api/runs/{run_id}/precision", tags=["runs"])

Round = Annotated[int | None, Query(ge=1, le=MAX_ATTEMPTS, description="From 1; each item's last when left out.")]
PreciseFrom = Annotated[float, Query(ge=0, le=100, description="Percent.")]


@router.get("")
def get_repairs(
    state: State,
    run_id: RowId,
    round: Round = None,
    precision: PreciseFrom = 100 * USUAL_CUT_OFFS.precision,
    pass_: Annotated[float, Query(alias="pass", ge=0, le=100)] = 100 * USUAL_CUT_OFFS.unit_pass,
) -> dict[str, Any]:
    """The figures of a run that starts from buggy programs: as a whole, by number of bugs, by class, and by round.

    Averages over the items that have a score, with 95 % intervals over base tasks; how many have none, and why, stands
    beside, and rounds are compared over the items scored in all of them. `cautions` limit trust in the figures. Shares
    are fractions, null is undefined with its `status`. `precision` and `pass` are cut-offs in percent.
    """
    with state.db.read() as session:
        summary = repair_summary(session, run_id, None if round is None else round - 1)
        line = run_line(session, run_head(session, run_id))
    return repairs_document(summary, CutOffs(precision / 100, pass_ / 100), line.cautions)


@router.get("/items")
def list_items(
    state: State,
    run_id: RowId,
    round: Round = None,
    after: Annotated[int | None, Query(ge=0, le=LARGEST_ID)] = None,
    show: ItemKind | None = None,
    bugs: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None,
    odc_class: Annotated[str | None, Query(alias="class", max_length=100)] = None,
    precision: PreciseFrom = 100 * USUAL_CUT_OFFS.precision,
) -> dict[str, Any]:
    """Up to fifty items as of a round. Pass `next_after` as `after` for those behind them."""
    wanted = ItemFilter(show, bugs, odc_class, precision / 100)
    with state.db.read() as session:
        page = repair_items(session, run_id, None if round is None else round - 1, after, wanted)
    return {"items": [item_document(item) for item in page.rows], "next_after": page.next_after}


@router.get("/items/{trajectory_id}")
def get_item(state: State, run_id: RowId, trajectory_id: RowId, round: Round = None) -> dict[str, Any]:
    """One repair: its score, what became of each bug, every block of its edits, and a person's mark."""
    with state.db.read() as session:
        item = repaired_item(session, run_id, trajectory_id, None if round is None else round - 1)
    return repair_document(item)
