"""`python -m workers generate|execute`: one worker process on the settings' broker and database."""

import logging
import sys

from celery.signals import worker_ready, worker_shutting_down

from app.domain.errors import HalflifeError
from app.domain.work import WorkerKind
from app.logs import configure_logging
from workers.base import install
from workers.celery_app import celery, settings
from workers.wiring import build


def main() -> int:
    """Run until SIGTERM or SIGINT; steps under way are finished, further ones are left to others."""
    configure_logging(settings.log_format)
    # A line for every wake-up that found nothing would bury what matters.
    for chatty in ("celery.worker.strategy", "celery.app.trace"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    if len(sys.argv) != 2 or sys.argv[1] not in list(WorkerKind):
        sys.stderr.write(f"usage: python -m workers {'|'.join(WorkerKind)}\n")
        return 2
    kind = WorkerKind(sys.argv[1])
    try:
        worker, close = build(kind, settings)
    except HalflifeError as error:
        sys.stderr.write(f"the {kind} worker cannot start: {error}\n")
        return 1
    install(worker)
    worker_ready.connect(lambda **_: worker.start(), weak=False)
    worker_shutting_down.connect(lambda **_: worker.stop(), weak=False)
    try:
        celery.Worker(
            queues=[kind.value],
            pool="threads",
            concurrency=worker.concurrency,
            hostname=worker.name,
            loglevel="INFO",
            quiet=True,  # its banner is no log line
            # Workers speak through the database; Celery's own chatter between them would only cost messages.
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        ).start()
    finally:
        worker.leave()
        close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
