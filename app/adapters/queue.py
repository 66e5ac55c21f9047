"""Wake-up messages. A message says that there may be work of a kind; the database says which.

The only Celery import in `app`; `workers` builds on the same application object.
"""

import contextlib
import ctypes
import json
import logging
import os
import select
import time
import uuid
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from queue import Empty
from typing import Any

from celery import Celery
from kombu.exceptions import ChannelError, OperationalError
from kombu.transport import TRANSPORT_ALIASES, filesystem

from app.config import Settings
from app.domain.errors import InputError
from app.domain.work import WorkerKind

TASK_NAMES = {kind: f"halflife.{kind}" for kind in WorkerKind}
BROKERS = ("redis://", "rediss://")
POLLING_SECONDS = 0.01
"""How often message files are looked for where the kernel does not announce them."""

log = logging.getLogger(__name__)


class _Channel(filesystem.Channel):
    """kombu's channel of message files, without its races.

    It creates a message's file and then fills it, and creates an exchange's table and then fills it; a reader that
    comes between finds an empty file, and its worker ends with a JSONDecodeError (kombu issue 1551). It takes a
    message by moving it to the system's temporary folder, which copies it where that is another file system.
    """

    def _put(self, queue: str, message: dict[str, Any], **_: Any) -> None:  # type: ignore[override]
        """Write a message under a name that no reader looks for, then give it its own."""
        name = f"{time.time_ns():020}_{uuid.uuid4()}.{queue}.msg"
        folder = Path(self.data_folder_out)
        partial = folder / f"{name}.partial"
        try:
            partial.write_text(json.dumps(message))
            partial.rename(folder / name)
        except OSError as error:
            raise ChannelError(f"{name} cannot be written to {folder}: {error.strerror}") from error

    def _get(self, queue: str) -> dict[str, Any]:  # type: ignore[override]
        """Take the oldest message of `queue`. Raises Empty."""
        folder = Path(self.data_folder_in)
        for name in sorted(name for name in os.listdir(folder) if name.endswith(f".{queue}.msg")):
            with contextlib.suppress(FileNotFoundError):  # another reader removed it first: it is his
                text = (folder / name).read_text()
                (folder / name).unlink()
                return dict(json.loads(text))
        raise Empty

    def get_table(self, exchange: str) -> list[filesystem.exchange_queue_t]:
        """Every exchange here feeds the one queue of its name, which needs no file to remember it."""
        return [filesystem.exchange_queue_t(exchange, "", exchange)]

    def _queue_bind(self, *_: Any) -> None:
        """Nothing to note, see `get_table`."""


class _Arrivals:
    """Waits for files that are moved into a folder (inotify, by ctypes: Python has no such call)."""

    _MOVED_TO = 0x80
    _MOST_SECONDS = 0.1
    """A message may lie there unannounced: one that came while every thread of its worker was busy."""

    def __init__(self, folder: str) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._notices = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._notices >= 0 and libc.inotify_add_watch(self._notices, os.fsencode(folder), self._MOVED_TO) < 0:
            self.close()
        if self._notices < 0:
            log.info("message files are polled", extra={"error": os.strerror(ctypes.get_errno())})

    def wait(self, endings: Collection[bytes]) -> None:
        """Return when a file came whose name has one of the endings, or after a while."""
        if self._notices < 0:
            time.sleep(POLLING_SECONDS)
            return
        deadline = time.monotonic() + self._MOST_SECONDS
        while (left := deadline - time.monotonic()) > 0 and select.select([self._notices], [], [], left)[0]:
            notices = os.read(self._notices, 65536)  # holds the names
            if any(ending in notices for ending in endings):
                return

    def close(self) -> None:
        """Stop watching."""
        if self._notices >= 0:
            os.close(self._notices)
            self._notices = -1


class FilesystemTransport(filesystem.Transport):
    """kombu's filesystem transport over that channel; it waits for messages instead of polling for them."""

    Channel = _Channel

    @cached_property
    def _arrivals(self) -> _Arrivals:
        return _Arrivals(self.client.transport_options["data_folder_in"])  # type: ignore[union-attr]

    def drain_events(self, connection: Any, timeout: float | None = None) -> None:  # type: ignore[override]
        """Deliver a message. Raises TimeoutError where none comes in `timeout` seconds."""
        arrivals = self._arrivals  # watched before the folder is read: no message falls between
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            try:
                self.cycle.get(self._deliver, timeout=timeout)  # type: ignore[union-attr]
            except Empty:
                if deadline is not None and time.monotonic() >= deadline:
                    raise TimeoutError from None
                # What this process sends itself comes into the same folder.
                arrivals.wait([f".{queue}.msg".encode() for queue in self._callbacks or ()])
            else:
                return

    def close_connection(self, connection: Any) -> None:
        """Stop watching, too."""
        if "_arrivals" in self.__dict__:
            self.__dict__.pop("_arrivals").close()
        super().close_connection(connection)  # type: ignore[no-untyped-call]


_SCHEME = "message-files"
TRANSPORT_ALIASES[_SCHEME] = f"{__name__}:{FilesystemTransport.__name__}"


def make_celery(settings: Settings) -> Celery:
    """The Celery application on the settings' broker, without a result backend: the database has the results.

    Raises InputError where the broker's address is none.
    """
    if settings.broker_url is not None and not settings.broker_url.startswith(BROKERS):
        raise InputError("HALFLIFE_BROKER_URL: must be an address such as redis://127.0.0.1:6379/0")
    app = Celery("halflife")
    app.conf.update(
        task_ignore_result=True,
        task_routes={name: {"queue": kind.value} for kind, name in TASK_NAMES.items()},
        task_create_missing_queues=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # a broker that is away for an hour comes back all the same
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_send_task_events=False,
        # A wake-up that nobody took in this time has been replaced by the sweep's.
        task_default_expires=600,
    )
    if settings.broker_url is not None:
        app.conf.broker_url = settings.broker_url
        # A page that starts a run must not wait for a broker that is away: the sweep finds the work.
        app.conf.broker_transport_options = {"max_retries": 1, "interval_start": 0, "interval_max": 0.1}
    else:
        folder = _queue_folder(settings.home)
        app.conf.broker_url = f"{_SCHEME}://localhost"
        app.conf.broker_transport_options = {
            "data_folder_in": str(folder / "messages"),
            "data_folder_out": str(folder / "messages"),
            "control_folder": str(folder / "control"),
        }
    return app


class Queue:
    """Sends wake-ups. A message that cannot be sent is logged and left to the sweep."""

    def __init__(self, celery: Celery) -> None:
        self._celery = celery

    def wake(self, kind: WorkerKind, count: int = 1) -> None:
        """Tell up to `count` workers of `kind` that there may be something to do. Call after the commit."""
        for _ in range(count):
            try:
                self._celery.send_task(TASK_NAMES[kind], retry=False)
            except (OperationalError, ChannelError, OSError) as error:
                log.warning("wake-up not sent", extra={"kind": kind.value, "error": str(error)})
                return

    def reachable(self) -> str | None:
        """None where a message could be sent, else what is wrong in words."""
        try:
            with self._celery.connection_for_write(connect_timeout=3) as connection:
                connection.ensure_connection(max_retries=1, timeout=3)
        except (OperationalError, OSError) as error:
            return f"{self.address}: {error}"
        return None

    @property
    def address(self) -> str:
        """Where messages go, without a password."""
        folder = self._celery.conf.broker_transport_options.get("data_folder_out")
        return folder or str(self._celery.connection_for_write().as_uri())


def _queue_folder(home: Path) -> Path:
    folder = home / "queue"
    for name in ("messages", "control"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return folder
