"""Pages of runs under way, kept current over server-sent events.

One look at the database serves every open stream: it reads the revisions of all runs that somebody watches, and only
where one has risen is that run's page made anew, once for all its viewers. Each part of it is sent only when it has
changed. Events carry the run's revision as their id, so that a stream which begins again with the last one it saw gets
what changed since.
"""

import asyncio
import json
import logging
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from dataclasses import dataclass
from types import FrameType

import anyio.to_thread
from anyio import CapacityLimiter
from sqlalchemy import select

from app.db.models import Run
from app.db.session import Database
from app.domain.errors import StorageError

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
"""Between two looks, and at least between two updates of a page."""
REST = 4
"""A page is made at most a quarter of the time, however large the run is."""
AGE_SECONDS = 10.0
"""Rates and waiting times change by the clock alone."""
HEARTBEAT_SECONDS = 10.0
_HEARTBEAT = b"event: heartbeat\ndata:\n\n"
_BEGIN = b"retry: 2000\n\n"
_THREADS = 4
"""Threads of our own: however many runs are watched, those that answer requests stay free."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run's page at one revision: markup by the id of the element that it replaces.

    `ended`: nothing will change any more, and streams end.
    """

    revision: int
    status: str
    ended: bool
    parts: Mapping[str, str]

    def message(self, parts: Mapping[str, str] | None = None) -> str:
        """What a page is told, as JSON, with all parts or some."""
        told = self.parts if parts is None else parts
        return json.dumps({"revision": self.revision, "status": self.status, "ended": self.ended, "parts": told})


@dataclass(frozen=True, slots=True)
class _Part:
    """Markup, and when it became so: by the run's revision, and by this view's count of updates."""

    markup: str
    revision: int
    update: int


class _View:
    """One page of one run, shared by all who look at it."""

    def __init__(self, take: Callable[[], Snapshot]) -> None:
        self.take = take
        self.viewers = 0
        self.snapshot: Snapshot | None = None
        self.update = 0
        self.next_look = 0.0
        self.next_age = 0.0
        self.changed = asyncio.Event()
        self._parts: dict[str, _Part] = {}
        self._encoded: dict[int, bytes] = {}

    def put(self, snapshot: Snapshot) -> None:
        """Note what has changed, and rouse the streams where anything has."""
        before = self.snapshot
        changed = {
            name: _Part(markup, snapshot.revision, self.update + 1)
            for name, markup in snapshot.parts.items()
            if name not in self._parts or self._parts[name].markup != markup
        }
        self.snapshot = snapshot
        ended = before is not None and before.ended
        if not changed and before is not None and before.status == snapshot.status and ended == snapshot.ended:
            return
        self._parts |= changed
        self.update += 1
        self._encoded.clear()
        self.changed.set()
        self.changed = asyncio.Event()

    def since_revision(self, revision: int) -> bytes | None:
        """The event for a page made at `revision`; None where nothing has changed since."""
        parts = {name: part.markup for name, part in self._parts.items() if part.revision > revision}
        if self.snapshot is None or not (parts or self.snapshot.ended):
            return None
        return _event(self.snapshot, parts)

    def since_update(self, update: int) -> bytes:
        """The event for a stream that got everything up to `update`: made once for all that did."""
        if update not in self._encoded and self.snapshot is not None:
            parts = {name: part.markup for name, part in self._parts.items() if part.update > update}
            self._encoded[update] = _event(self.snapshot, parts)
        return self._encoded[update]


class LiveRuns:
    """Every open stream of this process, and the one task that looks for changes while there is any."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._views: dict[tuple[int, Hashable], _View] = {}
        self._task: asyncio.Task[None] | None = None
        self._ending = False

    async def follow(
        self, run_id: int, page: Hashable, since: int, take: Callable[[], Snapshot]
    ) -> AsyncIterator[bytes]:
        """Events for a page of a run (which exists) that was made at revision `since`, until the run has ended.

        `take` makes the page's parts in a thread; of several viewers of one `page` the first brings it.
        """
        view = self._views.setdefault((run_id, page), _View(take))
        view.viewers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._watch())
        try:
            yield _BEGIN
            seen: int | None = None
            while not self._ending:
                changed = view.changed
                if view.snapshot is not None and seen != view.update:
                    event = view.since_revision(since) if seen is None else view.since_update(seen)
                    seen = view.update
                    if event is not None:
                        yield event
                    if view.snapshot.ended:
                        return
                    continue
                try:
                    await asyncio.wait_for(changed.wait(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield _HEARTBEAT
        finally:
            view.viewers -= 1
            if not view.viewers:
                del self._views[run_id, page]

    def end_with_process(self) -> None:
        """End every stream at the signal that stops the server, which would else wait for them: they have no end.

        To be called in the server's event loop. Browsers come back by themselves, and go on where they were.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            before = signal.getsignal(number)
            if callable(before):
                signal.signal(number, _first(lambda: loop.call_soon_threadsafe(self._end_streams), before))

    def _end_streams(self) -> None:
        self._ending = True
        for view in self._views.values():
            view.changed.set()

    async def close(self) -> None:
        """End the task."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self) -> None:
        limiter = CapacityLimiter(_THREADS)
        clock = asyncio.get_running_loop().time
        while self._views:
            began = clock()
            try:
                await self._look(limiter, began)
            except StorageError as error:
                # The pages keep what they show; the streams' heartbeats go on.
                log.warning("database unusable", extra={"error": str(error)})
            except Exception:
                # Were this task to end, every stream would stand still for ever.
                log.exception("looking for changes failed")
            await asyncio.sleep(max(0.0, LOOK_SECONDS - (clock() - began)))
        self._task = None

    async def _look(self, limiter: CapacityLimiter, now: float) -> None:
        watched = {run_id for run_id, _ in self._views}
        revisions = await anyio.to_thread.run_sync(self._revisions, watched, limiter=limiter)
        stale = [
            view
            for (run_id, _), view in self._views.items()
            if now >= view.next_look
            and (view.snapshot is None or view.snapshot.revision != revisions.get(run_id) or now >= view.next_age)
        ]
        await asyncio.gather(*(self._renew(view, limiter) for view in stale))

    async def _renew(self, view: _View, limiter: CapacityLimiter) -> None:
        try:
            snapshot, took = await anyio.to_thread.run_sync(_timed, view.take, limiter=limiter)
        except Exception:
            # One page that cannot be made must not keep the others from being renewed.
            log.exception("a live page could not be made")
            view.next_look = asyncio.get_running_loop().time() + AGE_SECONDS
            return
        view.put(snapshot)
        now = asyncio.get_running_loop().time()
        view.next_look = now + max(0.0, LOOK_SECONDS - took, (REST - 1) * took)
        view.next_age = now + AGE_SECONDS

    def _revisions(self, run_ids: set[int]) -> dict[int, int]:
        with self._db.query() as connection:
            rows = connection.execute(select(Run.id, Run.revision).where(Run.id.in_(run_ids)))
            return dict(rows.all())


def _first(act: Callable[[], object], then: Callable[[int, FrameType | None], object]) -> Callable[..., None]:
    def handle(number: int, frame: FrameType | None) -> None:
        act()
        then(number, frame)

    return handle


def _timed(take: Callable[[], Snapshot]) -> tuple[Snapshot, float]:
    began = time.monotonic()
    return take(), time.monotonic() - began


def _event(snapshot: Snapshot, parts: Mapping[str, str]) -> bytes:
    """One event; JSON has no line breaks of its own."""
    return f"id: {snapshot.revision}\ndata: {snapshot.message(parts)}\n\n".encode()
