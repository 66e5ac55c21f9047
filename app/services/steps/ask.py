"""The step `ask`: commit a request row, ask the model, commit its reply. No transaction is open meanwhile."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from sqlalchemy import Connection, bindparam, insert, select

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
from app.domain.attempts import AttemptRecord
from app.domain.errors import ModelRejected, ModelUnavailable
from app.domain.ports import Message, Model, ModelReply
from app.domain.programs import Program
from app.domain.protocol.decide import Ask, decide
from app.domain.protocol.edit_replies import Form, Obstacle, read_repair
from app.domain.protocol.extraction import extract
from app.domain.protocol.feedback import NO_CODE_FEEDBACK, not_applied
from app.domain.verdicts import Verdict
from app.domain.work import WorkerKind
from app.services.claim import Claim, Held, fenced
from app.services.score_jobs import queue_score
from app.services.spending import FREE, BudgetExceeded, Prices, WorstCase, reserve, settle_failure, settle_reply
from app.services.steps.situation import PastAttempt, Situation, build_request, read_situation
from app.services.steps.transitions import MAX_TRIES, Wakes, backoff, end, pause, proceed, put_off

log = logging.getLogger(__name__)

# Made once: building a statement anew takes longer than running it.
_INSERT_REQUEST = insert(ModelRequestRow).returning(ModelRequestRow.id)
_INSERT_ATTEMPT = insert(Attempt).returning(Attempt.id)
_INSERT_TRANSCRIPT = insert(Transcript)
_REQUEST_OF = select(ModelRequestRow.id).where(
    ModelRequestRow.trajectory_id == bindparam("trajectory"), ModelRequestRow.lease_number == bindparam("lease")
)


def ask(db: Database, claim: Claim, model_for: Callable[[ModelEndpoint], Model]) -> Wakes:
    """Ask the model for the next attempt and store its reply.

    `model_for` gives the adapter of an endpoint. A passing failure puts the step off, a lasting one pauses the
    run; neither raises. Raises LeaseLost, StorageError.
    """
    situation = read_situation(db, claim)
    decision = decide(situation.records, situation.policy)
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
    wakes = persistently(lambda: _commit_reply(db, claim, sent, decision, situation, request.messages, reply, prices))
    log.info(
        "answered",
        extra={
            "run": claim.run_id,
            "trajectory": claim.trajectory_id,
            "attempt": decision.index,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "latency_ms": round(reply.latency_ms),
        },
    )
    return wakes


def _commit_request(
    db: Database, claim: Claim, decision: Ask, worst: WorstCase, prices: Prices, *, again: bool
) -> int | None:
    """Reserve the worst case and write the request row; its id, or None where the step ended or was put off instead.

    `again`: the connection broke in an earlier try, which may have committed all the same.
    """
    with db.transaction() as connection:
        held = fenced(connection, claim)
        if held.run_status == RunStatus.CANCELLED:
            end(connection, held.trajectory_id, held.run_id, TrajectoryOutcome.CANCELLED, None)
            return None
        if again and (written := _request_of(connection, claim)) is not None:
            return written
        try:
            cost = reserve(connection, held.run_id, held.budget, worst, prices)
        except BudgetExceeded as exceeded:
            if exceeded.may_free:
                reason = "the budget: requests under way have reserved what is left of it"
                put_off(connection, held, 1.0, reason)
            else:
                reason = "the budget does not cover another request"
                end(connection, held.trajectory_id, held.run_id, TrajectoryOutcome.BUDGET, reason)
            return None
        request = {
            "trajectory_id": held.trajectory_id,
            "attempt_index": decision.index,
            "lease_number": claim.lease_number,
            "state": RequestState.PENDING.value,
            "sent_at": datetime.now(UTC),
            "tokens_reserved": worst.tokens,
            "cost_reserved": cost,
        }
        return connection.execute(_INSERT_REQUEST, request).scalar_one()


def _request_of(connection: Connection, claim: Claim) -> int | None:
    return connection.scalar(_REQUEST_OF, {"trajectory": claim.trajectory_id, "lease": claim.lease_number})


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
    found = _read_reply(reply.text, situation)
    program, now = found.program, datetime.now(UTC)
    syntax_hash = None if program is None else program.syntax_hash()
    repeats = _repeated(syntax_hash, situation.attempts)
    verdict = Verdict.NO_CODE if program is None else None
    with db.transaction() as connection:
        held = fenced(connection, claim)
        cost = settle_reply(connection, held.run_id, request_id, reply, prices)
        attempt = {
            "trajectory_id": held.trajectory_id,
            "attempt_index": decision.index,
            "segment": decision.segment,
            "answered_at": now,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "cost": cost,
            "truncated": reply.truncated,
            "latency_ms": reply.latency_ms,
            "finish_reason": reply.finish_reason,
            "extraction": found.extraction,
            "syntax_hash": syntax_hash,
            "repeats_attempt": repeats,
            "verdict": verdict,
            "reason": found.obstacle,
            "judged_at": None if verdict is None else now,
        }
        attempt_id = connection.execute(_INSERT_ATTEMPT, attempt).scalar_one()
        transcript = {
            "attempt_id": attempt_id,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "reply": reply.text,
            "program": None if program is None else dict(program.files),
            "feedback": found.told,
        }
        connection.execute(_INSERT_TRANSCRIPT, transcript)
        answered = AttemptRecord(decision.index, decision.segment, verdict, repeats=repeats is not None)
        wakes = proceed(connection, held, [*situation.records, answered], situation)
        if verdict is None or situation.start is None:
            return wakes
        queue_score(connection, held.run_id, attempt_id)
        return (*wakes, WorkerKind.EXECUTE)


@dataclass(frozen=True, slots=True)
class _Found:
    """The program of a reply and how it was found; where there is none, why and what the model is told."""

    program: Program | None
    extraction: str
    obstacle: str | None
    told: str | None


def _read_reply(text: str, situation: Situation) -> _Found:
    problem = situation.problem
    whole = extract(text, problem.entry_point, problem.language)
    if situation.start is None:
        return _Found(whole.program, whole.rule, None, NO_CODE_FEEDBACK if whole.program is None else None)
    # Edits are of the program that the run starts from, whatever was answered before.
    repair = read_repair(text, situation.start, problem.entry_point, problem.language)
    extraction = repair.form.value if repair.form in (Form.UNIFIED_DIFF, Form.SEARCH_REPLACE) else whole.rule
    if repair.obstacle is None:
        return _Found(repair.program, extraction, None, None)
    told = NO_CODE_FEEDBACK if repair.obstacle is Obstacle.NO_CODE else not_applied(repair)
    return _Found(None, extraction, repair.obstacle.value, told)


def _repeated(syntax_hash: str | None, earlier: Sequence[PastAttempt]) -> int | None:
    if syntax_hash is None:
        return None
    return next((a.record.index for a in earlier if a.syntax_hash == syntax_hash), None)


def _model_failed(
    db: Database, claim: Claim, request_id: int, failure: ModelUnavailable | ModelRejected, *, billed: bool
) -> Wakes:
    with db.transaction() as connection:
        held = fenced(connection, claim)
        settle_failure(connection, held.run_id, request_id, str(failure), billed=billed)
        trajectory, run, failures = held.trajectory_id, held.run_id, held.failures + 1
        if isinstance(failure, ModelRejected):
            if failure.this_request_only:
                end(connection, trajectory, run, TrajectoryOutcome.INFRASTRUCTURE, str(failure), failures=failures)
            else:
                put_off(connection, held, 0.0, None, failures=failures)
                pause(connection, held, str(failure))
        elif failures < MAX_TRIES:
            delay = backoff(failures, failure.retry_after)
            put_off(connection, held, delay, f"the model: {failure}", failures=failures)
        elif _answered_since_first_failure(connection, held, request_id):
            reason = f"after {MAX_TRIES} tries: {failure}"
            end(connection, trajectory, run, TrajectoryOutcome.INFRASTRUCTURE, reason, failures=failures)
        else:
            put_off(connection, held, 0.0, None, failures=0)
            pause(connection, held, f"the model did not answer in {MAX_TRIES} tries: {failure}")
        return ()


def _answered_since_first_failure(connection: Connection, held: Held, request_id: int) -> bool:
    """Whether the endpoint answered others of this run meanwhile: then the fault lies with this request."""
    this = select(ModelRequestRow.attempt_index).where(ModelRequestRow.id == request_id).scalar_subquery()
    first = connection.scalar(
        select(ModelRequestRow.sent_at)
        .where(ModelRequestRow.trajectory_id == held.trajectory_id, ModelRequestRow.attempt_index == this)
        .order_by(ModelRequestRow.id)
        .limit(1)
    )
    answered = (
        select(ModelRequestRow.id)
        .join(Trajectory, Trajectory.id == ModelRequestRow.trajectory_id)
        .where(
            Trajectory.run_id == held.run_id,
            ModelRequestRow.state == RequestState.ANSWERED,
            ModelRequestRow.settled_at >= first,
        )
        .limit(1)
    )
    return connection.scalar(answered) is not None
