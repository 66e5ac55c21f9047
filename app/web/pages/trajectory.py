"""One problem's way through a run, attempt by attempt."""

from fastapi import APIRouter, Request, Response

from app.db.queries.trajectory import trajectory_detail
from app.web.deps import RowId, State
from app.web.documents import discloses
from app.web.rendering import render

router = APIRouter()


@router.get("/runs/{run_id}/trajectories/{trajectory_id}")
def show_trajectory(request: Request, state: State, run_id: RowId, trajectory_id: RowId) -> Response:
    """The trajectory's page."""
    with state.db.read() as session:
        detail = trajectory_detail(session, run_id, trajectory_id)
    return render(
        request, "pages/trajectory.html", {"detail": detail, "policy": detail.run.protocol, "discloses": discloses}
    )
