"""OpenAI-compatible endpoints, against a real server on loopback that behaves well and badly."""

import logging
import socket
import time
import traceback
from datetime import UTC, datetime

import pytest

from app.adapters.models.openai_compatible import OpenAICompatible, retry_after_seconds
from app.domain.errors import ModelError, ModelRejected, ModelUnavailable
from app.domain.ports import Message, ModelRequest, Sampling, Task
from app.domain.problems import Limits
from tests.fixtures.chat_server import JSON_ANSWERS, RAW_ANSWERS, ChatServer

KEY = "sk-very-secret-0123456789"
NAMES = [*JSON_ANSWERS, *RAW_ANSWERS, "unauthorized", "echo-everywhere", "silent", "compressed", "cut-off", "reasoning"]


def model(server: ChatServer, name: str, timeout_seconds: float = 10.0, max_reply_bytes: int = 1_000_000):
    return OpenAICompatible(server.base_url, name, KEY, timeout_seconds, max_reply_bytes=max_reply_bytes)


def request(content: str = "Write it.", sampling: Sampling = Sampling(), seed: int = 5) -> ModelRequest:  # noqa: B008
    task = Task("p", "f", Limits(), None, None, ())
    return ModelRequest((Message("system", "You write code."), Message("user", content)), sampling, seed, task)


def unavailable(server: ChatServer, name: str, **options: float) -> ModelUnavailable:
    with pytest.raises(ModelUnavailable) as caught:
        model(server, name, **options).complete(request())
    return caught.value


def rejected(server: ChatServer, name: str) -> ModelRejected:
    with pytest.raises(ModelRejected) as caught:
        model(server, name).complete(request())
    return caught.value


def test_sends_what_was_asked_and_reads_the_reply(chat_server: ChatServer) -> None:
    reply = model(chat_server, "normal").complete(request(sampling=Sampling(0.5, 0.9, 77), seed=2**31 + 5))
    assert reply.text == "def f():\n    return 1\n"
    assert (reply.prompt_tokens, reply.completion_tokens, reply.model) == (7, 3, "served-model")
    assert chat_server.bodies == [
        {
            "model": "normal",
            "messages": [
                {"role": "system", "content": "You write code."},
                {"role": "user", "content": "Write it."},
            ],
            "max_tokens": 77,
            "temperature": 0.5,
            "top_p": 0.9,
            "seed": 5,
        }
    ]
    assert chat_server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_unset_parameters_are_not_sent(chat_server: ChatServer) -> None:
    model(chat_server, "normal").complete(request(sampling=Sampling(None, None, 5)))
    assert chat_server.bodies[0].keys() == {"model", "messages", "max_tokens", "seed"}


def test_without_a_key_a_placeholder_is_sent(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    OpenAICompatible(chat_server.base_url, "normal", None).complete(request())
    assert chat_server.headers[0]["authorization"] == "Bearer none"


def test_surrogates_are_replaced_before_sending(chat_server: ChatServer) -> None:
    model(chat_server, "normal").complete(request("a\ud800b\x00c\ud83d\ude00"))
    assert chat_server.bodies[0]["messages"][1]["content"] == "a\ufffdb\x00c\U0001f600"


def test_odd_characters_in_a_reply_are_kept(chat_server: ChatServer) -> None:
    assert model(chat_server, "odd-characters").complete(request()).text == "a\x00b\ud800c\U0001f600"


@pytest.mark.parametrize(("name", "text"), [("empty-reply", ""), ("null-reply", ""), ("parts", "ab")])
def test_text_of_unusual_replies(chat_server: ChatServer, name: str, text: str) -> None:
    assert model(chat_server, name).complete(request()).text == text


def test_truncation_and_missing_token_counts(chat_server: ChatServer) -> None:
    truncated = model(chat_server, "truncated").complete(request())
    assert (truncated.truncated, truncated.finish_reason) == (True, "length")
    uncounted = model(chat_server, "no-usage").complete(request())
    assert (uncounted.prompt_tokens, uncounted.completion_tokens, uncounted.truncated) == (None, None, False)


def test_what_an_endpoint_does_not_know_is_asked_otherwise(chat_server: ChatServer) -> None:
    reasoning = model(chat_server, "reasoning")
    assert reasoning.complete(request()).text == "thought"
    # Refused for max_tokens, refused for seed, accepted.
    assert [("max_tokens" in body, "seed" in body) for body in chat_server.bodies] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    reasoning.complete(request())
    assert len(chat_server.bodies) == 4


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("unauthorized", "key refused"),
        ("forbidden", "key refused"),
        ("no-such-model", "no such model"),
        ("html-404", "not an OpenAI-compatible API at this address"),
        ("html", "not an OpenAI-compatible API at this address"),
        ("bad-request", "temperature must be below 2"),
        ("no-quota", "quota used up"),
        ("redirect", "redirects elsewhere"),
        ("compressed", "compressed"),
    ],
)
def test_lasting_failures(chat_server: ChatServer, name: str, words: str) -> None:
    failure = rejected(chat_server, name)
    assert words in str(failure)
    assert failure.this_request_only is False
    assert len(chat_server.bodies) == 1


def test_a_request_that_is_too_long_is_refused_alone(chat_server: ChatServer) -> None:
    assert rejected(chat_server, "too-long").this_request_only is True


@pytest.mark.parametrize(
    ("name", "retry_after", "billed"),
    [
        ("rate-limited", 7.0, False),
        ("rate-limited-ms", 0.25, False),
        ("broken", None, True),
        ("overloaded", 2.5, True),
        ("empty-body", None, True),
        ("not-json", None, True),
        ("deep-json", None, True),
        ("not-an-object", None, True),
        ("no-choices", None, True),
        ("gateway-error", None, True),
        ("cut-off", None, True),
        ("huge", None, True),
        ("huge-error", None, True),
        ("endless", None, True),
    ],
)
def test_passing_failures(chat_server: ChatServer, name: str, retry_after: float | None, billed: bool) -> None:
    failure = unavailable(chat_server, name)
    assert (failure.retry_after, failure.billed) == (retry_after, billed)
    assert len(chat_server.bodies) == 1


@pytest.mark.parametrize("name", ["silent", "dribble", "dribbling-headers"])
def test_the_deadline_holds_however_the_server_stalls(chat_server: ChatServer, name: str) -> None:
    started = time.monotonic()
    failure = unavailable(chat_server, name, timeout_seconds=0.4)
    assert time.monotonic() - started < 2.0
    assert failure.billed is True


def test_a_refused_connection_costs_nothing(chat_server: ChatServer) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can take it, and it refuses
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ModelUnavailable) as caught:
            OpenAICompatible(address, "m", KEY, 5.0).complete(request())
    assert caught.value.billed is False


@pytest.mark.parametrize("address", ["", "ftp://x", "localhost:8000", "http://[bad", "http://h:99999", "http://a b/"])
def test_what_is_no_address_is_rejected(address: str) -> None:
    with pytest.raises(ModelRejected, match="address"):
        OpenAICompatible(address, "m", None).complete(request())


def test_unusable_keys_and_credentials_in_addresses_are_rejected_unseen() -> None:
    for address, key in (("http://127.0.0.1:9/v1", KEY + "\nX: y"), (f"http://user:{KEY}@127.0.0.1:9/v1", None)):
        model_ = OpenAICompatible(address, "m", key)
        with pytest.raises(ModelRejected) as caught:
            model_.complete(request())
        assert KEY not in str(caught.value) + repr(model_)


@pytest.mark.parametrize("name", NAMES)
def test_the_key_never_shows(chat_server: ChatServer, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    asked = model(chat_server, name, timeout_seconds=0.5)
    failure: ModelError | None = None
    try:
        shown = repr(asked.complete(request()))
    except ModelError as error:
        failure = error
        shown = "".join(traceback.format_exception(error)) + repr(vars(error))
    # What a chained exception holds would be logged with it.
    assert failure is None or (failure.__context__ is None and failure.__cause__ is None)
    logged = "".join(record.getMessage() for record in caplog.records)
    assert KEY not in repr(asked) + shown + logged


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        # 12:00:30 is 30 s after noon; 11:59:00 is past.
        ({"retry-after": "Mon, 02 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 02 Mar 2026 11:59:00 GMT"}, 0.0),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers, datetime(2026, 3, 2, 12, tzinfo=UTC)) == seconds
