"""A step that failed through no fault of the model or its program."""

from app.db.models import RunStatus, TrajectoryOutcome
from app.db.session import Database
from app.services.claim import Claim, fenced
from app.services.spending import settle_lost_requests
from app.services.steps.transitions import MAX_TRIES, Wakes, backoff, end, put_off


def put_off_failed(db: Database, claim: Claim, reason: str, *, sandbox: bool = False) -> Wakes:
    """Put the step off; after MAX_TRIES failures in a row, censor its trajectory with the reason.

    `sandbox`: it was an execution that failed, which is counted for the run's page. Raises LeaseLost, StorageError.
    """
    with db.transaction() as connection:
        held = fenced(connection, claim)
        # The lease is given back below, so that the next claim no longer sees that an answer was lost with this step.
        settle_lost_requests(connection, held.run_id, held.trajectory_id)
        if held.run_status == RunStatus.CANCELLED:
            return end(connection, held.trajectory_id, held.run_id, TrajectoryOutcome.CANCELLED, None)
        counted = {"failures": held.failures + 1, "sandbox_failures": held.sandbox_failures + sandbox}
        if held.failures + 1 == MAX_TRIES:
            given_up = f"after {MAX_TRIES} tries: {reason}"
            return end(
                connection, held.trajectory_id, held.run_id, TrajectoryOutcome.INFRASTRUCTURE, given_up, **counted
            )
        put_off(connection, held, backoff(held.failures + 1, None), reason, **counted)
        return ()
