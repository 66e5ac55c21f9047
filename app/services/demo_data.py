"""Demo data: recorded runs that are shipped with Halflife, loaded and removed in one go."""

from functools import partial

from sqlalchemy import select, true
from sqlalchemy.orm import Session

from app.datasets.demo import DemoRun, demo_runs
from app.db.models import Run
from app.db.session import Database
from app.domain.errors import NotFoundError
from app.domain.protocol.policy import Start
from app.services.import_recording import RecordingReport, RecordingRequest, import_recording
from app.services.remove_recording import remove_recording
from app.services.score_jobs import queue_scores


def load_demo(db: Database) -> tuple[int, ...]:
    """Store the shipped runs, marked as demo data, and return their ids. Those that are there already stay.

    Their repairs are queued to be scored: the caller wakes the execute workers afterwards.

    Raises NotFoundError where there is no problem set of the content that they were recorded on.
    """
    stored: dict[str, int] = {}
    for demo in demo_runs():
        try:
            report = import_recording(
                db,
                {demo.file: demo.content},
                RecordingRequest(format="halflife", problem_set_id=None, demo=True),
                file_name=demo.file,
                stored=partial(_complete, demo, stored),
            )
        except NotFoundError as error:
            raise NotFoundError(
                "the demo runs are of the starter problems that this version ships, which are not here; a new "
                "installation imports them in its first minute"
            ) from error
        stored[demo.file] = report.run
    return tuple(stored.values())


def remove_demo(db: Database) -> int:
    """Delete the runs marked as demo data; says how many there were."""
    with db.read() as session:
        # Arms first: they refer to their baseline.
        ids = session.scalars(select(Run.id).where(Run.demo).order_by(Run.baseline_run_id.is_(None), Run.id)).all()
    for run_id in ids:
        remove_recording(db, run_id)
    return len(ids)


def _complete(demo: DemoRun, stored: dict[str, int], session: Session, report: RecordingReport) -> None:
    """What a recording does not say: whose arm the run is, and the scores of its repairs."""
    if not report.created:
        return
    run = session.get_one(Run, report.run)
    if run.protocol.start is Start.DEBUG:
        queue_scores(session.connection(), run.id, true())
    if demo.baseline is not None:
        run.baseline_run_id = stored[demo.baseline]
        run.shares_attempts = demo.shares_attempts
