"""What Prometheus reads. All of it stands in the database, so that every web process tells the same."""

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.db.models import Heartbeat, RunStatus
from app.db.queries.operation import Totals, heartbeats, totals
from app.db.session import Database
from app.domain.verdicts import Verdict
from app.domain.work import WorkerKind
from app.services.claim import claimable_count, oldest_claimable
from app.web.deps import State

router = APIRouter()

ALIVE_SECONDS = 60.0
"""A worker not heard of for longer counts no more. They are heard of every ten seconds."""
_TOTALS_SECONDS = 15.0
"""How long totals, which read every attempt, are told again at least."""
_TOTALS_SHARE = 20
"""And for so many times as long as they took to read: a large history must not keep a scraped server busy."""


class Installation(Collector):
    """The metrics of one moment."""

    def __init__(self, db: Database, sums: Totals) -> None:
        self._db = db
        self._sums = sums

    def collect(self) -> Iterator[Metric]:
        """Each family in turn. Raises StorageError."""
        yield from self._queue()
        yield from self._workers()
        yield from self._results()

    def _queue(self) -> Iterator[Metric]:
        due = GaugeMetricFamily("halflife_queue_due", "Steps that workers could take now.", labels=["kind"])
        age = GaugeMetricFamily(
            "halflife_queue_age_seconds",
            "For how long the oldest step that a worker could take has been due; 0 where there is none.",
            labels=["kind"],
        )
        now = datetime.now(UTC)
        for kind in WorkerKind:
            oldest = oldest_claimable(self._db, kind)
            due.add_metric([kind.value], claimable_count(self._db, kind))
            age.add_metric([kind.value], 0.0 if oldest is None else (now - oldest).total_seconds())
        yield from (due, age)

    def _workers(self) -> Iterator[Metric]:
        silent = GaugeMetricFamily(
            "halflife_worker_heartbeat_age_seconds",
            "Since when a worker was not heard of.",
            labels=["kind", "worker"],
        )
        alive = GaugeMetricFamily("halflife_workers", "Workers heard of in the last minute.", labels=["kind"])
        slots = GaugeMetricFamily("halflife_slots", "Steps that these workers perform at once.", labels=["kind"])
        busy = GaugeMetricFamily("halflife_slots_busy", "Steps that these workers perform now.", labels=["kind"])
        now = datetime.now(UTC)
        with self._db.read() as session:
            beats = heartbeats(session)
        for beat in beats:
            silent.add_metric([beat.kind, beat.worker], (now - beat.seen_at).total_seconds())
        for kind in WorkerKind:
            living = [beat for beat in beats if beat.kind == kind.value and _lives(beat, now)]
            alive.add_metric([kind.value], len(living))
            slots.add_metric([kind.value], sum(beat.slots for beat in living))
            busy.add_metric([kind.value], sum(beat.busy for beat in living))
        yield from (silent, alive, slots, busy)

    def _results(self) -> Iterator[Metric]:
        sums = self._sums
        runs = GaugeMetricFamily("halflife_runs", "Runs by status.", labels=["status"])
        for status in RunStatus:
            runs.add_metric([status.value], sums.runs.get(status.value, 0))
        verdicts = GaugeMetricFamily("halflife_verdicts", "Judged attempts by verdict.", labels=["verdict"])
        for verdict in Verdict:
            verdicts.add_metric([verdict.value], sums.verdicts.get(verdict.value, 0))
        tokens = CounterMetricFamily("halflife_tokens", "Tokens that models reported.", labels=["direction"])
        tokens.add_metric(["prompt"], sums.prompt_tokens)
        tokens.add_metric(["completion"], sums.completion_tokens)
        failures = CounterMetricFamily(
            "halflife_infrastructure_failures",
            "Failures that say nothing about a program: executions and requests that failed, requests whose answer was"
            " lost (possibly billed), and trajectories that were given up.",
            labels=["what"],
        )
        failures.add_metric(["sandbox"], sums.sandbox_failures)
        failures.add_metric(["request"], sums.requests_failed)
        failures.add_metric(["request_possibly_billed"], sums.requests_possibly_billed)
        failures.add_metric(["trajectory_given_up"], sums.trajectories_censored)
        yield from (runs, verdicts, tokens, failures)


class _Recent:
    """Totals of the last seconds: several scrapers cost as much as one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: WeakKeyDictionary[Database, tuple[float, float, Totals]] = WeakKeyDictionary()

    def of(self, db: Database) -> Totals:
        with self._lock:
            known = self._read.get(db)
            began = time.monotonic()
            if known is not None and began - known[0] <= max(_TOTALS_SECONDS, _TOTALS_SHARE * known[1]):
                return known[2]
            with db.read() as session:
                sums = totals(session)
            now = time.monotonic()
            self._read[db] = (now, now - began, sums)
            return sums


_recent = _Recent()


@router.get("/metrics")
def show_metrics(state: State) -> Response:
    """Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Installation(state.db, _recent.of(state.db)))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def _lives(beat: Heartbeat, now: datetime) -> bool:
    return now - beat.seen_at < timedelta(seconds=ALIVE_SECONDS)
