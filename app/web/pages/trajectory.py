"""One problem's way through a run, attempt by attempt."""

from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from app.db.queries.trajectory import AttemptDetail, TrajectoryDetail, trajectory_detail
from app.web.deps import RowId, State
from app.web.documents import discloses
from app.web.rendering import render
from app.web.search import LONGEST_QUERY, lines_with, marked, occurrences

router = APIRouter()


@dataclass(frozen=True, slots=True)
class AttemptView:
    """An attempt as the timeline shows it.

    `before` is the program it is compared with, by path, and `before_name` says which that is; None for the first.
    `found` counts what was searched for, by part of the attempt.
    """

    entry: AttemptDetail
    fresh: bool
    before: dict[str, str] | None
    before_name: str
    found: dict[str, int]

    @property
    def hits(self) -> int:
        """In all parts together."""
        return sum(self.found.values())


@router.get("/runs/{run_id}/trajectories/{trajectory_id}")
def show_trajectory(
    request: Request, state: State, run_id: RowId, trajectory_id: RowId, q: str = "", open: str = ""
) -> Response:
    """The trajectory's page. `q` is looked for in every attempt; `open` is the index of an attempt, or "all"."""
    with state.db.read() as session:
        detail = trajectory_detail(session, run_id, trajectory_id)
    query = q.strip()[:LONGEST_QUERY]
    views = _views(detail, query)
    context = {
        "detail": detail,
        "views": views,
        "found": [view for view in views if view.hits],
        "query": query,
        "opened": _opened(views, query, open),
        "policy": detail.run.protocol,
        "discloses": discloses,
        "marked": marked,
        "lines_with": lines_with,
    }
    return render(request, "pages/trajectory.html", context)


def _views(detail: TrajectoryDetail, query: str) -> list[AttemptView]:
    views: list[AttemptView] = []
    before = None if detail.start is None else dict(detail.start.files)
    before_name, segment = "the program given", 0
    for entry in detail.attempts:
        index = entry.attempt.attempt_index
        fresh = bool(views) and entry.attempt.segment != segment
        views.append(AttemptView(entry, fresh, before, before_name, _found(entry, query)))
        segment = entry.attempt.segment
        if entry.program is not None:
            before, before_name = entry.program, f"attempt {index}"
    return views


def _found(entry: AttemptDetail, query: str) -> dict[str, int]:
    return {
        "program": sum(occurrences(source, query) for source in (entry.program or {}).values()),
        "feedback": occurrences(entry.feedback, query),
        "reply": occurrences(entry.reply or "", query),
        "conversation": sum(occurrences(message["content"], query) for message in entry.messages),
        "stdout": occurrences(entry.stdout, query),
        "stderr": occurrences(entry.stderr, query),
    }


def _opened(views: list[AttemptView], query: str, wanted: str) -> set[int]:
    """Which attempts are folded open: those that were found, the one asked for, or the last."""
    indexes = [view.entry.attempt.attempt_index for view in views]
    if wanted == "all":
        return set(indexes)
    if query:
        return {view.entry.attempt.attempt_index for view in views if view.hits}
    chosen = [index for index in indexes if str(index) == wanted]
    return set(chosen or indexes[-1:])
