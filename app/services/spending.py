"""Money and tokens: reserved before a request, settled after it.

Reserved and spent together never exceed a run's budget, so that requests under way at the same time cannot
break the cap. What a lost request may have cost counts as spent at its worst case.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.db.models import ModelRequestRow, RequestState, Run
from app.domain.ports import Message, ModelReply, Sampling

_MESSAGE_OVERHEAD = 16
"""Tokens a chat template adds to a message; the published templates add 3 to 10."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Price per million tokens; None where unknown."""

    input: float | None
    output: float | None

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """The cost of a request, None where a price or a count is unknown."""
        if self.input is None or self.output is None or prompt_tokens is None or completion_tokens is None:
            return None
        return (self.input * prompt_tokens + self.output * completion_tokens) / 1e6


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The most a request can use. A token is at least one byte in every byte-level vocabulary."""

    prompt_tokens: int
    completion_tokens: int

    @property
    def tokens(self) -> int:
        """Both together."""
        return self.prompt_tokens + self.completion_tokens

    @classmethod
    def of(cls, messages: Sequence[Message], sampling: Sampling) -> "WorstCase":
        """For a request with these messages."""
        size = sum(len(m.content.encode("utf-8", "surrogatepass")) + _MESSAGE_OVERHEAD for m in messages)
        return cls(size, sampling.max_tokens)


FREE = WorstCase(0, 0)
"""A model that is a program of ours uses no tokens."""


def reserve(run: Run, worst: WorstCase, prices: Prices) -> float | None:
    """Take the worst case from the budget of `run` (locked by the caller); the reserved cost, None where unknown.

    Raises BudgetExceeded where it does not fit.
    """
    cost = prices.cost(worst.prompt_tokens, worst.completion_tokens)
    if run.budget_tokens is not None and run.tokens_spent + run.tokens_reserved + worst.tokens > run.budget_tokens:
        raise BudgetExceeded(may_free=run.tokens_reserved > 0)
    if run.budget_cost is not None and cost is not None:
        spent = run.cost_spent or 0.0
        if spent + run.cost_reserved + cost > run.budget_cost:
            raise BudgetExceeded(may_free=run.cost_reserved > 0)
    run.tokens_reserved += worst.tokens
    run.cost_reserved += cost or 0.0
    return cost


class BudgetExceeded(Exception):
    """The request does not fit. `may_free`: requests under way may settle below their worst case; try again then."""

    def __init__(self, *, may_free: bool) -> None:
        super().__init__("the budget does not cover another request")
        self.may_free = may_free


def settle_reply(run: Run, request: ModelRequestRow, reply: ModelReply, prices: Prices) -> float | None:
    """Replace a reservation by what the reply used; returns its cost. Unknown token counts are spent as reserved."""
    _release(run, request)
    cost = prices.cost(reply.prompt_tokens, reply.completion_tokens)
    if reply.prompt_tokens is None or reply.completion_tokens is None:
        run.tokens_spent += request.tokens_reserved
    else:
        run.tokens_spent += reply.prompt_tokens + reply.completion_tokens
    _spend_cost(run, cost)
    _close(request, RequestState.ANSWERED, None)
    return cost


def settle_failure(run: Run, request: ModelRequestRow, error: str, *, billed: bool) -> None:
    """Close a request that brought no reply; where it may have been billed, its worst case is spent."""
    _release(run, request)
    if billed:
        run.tokens_spent += request.tokens_reserved
        _spend_cost(run, request.cost_reserved)
    _close(request, RequestState.POSSIBLY_BILLED if billed else RequestState.FAILED, error)


def settle_lost_requests(session: Session, run_id: int, trajectory_id: int) -> None:
    """Close requests whose worker died before it stored an answer, as possibly billed."""
    lost = session.scalars(
        select(ModelRequestRow).where(
            ModelRequestRow.trajectory_id == trajectory_id, ModelRequestRow.state == RequestState.PENDING
        )
    ).all()
    if lost:
        run = session.scalars(select(Run).where(Run.id == run_id).with_for_update()).one()
        for request in lost:
            settle_failure(run, request, "the worker ended before the answer was stored", billed=True)


def _release(run: Run, request: ModelRequestRow) -> None:
    run.tokens_reserved -= request.tokens_reserved
    run.cost_reserved -= request.cost_reserved or 0.0


def _spend_cost(run: Run, cost: float | None) -> None:
    run.cost_spent = None if cost is None or run.cost_spent is None else run.cost_spent + cost


def _close(request: ModelRequestRow, state: RequestState, error: str | None) -> None:
    request.state = state
    request.error = error
    request.settled_at = datetime.now(UTC)
