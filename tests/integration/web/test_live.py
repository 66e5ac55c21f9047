"""Streams of live pages over a real database: one look for all viewers, and only what has changed."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import event

from app.db.models import Run
from app.db.session import Database
from app.web import live
from app.web.live import LiveRuns, Snapshot
from tests.fixtures.example_data import REVISION, store_model, store_problem_set, store_run


@pytest.fixture
def run_id(database: Database) -> int:
    with database.write() as session:
        problem_set, problems = store_problem_set(session, "Two", 2)
        run = store_run(session, problem_set, problems, store_model(session, "model"), [("A",), ("W", "A")])
        return run.id


class Page:
    """A page of two parts, one of which follows a counter of the run."""

    def __init__(self, database: Database, run_id: int) -> None:
        self.database = database
        self.run_id = run_id
        self.made = 0

    def take(self) -> Snapshot:
        self.made += 1
        with self.database.read() as session:
            run = session.get_one(Run, self.run_id)
        parts = {"title": "<h1>Two</h1>", "tokens": f"<b>{run.tokens_spent}</b>"}
        return Snapshot(run.revision, run.status, run.status == "cancelled", parts)

    def change(self, tokens: int, status: str = "running") -> None:
        with self.database.write() as session:
            run = session.get_one(Run, self.run_id)
            run.tokens_spent, run.status = tokens, status
            run.revision += 1


async def following(stream: AsyncIterator[bytes]) -> dict[str, object]:
    """The next event with an id."""
    async for block in stream:
        if block.startswith(b"id: "):
            number, data = block.decode().strip().split("\n")
            return {"id": int(number.removeprefix("id: ")), **json.loads(data.removeprefix("data: "))}
    raise AssertionError("the stream ended")


def test_all_viewers_share_one_look_and_get_only_what_changed(database: Database, run_id: int) -> None:
    page = Page(database, run_id)
    asked: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        if "runs.revision" in statement and "runs.status" not in statement:
            asked.append(statement)

    async def watch() -> None:
        streams = LiveRuns(database)
        page.change(10)
        viewers = [streams.follow(run_id, "page", 0, page.take) for _ in range(50)]
        firsts = await asyncio.gather(*(following(viewer) for viewer in viewers))
        assert {first["id"] for first in firsts} == {REVISION + 1}
        assert all(first["parts"] == {"title": "<h1>Two</h1>", "tokens": "<b>10</b>"} for first in firsts)
        made = page.made
        page.change(20)
        seconds = await asyncio.gather(*(following(viewer) for viewer in viewers))
        assert {second["id"] for second in seconds} == {REVISION + 2}
        assert all(second["parts"] == {"tokens": "<b>20</b>"} for second in seconds)
        assert page.made == made + 1
        # A page that was made at the first of these revisions gets what changed after it, and no more.
        late = streams.follow(run_id, "page", REVISION + 1, page.take)
        assert (await following(late))["parts"] == {"tokens": "<b>20</b>"}
        page.change(20, "cancelled")
        lasts = await asyncio.gather(*(following(viewer) for viewer in [*viewers, late]))
        assert all((last["ended"], last["status"], last["parts"]) == (True, "cancelled", {}) for last in lasts)
        for viewer in [*viewers, late]:
            assert [block async for block in viewer] == []
        await asyncio.sleep(2 * live.LOOK_SECONDS)
        # Nobody watches any more: nothing is asked.
        before = len(asked)
        await asyncio.sleep(2 * live.LOOK_SECONDS)
        assert len(asked) == before
        await streams.close()

    event.listen(database.engine, "before_cursor_execute", note)
    asyncio.run(watch())
    # One look every half second, whatever the number of viewers.
    assert 3 <= len(asked) <= 20


def test_a_page_that_cannot_be_made_stops_no_other(
    database: Database, run_id: int, caplog: pytest.LogCaptureFixture
) -> None:
    page = Page(database, run_id)

    def broken() -> Snapshot:
        raise RuntimeError("no such template")

    async def watch() -> None:
        streams = LiveRuns(database)
        page.change(10)
        lost = asyncio.ensure_future(following(streams.follow(run_id, "broken", 0, broken)))
        assert (await following(streams.follow(run_id, "page", 0, page.take)))["id"] == REVISION + 1
        async with asyncio.timeout(10):
            while "a live page could not be made" not in caplog.text:
                await asyncio.sleep(0.05)
        lost.cancel()
        await asyncio.gather(lost, return_exceptions=True)
        await streams.close()

    asyncio.run(watch())


def test_a_silent_stream_says_that_it_lives(database: Database, run_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.05)
    page = Page(database, run_id)

    async def watch() -> None:
        streams = LiveRuns(database)
        stream = streams.follow(run_id, "page", REVISION, page.take)
        blocks = [await anext(stream) for _ in range(3)]
        assert blocks[0] == b"retry: 2000\n\n"
        assert blocks[1:] == [b"event: heartbeat\ndata:\n\n"] * 2
        await stream.aclose()
        await streams.close()

    asyncio.run(watch())


def test_streams_end_at_the_signal_that_stops_the_server(database: Database, run_id: int) -> None:
    page = Page(database, run_id)
    stopped: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: stopped.append(number))

    async def watch() -> None:
        streams = LiveRuns(database)
        streams.end_with_process()
        stream = streams.follow(run_id, "page", 0, page.take)
        await following(stream)
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(5):
            assert [block async for block in stream] == []
        await streams.close()

    try:
        asyncio.run(watch())
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # The server's own handler hears of it as well.
    assert stopped == [signal.SIGTERM]
