"""Testing a model: one tiny request, and in words how it went."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import undefer

from app.db.models import EndpointKind, ModelEndpoint, ModelTest
from app.db.session import Database, persistently
from app.domain.errors import ConflictError, InputError, ModelError, NotFoundError
from app.domain.ports import Message, Model, ModelReply, ModelRequest, Task
from app.domain.problems import Limits
from app.services.chores import ChoreClaim, held_chore

TEST_TOKENS = 16
"""Most tokens of the answer, so that a test costs next to nothing."""
_QUOTED_CHARACTERS = 60

_QUESTION = Message("user", "Reply with the word OK.")
_NO_TASK = Task(problem_key="", entry_point="", limits=Limits(), tests=None, start=None, trials=())


def submit_model_test(db: Database, endpoint_id: int) -> int:
    """Queue a test of a model, and return its id. The caller wakes a generate worker afterwards.

    Raises NotFoundError, InputError for a model that is a program of ours, ConflictError while a test is under way.
    """
    with db.write() as session:
        endpoint = session.get(ModelEndpoint, endpoint_id)
        if endpoint is None:
            raise NotFoundError(f"there is no model {endpoint_id}")
        if endpoint.kind == EndpointKind.RECORDED:
            raise InputError(f"{endpoint.name} holds recorded runs and cannot be asked")
        if endpoint.kind == EndpointKind.REPAIR_SEARCH:
            raise InputError(f"{endpoint.name} is a program of Halflife: there is no server to test")
        under_way = select(ModelTest.id).where(ModelTest.endpoint_id == endpoint_id, ModelTest.due_at.is_not(None))
        if session.scalar(under_way) is not None:
            raise ConflictError(f"{endpoint.name} is being tested already")
        now = datetime.now(UTC)
        test = ModelTest(endpoint_id=endpoint_id, created_at=now, due_at=now)
        session.add(test)
        session.flush()
        return test.id


def perform_model_test(db: Database, claim: ChoreClaim, model_for: Callable[[ModelEndpoint], Model]) -> None:
    """Ask the model of a claimed test once, with its own sampling, and store how it went. Raises LeaseLost."""
    with db.read() as session:
        endpoint = session.scalars(
            select(ModelEndpoint)
            .join(ModelTest, ModelTest.endpoint_id == ModelEndpoint.id)
            .where(ModelTest.id == claim.id)
            .options(undefer(ModelEndpoint.api_key), undefer(ModelEndpoint.script))
        ).one()
    sampling = replace(endpoint.sampling, max_tokens=min(TEST_TOKENS, endpoint.sampling.max_tokens))
    answer = error = None
    try:
        reply = model_for(endpoint).complete(ModelRequest((_QUESTION,), sampling, seed=0, task=_NO_TASK))
        answer = _words(reply, endpoint)
    except ModelError as failure:
        error = str(failure)

    def store() -> None:
        with db.write() as session:
            test = held_chore(session, ModelTest, claim)
            test.answer = answer
            test.finish(error)

    persistently(store)


def _words(reply: ModelReply, endpoint: ModelEndpoint) -> str:
    said = "".join(c for c in reply.text if c.isprintable() or c == " ").strip()
    if len(said) > _QUOTED_CHARACTERS:
        said = said[:_QUOTED_CHARACTERS] + "…"
    counts = (
        "it does not report tokens, so costs will be unknown"
        if reply.prompt_tokens is None or reply.completion_tokens is None
        else f"{reply.prompt_tokens} + {reply.completion_tokens} tokens"
    )
    named = "".join(c for c in reply.model or endpoint.name if c.isprintable())
    spoke = f"said “{said}”" if said else "sent an empty reply"
    return f"{named} {spoke} in {reply.latency_ms / 1000:.1f} s; {counts}."
