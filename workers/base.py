"""What both kinds of worker share: draining due steps under renewed leases, and the periodic sweep."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

from sqlalchemy import ColumnElement, select

from app.adapters.queue import Queue
from app.db.models import Trajectory
from app.db.session import Database
from app.domain.errors import LeaseLost, StorageError
from app.domain.work import Step, WorkerKind
from app.services.add_arms import start_decided_arms
from app.services.claim import ANY_CLAIMABLE, Claim, claim_due
from app.services.heartbeats import beat, leave
from app.services.leases import HeldLeases
from app.services.measure_runs import measure_unmeasured
from app.services.retry_scores import score_outdated_anew
from app.services.share_attempts import share_attempts
from app.services.steps.failure import put_off_failed
from app.services.steps.transitions import Wakes
from app.services.sweep import sweep

HEARTBEAT_SECONDS = 10.0

log = logging.getLogger(__name__)

_installed: dict[WorkerKind, "Worker"] = {}


def install(worker: "Worker") -> None:
    """Make `worker` the one that this process's tasks work with."""
    _installed[worker.kind] = worker


def current_worker(kind: WorkerKind) -> "Worker":
    """The installed worker of `kind`. Raises KeyError in a process that was not started as one."""
    return _installed[kind]


class Jobs(Protocol):
    """What a worker does beside its steps: each claimed from the database, leased and done once."""

    any_due: ColumnElement[bool]
    """Whether one is due at `:now`."""
    leases: HeldLeases
    """Of those under way."""

    def perform_next(self) -> bool:
        """Do one that is due; False where none is. Raises StorageError."""
        ...

    def due(self) -> int:
        """How many are due."""
        ...


class Worker:
    """One worker process: `concurrency` threads draining due steps, and one that renews leases and sweeps.

    `steps` maps each step this kind performs to what performs it; `jobs` are what it does beside them.
    """

    def __init__(
        self,
        kind: WorkerKind,
        db: Database,
        queue: Queue,
        steps: Mapping[Step, Callable[[Claim], Wakes]],
        *,
        concurrency: int,
        lease_seconds: float,
        sweep_seconds: float,
        jobs: Sequence[Jobs] = (),
    ) -> None:
        self.kind = kind
        self.name = f"{kind}-{os.getpid()}@{socket.gethostname()}"
        self.concurrency = concurrency
        self._started_at = datetime.now(UTC)
        self._db = db
        self._queue = queue
        self._steps = steps
        self._jobs = jobs
        # Asked after every step, of everything at once: mostly nothing is due, and looking must not queue for locks.
        self._what_is_due = select(ANY_CLAIMABLE, *(one.any_due for one in jobs))
        self._lease_seconds = lease_seconds
        self._sweep_seconds = sweep_seconds
        self._stopping = threading.Event()
        self._leases = HeldLeases(db, Trajectory, lease_seconds)
        self._draining = 0
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._every, args=(lease_seconds / 3, self._renew), name="leases", daemon=True),
            threading.Thread(target=self._every, args=(sweep_seconds, self._sweep), name="sweep", daemon=True),
            threading.Thread(target=self._every, args=(HEARTBEAT_SECONDS, self._beat), name="heartbeat", daemon=True),
        ]

    def start(self) -> None:
        """Begin renewing, sweeping and giving signs of life."""
        with suppress(StorageError):  # the thread comes back to it
            self._beat()
        for thread in self._threads:
            thread.start()

    @property
    def stopping(self) -> bool:
        """Whether it takes no further steps."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Take no further steps; those under way go on."""
        self._stopping.set()

    def leave(self) -> None:
        """Say that this worker ended in order."""
        with suppress(StorageError):  # it will be seen to be silent
            leave(self._db, self.name)

    def drain(self) -> None:
        """Claim and perform steps until none is due. Messages that come meanwhile find nothing and cost a query."""
        with self._lock:
            # A worker at rest is woken for a step; beside busy threads, a wake-up mostly finds nothing left.
            expected = self._draining == 0
            self._draining += 1
        try:
            if expected and not self._stopping.is_set():
                self._perform_step()
            while not self._stopping.is_set() and self._perform_what_is_due():
                pass
        except StorageError as error:
            # The sweep comes back to it once the database does.
            log.warning("database unusable", extra={"error": str(error)})
        finally:
            with self._lock:
                self._draining -= 1

    def _perform_what_is_due(self) -> bool:
        # One of each in turn: neither a large run nor a large re-judging keeps the others waiting.
        with self._db.query() as connection:
            now = {"kind": self.kind.value, "now": datetime.now(UTC)}
            step, *of_jobs = connection.execute(self._what_is_due, now).one()
        done = [jobs.perform_next() for jobs, due in zip(self._jobs, of_jobs, strict=True) if due]
        return (step and self._perform_step()) or any(done)

    def _perform_step(self) -> bool:
        claims = claim_due(self._db, self.kind, 1, self._lease_seconds)
        for claim in claims:
            with self._leases.holding(claim.trajectory_id, claim.lease_number):
                wakes = self._perform(claim)
            for kind in wakes:
                # What is left to this kind of worker, this very thread looks for next.
                if kind is not self.kind or self._stopping.is_set():
                    self._queue.wake(kind)
        return bool(claims)

    def _perform(self, claim: Claim) -> Wakes:
        ids = {"run": claim.run_id, "trajectory": claim.trajectory_id, "lease": claim.lease_number}
        try:
            try:
                return self._steps[claim.step](claim)
            except (LeaseLost, StorageError):
                raise
            except Exception as error:
                # A fault of ours must not hold a trajectory for ever: it is put off, and censored when it stays.
                log.exception("step failed", extra=ids)
                return put_off_failed(self._db, claim, f"internal error: {type(error).__name__}: {error}")
        except LeaseLost:
            log.warning("lease lost", extra=ids)
            return ()

    def _every(self, seconds: float, act: Callable[[], None]) -> None:
        # Daemon threads: they go on while a stopping worker ends its steps, whose leases must not run out.
        while True:
            time.sleep(seconds)
            try:
                act()
            except StorageError as error:
                log.warning("database unusable", extra={"error": str(error)})
            except Exception:
                # Were this thread to end, every lease would run out under steps that still run.
                log.exception("keeping leases or sweeping failed")

    def _renew(self) -> None:
        self._leases.renew()
        for jobs in self._jobs:
            jobs.leases.renew()

    def _beat(self) -> None:
        with self._lock:
            busy = self._draining
        beat(self._db, self.name, self.kind, slots=self.concurrency, busy=busy, started_at=self._started_at)

    def _sweep(self) -> None:
        if self._stopping.is_set():
            return
        if self.kind is WorkerKind.GENERATE:
            start_decided_arms(self._db)
            share_attempts(self._db)
            score_outdated_anew(self._db)
        due = sweep(self._db, self.kind) + sum(jobs.due() for jobs in self._jobs)
        with self._lock:
            idle = self.concurrency - self._draining
        self._queue.wake(self.kind, max(0, min(due, idle)))
        if self.kind is WorkerKind.GENERATE:  # its process mostly waits; the other's cores belong to programs
            measure_unmeasured(self._db)
