"""Money and tokens: reserved before a request, settled after it.

Reserved and spent together never exceed a run's budget, so that requests under way at the same time cannot
break the cap. What a lost request may have cost counts as spent at its worst case.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, select, update

from app.db.models import ModelRequestRow, RequestState, Run, Trajectory
from app.domain.ports import Message, ModelReply, Sampling

_MESSAGE_OVERHEAD = 16
"""Tokens a chat template adds to a message; the published templates add 3 to 10."""

# Made once: building a statement anew takes longer than running it.
_BOOK = (
    update(Run)
    .where(Run.id == bindparam("run"))
    .values(
        tokens_reserved=Run.tokens_reserved + bindparam("tokens_to_reserve"),
        cost_reserved=Run.cost_reserved + bindparam("cost_to_reserve"),
        tokens_spent=Run.tokens_spent + bindparam("tokens_to_spend"),
        cost_spent=Run.cost_spent + bindparam("cost_to_spend"),  # an unknown cost makes the sum unknown
        revision=Run.revision + 1,
    )
)
_CLOSE = (
    update(ModelRequestRow)
    .where(ModelRequestRow.id == bindparam("request"))
    .values(state=bindparam("becomes"), error=bindparam("why"), settled_at=bindparam("now"))
    .returning(ModelRequestRow.tokens_reserved, ModelRequestRow.cost_reserved)
)
_IS_PENDING = ModelRequestRow.state == RequestState.PENDING
_PENDING = select(ModelRequestRow.id).where(ModelRequestRow.trajectory_id == bindparam("trajectory"), _IS_PENDING)
PENDING_REQUEST: ColumnElement[bool] = (
    select(ModelRequestRow.id)
    .where(ModelRequestRow.trajectory_id == Trajectory.id, _IS_PENDING)
    .correlate(Trajectory)
    .exists()
)
"""Whether a request of a trajectory has neither an answer nor an end."""


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


@dataclass(frozen=True, slots=True)
class Budget:
    """A run's limits, None for none, and what of them is taken."""

    tokens: int | None
    cost: float | None
    tokens_reserved: int
    tokens_spent: int
    cost_reserved: float
    cost_spent: float | None


def reserve(connection: Connection, run_id: int, budget: Budget, worst: WorstCase, prices: Prices) -> float | None:
    """Take the worst case from the budget of a run (locked by the caller); the reserved cost, None where unknown.

    Raises BudgetExceeded where it does not fit.
    """
    cost = prices.cost(worst.prompt_tokens, worst.completion_tokens)
    if budget.tokens is not None and budget.tokens_spent + budget.tokens_reserved + worst.tokens > budget.tokens:
        raise BudgetExceeded(may_free=budget.tokens_reserved > 0)
    if budget.cost is not None and cost is not None:
        spent = budget.cost_spent or 0.0
        if spent + budget.cost_reserved + cost > budget.cost:
            raise BudgetExceeded(may_free=budget.cost_reserved > 0)
    _book(connection, run_id, reserve=_Amount(worst.tokens, cost), spend=_NOTHING)
    return cost


class BudgetExceeded(Exception):
    """The request does not fit. `may_free`: requests under way may settle below their worst case; try again then."""

    def __init__(self, *, may_free: bool) -> None:
        super().__init__("the budget does not cover another request")
        self.may_free = may_free


def settle_reply(
    connection: Connection, run_id: int, request_id: int, reply: ModelReply, prices: Prices
) -> float | None:
    """Replace a reservation by what the reply used; returns its cost. Unknown token counts are spent as reserved."""
    reserved = _close(connection, request_id, RequestState.ANSWERED, None)
    cost = prices.cost(reply.prompt_tokens, reply.completion_tokens)
    if reply.prompt_tokens is None or reply.completion_tokens is None:
        tokens = reserved.tokens
    else:
        tokens = reply.prompt_tokens + reply.completion_tokens
    _book(connection, run_id, reserve=reserved.given_back(), spend=_Amount(tokens, cost))
    return cost


def settle_failure(connection: Connection, run_id: int, request_id: int, error: str, *, billed: bool) -> None:
    """Close a request that brought no reply; where it may have been billed, its worst case is spent."""
    state = RequestState.POSSIBLY_BILLED if billed else RequestState.FAILED
    reserved = _close(connection, request_id, state, error)
    _book(connection, run_id, reserve=reserved.given_back(), spend=reserved if billed else _NOTHING)


def settle_lost_requests(connection: Connection, run_id: int, trajectory_id: int) -> None:
    """Close requests whose worker died before it stored an answer, as possibly billed."""
    for request_id in connection.scalars(_PENDING, {"trajectory": trajectory_id}).all():
        settle_failure(connection, run_id, request_id, "the worker ended before the answer was stored", billed=True)


class _Amount(NamedTuple):
    """Tokens and what they cost, None where unknown."""

    tokens: int
    cost: float | None

    def given_back(self) -> "_Amount":
        return _Amount(-self.tokens, -(self.cost or 0.0))


_NOTHING = _Amount(0, 0.0)


def _close(connection: Connection, request_id: int, state: RequestState, error: str | None) -> _Amount:
    """Note how a request ended; what was reserved for it."""
    values = {"request": request_id, "becomes": state.value, "why": error, "now": datetime.now(UTC)}
    return _Amount(*connection.execute(_CLOSE, values).one())


def _book(connection: Connection, run_id: int, *, reserve: _Amount, spend: _Amount) -> None:
    """Add to what the run has reserved, where an unknown cost counts as none, and to what it has spent."""
    connection.execute(
        _BOOK,
        {
            "run": run_id,
            "tokens_to_reserve": reserve.tokens,
            "cost_to_reserve": reserve.cost or 0.0,
            "tokens_to_spend": spend.tokens,
            "cost_to_spend": spend.cost,
        },
    )
