"""A team's models: connected to at the addresses that were checked, and at no others."""

import socket
from typing import Any

import pytest

from app.adapters.addresses import PublicAddresses
from app.adapters.models.openai_compatible import OpenAICompatible
from app.domain.errors import ModelRejected, ModelUnavailable
from app.domain.ports import Message, ModelReply, ModelRequest, Sampling, Task
from app.domain.problems import Limits
from tests.fixtures.chat_server import ChatServer

KEY = "sk-very-secret-0123456789"


def model(base_url: str, *allowed: str, name: str = "normal") -> OpenAICompatible:
    return OpenAICompatible(base_url, name, KEY, 10.0, addresses=PublicAddresses(allowed))


def ask(asked: OpenAICompatible) -> ModelReply:
    task = Task("p", "f", Limits(), None, None, ())
    return asked.complete(ModelRequest((Message("user", "Reply with the word OK."),), Sampling(), 0, task))


def resolving_to(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
    """Each look-up gives the next answer, and the last one from then on."""
    real, left = socket.getaddrinfo, list(answers)

    def look_up(host: Any, port: Any, *arguments: Any, **options: Any) -> Any:
        if host != "models.example":
            return real(host, port, *arguments, **options)
        found = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


def test_the_servers_own_network_is_refused_before_anything_is_sent(chat_server: ChatServer) -> None:
    with pytest.raises(ModelRejected, match=r"127\.0\.0\.1 stands for 127\.0\.0\.1, which is no public address"):
        ask(model(chat_server.base_url))
    assert chat_server.bodies == []


def test_an_allowed_host_is_asked_under_its_own_name(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    resolving_to(monkeypatch, ["127.0.0.1"])
    port = chat_server.base_url.rpartition(":")[2]
    assert ask(model(f"http://models.example:{port}", "models.example")).model == "served-model"
    assert chat_server.headers[0]["host"] == f"models.example:{port.partition('/')[0]}"


def test_a_name_that_changes_after_it_was_checked_gains_nothing(
    chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first look-up is the check's. Were there a second one for the connection, it would reach the server here;
    # 240.0.0.1 stands in for a public address, since nothing can be reached there.
    resolving_to(monkeypatch, ["240.0.0.1"], ["127.0.0.1"])
    monkeypatch.setattr("app.adapters.addresses.is_public", lambda address: address == "240.0.0.1")
    port = chat_server.base_url.rpartition(":")[2]
    with pytest.raises(ModelUnavailable, match=r"no connection to http://models\.example"):
        ask(model(f"http://models.example:{port}"))
    assert chat_server.bodies == []


def test_the_next_address_is_tried_where_one_does_not_answer(
    chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving_to(monkeypatch, ["240.0.0.1", "127.0.0.1"])
    port = chat_server.base_url.rpartition(":")[2]
    assert ask(model(f"http://models.example:{port}", "models.example")).model == "served-model"


def test_an_unknown_host_is_a_passing_failure() -> None:
    with pytest.raises(ModelUnavailable, match=r"no connection to http://no-such-host\.invalid"):
        ask(model("http://no-such-host.invalid/v1"))
