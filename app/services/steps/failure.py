"""A step that failed through no fault of the model or its program."""

from app.db.models import RunStatus, TrajectoryOutcome
from app.db.session import Database
from app.services.claim import Claim, fenced
from app.services.spending import settle_lost_requests
from app.services.steps.transitions import MAX_TRIES, Wakes, backoff, end, put_off


def put_off_failed(db: Database, claim: Claim, reason: str, *, sandbox: bool = False) -> Wakes:
    """Put the step off; after MAX_TRIES failures in a row, censor its trajectory with the reason.

    `sandbox`: it was an execution that failed, which is counted for the run's page.
    """
    with db.write() as session:
        trajectory, run = fenced(session, claim)
        # The lease is given back below, so that the next claim no longer sees that an answer was lost with this step.
        settle_lost_requests(session, run.id, trajectory.id)
        if run.status == RunStatus.CANCELLED:
            return end(session, trajectory, run, TrajectoryOutcome.CANCELLED, None)
        trajectory.failures += 1
        trajectory.sandbox_failures += sandbox
        if trajectory.failures == MAX_TRIES:
            return end(session, trajectory, run, TrajectoryOutcome.INFRASTRUCTURE, f"after {MAX_TRIES} tries: {reason}")
        put_off(trajectory, backoff(trajectory.failures, None), reason)
        return ()
