"""Telling the workers, after the commit, that a run has something for them."""

from app.db.models import EndpointKind
from app.db.queries.run import run_head
from app.domain.work import WorkerKind
from app.web.deps import AppState

MOST_WAKES = 16
"""Enough to set every worker of one machine going; each wakes others while there is work."""


def wake_run(state: AppState, run_id: int) -> None:
    """Wake workers of the kind that asks this run's model, and, on resuming, those that judge."""
    with state.db.read() as session:
        head = run_head(session, run_id)
    count = min(head.run.trajectories_total - head.run.trajectories_ended, MOST_WAKES)
    local = head.endpoint.kind == EndpointKind.REPAIR_SEARCH
    state.queue.wake(WorkerKind.EXECUTE if local else WorkerKind.GENERATE, count)


def wake_resumed(state: AppState, run_id: int) -> None:
    """As `wake_run`; a resumed run may hold programs that wait for the judge as well."""
    wake_run(state, run_id)
    state.queue.wake(WorkerKind.EXECUTE)


def wake_judges(state: AppState) -> None:
    """Wake as many execute workers as may be idle: each goes on while there is work."""
    state.queue.wake(WorkerKind.EXECUTE, state.settings.execute_slots)
