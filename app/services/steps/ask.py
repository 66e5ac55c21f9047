"""The step `ask`: commit a request row, ask the model, commit its reply. No transaction is open meanwhile."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import count

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.db.models import (
    Attempt,
    EndpointKind,
    ModelEndpoint,
    ModelRequestRow,
    RequestState,
    RunStatus,
    Trajectory,
    TrajectoryOutcome,
    Transcript,
)
from app.db.session import Database, persistently
from app.domain.errors import ModelRejected, ModelUnavailable
from app.domain.ports import Message, Model, ModelReply
from app.domain.protocol.decide import Ask, decide
from app.domain.protocol.extraction import Extraction, extract
from app.domain.protocol.feedback import NO_CODE_FEEDBACK
from app.domain.verdicts import Verdict
from app.services.claim import Claim, fenced
from app.services.spending import FREE, BudgetExceeded, Prices, WorstCase, reserve, settle_failure, settle_reply
from app.services.steps.situation import Situation, build_request, read_situation, records
from app.services.steps.transitions import MAX_TRIES, Wakes, backoff, end, pause, proceed, put_off


def ask(db: Database, claim: Claim, model_for: Callable[[ModelEndpoint], Model]) -> Wakes:
    """Ask the model for the next attempt and store its reply.

    `model_for` gives the adapter of an endpoint. A passing failure puts the step off, a lasting one pauses the
    run; neither raises. Raises LeaseLost, StorageError.
    """
    situation = read_situation(db, claim)
    decision = decide(records(situation.attempts), situation.policy)
    if not isinstance(decision, Ask):
        raise AssertionError(f"trajectory {claim.trajectory_id} is due to ask, but the rules say {decision}")
    request = build_request(situation, decision)
    worst = (
        FREE
        if situation.endpoint.kind == EndpointKind.REPAIR_SEARCH
        else WorstCase.of(request.messages, request.sampling)
    )
    prices = Prices(situation.endpoint.price_input, situation.endpoint.price_output)
    tries = count()
    sent = persistently(lambda: _commit_request(db, claim, decision, worst, prices, again=next(tries) > 0))
    if sent is None:
        return ()
    try:
        reply = model_for(situation.endpoint).complete(request)
    except ModelUnavailable as failure:
        return _model_failed(db, claim, sent, failure, billed=failure.billed and worst is not FREE)
    except ModelRejected as failure:
        return _model_failed(db, claim, sent, failure, billed=False)
    # A reply is paid for: a database that restarts meanwhile must not cost it.
    return persistently(lambda: _commit_reply(db, claim, sent, decision, situation, request.messages, reply, prices))


def _commit_request(
    db: Database, claim: Claim, decision: Ask, worst: WorstCase, prices: Prices, *, again: bool
) -> int | None:
    """Reserve the worst case and write the request row; its id, or None where the step ended or was put off instead.

    `again`: the connection broke in an earlier try, which may have committed all the same.
    """
    with db.write() as session:
        trajectory, run = fenced(session, claim)
        if run.status == RunStatus.CANCELLED:
            end(session, trajectory, run, TrajectoryOutcome.CANCELLED, None)
            return None
        if again and (written := _request_of(session, claim)) is not None:
            return written
        try:
            cost = reserve(run, worst, prices)
        except BudgetExceeded as exceeded:
            if exceeded.may_free:
                put_off(trajectory, 1.0, "the budget: requests under way have reserved what is left of it")
            else:
                end(session, trajectory, run, TrajectoryOutcome.BUDGET, "the budget does not cover another request")
            return None
        request = ModelRequestRow(
            trajectory_id=trajectory.id,
            attempt_index=decision.index,
            lease_number=claim.lease_number,
            state=RequestState.PENDING,
            sent_at=datetime.now(UTC),
            tokens_reserved=worst.tokens,
            cost_reserved=cost,
        )
        session.add(request)
        session.flush()
        return request.id


def _request_of(session: Session, claim: Claim) -> int | None:
    return session.scalar(
        select(ModelRequestRow.id).where(
            ModelRequestRow.trajectory_id == claim.trajectory_id, ModelRequestRow.lease_number == claim.lease_number
        )
    )


def _commit_reply(
    db: Database,
    claim: Claim,
    request_id: int,
    decision: Ask,
    situation: Situation,
    messages: Sequence[Message],
    reply: ModelReply,
    prices: Prices,
) -> Wakes:
    found = extract(reply.text, situation.problem.entry_point, situation.problem.language)
    with db.write() as session:
        trajectory, run = fenced(session, claim)
        cost = settle_reply(run, session.get_one(ModelRequestRow, request_id), reply, prices)
        attempt = Attempt(
            trajectory_id=trajectory.id,
            attempt_index=decision.index,
            segment=decision.segment,
            answered_at=datetime.now(UTC),
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            cost=cost,
            truncated=reply.truncated,
            latency_ms=reply.latency_ms,
            finish_reason=reply.finish_reason,
            extraction=found.rule,
            program_hash=None if found.program is None else found.program.content_hash(),
        )
        attempt.repeats_attempt = _repeated(attempt, situation.attempts)
        session.add(attempt)
        session.flush()
        session.add(_transcript(attempt, messages, reply, found))
        if found.program is None:
            attempt.verdict = Verdict.NO_CODE
            attempt.judged_at = attempt.answered_at
        return proceed(session, trajectory, run, [*situation.attempts, attempt], situation)


def _transcript(attempt: Attempt, messages: Sequence[Message], reply: ModelReply, found: Extraction) -> Transcript:
    return Transcript(
        attempt_id=attempt.id,
        messages=[{"role": m.role, "content": m.content} for m in messages],
        reply=reply.text,
        program=None if found.program is None else dict(found.program.files),
        feedback=NO_CODE_FEEDBACK if found.program is None else None,
    )


def _repeated(attempt: Attempt, earlier: Sequence[Attempt]) -> int | None:
    if attempt.program_hash is None:
        return None
    return next((a.attempt_index for a in earlier if a.program_hash == attempt.program_hash), None)


def _model_failed(
    db: Database, claim: Claim, request_id: int, failure: ModelUnavailable | ModelRejected, *, billed: bool
) -> Wakes:
    with db.write() as session:
        trajectory, run = fenced(session, claim)
        request = session.get_one(ModelRequestRow, request_id)
        settle_failure(run, request, str(failure), billed=billed)
        trajectory.failures += 1
        if isinstance(failure, ModelRejected):
            if failure.this_request_only:
                end(session, trajectory, run, TrajectoryOutcome.INFRASTRUCTURE, str(failure))
            else:
                put_off(trajectory, 0.0, None)
                pause(run, str(failure))
        elif trajectory.failures < MAX_TRIES:
            delay = backoff(trajectory.failures, failure.retry_after)
            put_off(trajectory, delay, f"the model: {failure}")
        elif _answered_since_first_failure(session, trajectory, request.attempt_index):
            end(session, trajectory, run, TrajectoryOutcome.INFRASTRUCTURE, f"after {MAX_TRIES} tries: {failure}")
        else:
            put_off(trajectory, 0.0, None)
            trajectory.failures = 0
            pause(run, f"the model did not answer in {MAX_TRIES} tries: {failure}")
        return ()


def _answered_since_first_failure(session: Session, trajectory: Trajectory, attempt_index: int) -> bool:
    """Whether the endpoint answered others of this run meanwhile: then the fault lies with this request."""
    first = session.scalar(
        select(ModelRequestRow.sent_at)
        .where(ModelRequestRow.trajectory_id == trajectory.id, ModelRequestRow.attempt_index == attempt_index)
        .order_by(ModelRequestRow.id)
        .limit(1)
    )
    answered = (
        select(ModelRequestRow.id)
        .join(Trajectory, Trajectory.id == ModelRequestRow.trajectory_id)
        .where(
            Trajectory.run_id == trajectory.run_id,
            ModelRequestRow.state == RequestState.ANSWERED,
            ModelRequestRow.settled_at >= first,
        )
        .limit(1)
    )
    return session.scalar(answered) is not None
