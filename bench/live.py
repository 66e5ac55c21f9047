"""What live pages cost: 200 viewers of a run under way, a page asked for beside them, and queries a second.

The application runs in this process, where its queries are counted; the viewers and whoever asks for the page are
another one. A run of 164 problems moves on ten times a second meanwhile. Without viewers the same page is the measure.

Pages that are made by threads, one a stream, are what this is held against: 60 such streams made a page take 422 ms on
the machine where the design was tried.
"""

import asyncio
import json
import multiprocessing
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import uvicorn
from sqlalchemy import event, update

from app.config import Settings
from app.db.migrate import migrate
from app.db.models import Run
from app.db.session import Database
from app.main import create_app
from tests.fixtures.example_data import store_example
from tests.fixtures.services import running_postgres

VIEWERS = 200
SECONDS = 8.0
CHANGES_A_SECOND = 10
PAGE = "/computed"


def main() -> None:
    """Print a table, one line a database and number of viewers."""
    head = f"{'database':<12}{'viewers':>8}{'page p50, ms':>14}{'p95':>8}{'queries/s':>11}"
    print(f"{head}{'updates/s each':>16}{'delay, ms':>11}")
    with tempfile.TemporaryDirectory() as home:
        measure("SQLite", Settings(home=Path(home)))
    with tempfile.TemporaryDirectory() as home, running_postgres() as postgres:
        measure("PostgreSQL", Settings(home=Path(home), database_url=postgres.url(postgres.create())))


def measure(name: str, settings: Settings) -> None:
    """Serve the example and watch it."""
    db = Database(settings.database)
    migrate(db)
    run_id = store_example(db).running
    app = create_app(settings)
    with served(app) as port:
        queries = [0]

        def count(*_arguments: object) -> None:
            queries[0] += 1

        event.listen(app.state.halflife.db.engine, "before_cursor_execute", count)
        for viewers in (0, VIEWERS):
            here, there = multiprocessing.Pipe()
            client = multiprocessing.get_context("spawn").Process(target=_client, args=(there, port, run_id, viewers))
            client.start()
            here.recv()  # every stream is open
            before, began = queries[0], time.monotonic()
            while time.monotonic() - began < SECONDS:
                with db.transaction() as connection:
                    connection.execute(
                        update(Run)
                        .where(Run.id == run_id)
                        .values(revision=Run.revision + 1, tokens_spent=int(time.time() * 1000))
                    )
                time.sleep(1 / CHANGES_A_SECOND)
            asked = (queries[0] - before) / (time.monotonic() - began)
            here.send("stop")
            pages, updates, delays = here.recv()
            client.join()
            p95 = statistics.quantiles(pages, n=20)[-1]
            each = f"{updates / viewers / SECONDS:>16.2f}" if viewers else " " * 16
            delay = f"{statistics.median(delays):>11.0f}" if delays else ""
            print(f"{name:<12}{viewers:>8}{statistics.median(pages):>14.1f}{p95:>8.1f}{asked:>11.1f}{each}{delay}")
    db.close()


@contextmanager
def served(app: object) -> Iterator[int]:
    """The application on a free port, in a thread."""
    with socket.create_server(("127.0.0.1", 0), backlog=2 * VIEWERS) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))  # type: ignore[arg-type]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def _client(pipe: Connection, port: int, run_id: int, viewers: int) -> None:
    asyncio.run(_watch(pipe, port, run_id, viewers))


async def _watch(pipe: Connection, port: int, run_id: int, viewers: int) -> None:
    """Open the streams, then time a page until told to stop; answers with (page ms, updates, delays in ms)."""
    opened = asyncio.Semaphore(0)
    updates: list[float] = []
    delays: list[float] = []
    tasks = [asyncio.create_task(_view(port, run_id, opened, updates, delays)) for _ in range(viewers)]
    for _ in range(viewers):
        await opened.acquire()
    await _page_ms(port)
    pipe.send("open")
    updates.clear()
    delays.clear()
    pages = []
    while not pipe.poll():
        pages.append(await _page_ms(port))
        await asyncio.sleep(0.02)
    pipe.send((pages, len(updates), delays))
    for task in tasks:
        task.cancel()


async def _view(port: int, run_id: int, opened: asyncio.Semaphore, updates: list[float], delays: list[float]) -> None:
    reader, _ = await _request(port, f"/runs/{run_id}/events")
    first = True
    async for line in reader:
        if not line.startswith(b"data: {"):
            continue
        if first:
            opened.release()
            first = False
            continue
        updates.append(time.time())
        # The change carries its time as the run's tokens.
        facts = json.loads(line[6:])["parts"].get("facts", "")
        tokens = "".join(c for c in facts.partition(" tokens")[0].rpartition(">")[2] if c.isdigit())
        if tokens:
            delays.append(time.time() * 1000 - int(tokens))


async def _page_ms(port: int) -> float:
    began = time.perf_counter()
    reader, writer = await _request(port, PAGE, "Connection: close\r\n")
    await reader.read()
    writer.close()
    return (time.perf_counter() - began) * 1000


async def _request(port: int, path: str, headers: str = "") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}\r\n".encode())
    await writer.drain()
    return reader, writer


if __name__ == "__main__":
    main()
