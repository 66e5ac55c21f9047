"""One contract for every model: a reply with its facts, or one of the two errors the engine can act on."""

import threading
from collections.abc import Callable, Iterator

import pytest

from app.adapters.models.openai_compatible import OpenAICompatible
from app.adapters.models.repair_search import RepairSearch
from app.adapters.models.scripted import Script, Scripted
from app.adapters.sandbox.bubblewrap import BubblewrapSandbox
from app.domain.codec import encode
from app.domain.errors import ModelError, ModelRejected, ModelUnavailable, SandboxUnavailable
from app.domain.ports import Execution, ExecutionOutcome, Message, Model, ModelRequest, Sampling, Sandbox, Task
from app.domain.problems import Case, CaseTests, Limits
from app.domain.programs import Program
from app.domain.protocol.extraction import extract
from tests.fixtures.chat_server import ChatServer

BUGGY = "def last_index(items):\n    return len(items)\n"
CASES = CaseTests((Case(encode(([1, 2],)), encode(1)), Case(encode(([5],)), encode(0))))


def request(seed: int = 11, start: Program | None = Program.single(BUGGY)) -> ModelRequest:  # noqa: B008 - frozen
    task = Task("last-index", "last_index", Limits(), CASES, start, ())
    return ModelRequest((Message("user", "Repair \ud800 this \x00."),), Sampling(), seed, task)


class BrokenSandbox:
    """A sandbox that cannot be used."""

    def run(self, execution: Execution, *, cancelled: Callable[[], bool] = lambda: False) -> ExecutionOutcome:
        raise SandboxUnavailable("no sandbox here")

    def close(self) -> None:
        """Nothing to end."""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with BubblewrapSandbox() as opened:
        yield opened


@pytest.fixture(params=["scripted", "openai_compatible", "repair_search"])
def working(request: pytest.FixtureRequest, chat_server: ChatServer, sandbox: Sandbox) -> Model:
    models: dict[str, Model] = {
        "scripted": Scripted(
            Script.from_json({"default": {"text": "```python\nx = 1\n```", "prompt_tokens": 7, "completion_tokens": 3}})
        ),
        "openai_compatible": OpenAICompatible(chat_server.base_url, "normal", None, 10.0),
        "repair_search": RepairSearch(sandbox),
    }
    return models[request.param]


@pytest.fixture(params=["scripted", "openai_compatible", "repair_search"])
def unavailable(request: pytest.FixtureRequest, chat_server: ChatServer) -> Model:
    models: dict[str, Model] = {
        "scripted": Scripted(Script.from_json({"default": {"fail": {"kind": "unavailable"}}})),
        "openai_compatible": OpenAICompatible(chat_server.base_url, "rate-limited", None, 10.0),
        "repair_search": RepairSearch(BrokenSandbox()),
    }
    return models[request.param]


@pytest.fixture(params=["scripted", "openai_compatible", "repair_search"])
def rejecting(request: pytest.FixtureRequest, chat_server: ChatServer, sandbox: Sandbox) -> Model:
    models: dict[str, Model] = {
        "scripted": Scripted(Script.from_json({"default": {"fail": {"kind": "rejected"}}})),
        "openai_compatible": OpenAICompatible(chat_server.base_url, "no-such-model", None, 10.0),
        "repair_search": RepairSearch(sandbox),
    }
    return models[request.param]


def test_a_reply_holds_a_program_and_its_facts(working: Model) -> None:
    reply = working.complete(request())
    assert extract(reply.text, "last_index").program is not None
    assert reply.truncated is False
    assert reply.finish_reason == "stop"
    assert reply.latency_ms >= 0
    assert (reply.prompt_tokens, reply.completion_tokens) in ((7, 3), (0, 0))
    assert reply.model


def test_the_same_request_gets_the_same_reply(working: Model) -> None:
    assert working.complete(request()).text == working.complete(request()).text


def test_replies_to_several_threads_at_once(working: Model) -> None:
    expected = working.complete(request()).text
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(working.complete(request()).text)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == [expected] * 4


def test_a_passing_failure_says_whether_it_was_billed(unavailable: Model) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        unavailable.complete(request())
    assert caught.value.billed is False
    assert str(caught.value)


def test_a_lasting_failure_says_why(rejecting: Model) -> None:
    with pytest.raises(ModelRejected) as caught:
        rejecting.complete(request(start=None))
    assert isinstance(caught.value, ModelError)
    assert str(caught.value)
