"""The task of execute workers."""

from app.adapters.queue import TASK_NAMES
from app.domain.work import WorkerKind
from workers.base import current_worker
from workers.celery_app import celery


@celery.task(name=TASK_NAMES[WorkerKind.EXECUTE])
def execute() -> None:
    """Do what is due for this kind of worker."""
    current_worker(WorkerKind.EXECUTE).drain()
