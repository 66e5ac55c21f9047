"""Wake-ups land where workers look for them; a broker that is away costs a warning and no more."""

import logging
import threading
import time
from pathlib import Path

import pytest
import redis

from app.adapters.queue import TASK_NAMES, Queue, make_celery
from app.config import Settings
from app.domain.errors import InputError
from app.domain.work import WorkerKind
from tests.fixtures.services import RedisServer

AWAY = "redis://:secret-word@127.0.0.1:1/0"
"""Nobody listens on port 1."""


def queue_at(home: Path, broker_url: str | None = None) -> Queue:
    return Queue(make_celery(Settings(home=home, broker_url=broker_url)))


def received(home: Path, kind: WorkerKind, broker_url: str | None = None) -> list[str]:
    """The tasks waiting in the queue of `kind`, taken out of it as a worker would."""
    names = []
    with make_celery(Settings(home=home, broker_url=broker_url)).connection_for_read() as connection:
        waiting = connection.SimpleQueue(kind.value)
        while True:
            try:
                message = waiting.get(block=False)
            except waiting.Empty:
                break
            message.ack()
            names.append(message.headers["task"])
        waiting.close()
    return names


def test_messages_land_in_the_folder(tmp_path: Path) -> None:
    queue = queue_at(tmp_path)
    assert queue.reachable() is None
    assert queue.address == str(tmp_path / "queue" / "messages")
    queue.wake(WorkerKind.GENERATE, 3)
    queue.wake(WorkerKind.EXECUTE)
    assert len(list((tmp_path / "queue" / "messages").iterdir())) == 4
    assert received(tmp_path, WorkerKind.GENERATE) == [TASK_NAMES[WorkerKind.GENERATE]] * 3
    assert received(tmp_path, WorkerKind.EXECUTE) == [TASK_NAMES[WorkerKind.EXECUTE]]
    assert received(tmp_path, WorkerKind.GENERATE) == []


@pytest.mark.parametrize("watched", [True, False])
def test_a_message_file_is_announced_or_else_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watched: bool
) -> None:
    if watched:
        # Both waits outlast the test: the message can only come by being announced.
        monkeypatch.setattr("app.adapters.queue._Arrivals._MOST_SECONDS", 60.0)
        monkeypatch.setattr("app.adapters.queue.POLLING_SECONDS", 60.0)
    else:
        monkeypatch.setattr("app.adapters.queue._Arrivals._MOVED_TO", 0)  # the kernel refuses to watch for nothing
    celery = make_celery(Settings(home=tmp_path))
    tasks: list[str] = []
    queue = celery.amqp.queues[WorkerKind.EXECUTE]
    with celery.connection_for_read() as connection, connection.Consumer(queue, accept=["json"]) as consumer:
        consumer.on_message = lambda message: tasks.append(message.headers["task"])
        threading.Timer(0.2, Queue(celery).wake, (WorkerKind.EXECUTE,)).start()
        before = time.monotonic()
        connection.drain_events(timeout=30)
    assert tasks == [TASK_NAMES[WorkerKind.EXECUTE]]
    assert time.monotonic() - before < 15


def test_no_message_where_none_is_wanted(tmp_path: Path) -> None:
    queue_at(tmp_path).wake(WorkerKind.EXECUTE, 0)
    assert list((tmp_path / "queue" / "messages").iterdir()) == []


def test_messages_land_on_redis(tmp_path: Path, redis_server: RedisServer) -> None:
    redis_server.flush()
    url = redis_server.url(5)
    queue = queue_at(tmp_path, url)
    assert queue.reachable() is None
    queue.wake(WorkerKind.EXECUTE, 2)
    with redis.Redis.from_url(url) as client:
        assert client.llen(WorkerKind.EXECUTE.value) == 2
        assert client.llen(WorkerKind.GENERATE.value) == 0
    assert received(tmp_path, WorkerKind.EXECUTE, url) == [TASK_NAMES[WorkerKind.EXECUTE]] * 2
    # With a broker elsewhere nothing is left in the home folder.
    assert list(tmp_path.iterdir()) == []


def test_a_broker_that_is_away_costs_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    queue = queue_at(tmp_path, AWAY)
    before = time.monotonic()
    with caplog.at_level(logging.WARNING, logger="app.adapters.queue"):
        queue.wake(WorkerKind.EXECUTE, 100)
    # One failure is enough: the other 99 are not tried.
    assert time.monotonic() - before < 30
    (record,) = caplog.records
    assert record.getMessage() == "wake-up not sent"
    assert vars(record)["kind"] == "execute"
    assert "secret-word" not in caplog.text + vars(record)["error"]


def test_what_is_wrong_with_the_broker_is_said_without_its_password(tmp_path: Path) -> None:
    trouble = queue_at(tmp_path, AWAY).reachable()
    assert trouble is not None
    assert trouble.startswith("redis://:**@127.0.0.1:1/0: ")
    assert "Connection refused" in trouble
    assert "secret-word" not in trouble


@pytest.mark.parametrize("url", ["nonsense", "", "amqp://somebody:secret-word@host"])
def test_an_address_that_is_no_broker(tmp_path: Path, url: str) -> None:
    with pytest.raises(InputError, match=r"^HALFLIFE_BROKER_URL: must be an address such as redis://") as raised:
        queue_at(tmp_path, url)
    assert "secret-word" not in str(raised.value)
