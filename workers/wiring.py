"""Building a worker process: the only place, beside the command line, where sandboxes and models are made."""

from collections.abc import Callable, Mapping

from app.adapters.models.openai_compatible import OpenAICompatible
from app.adapters.models.repair_search import RepairSearch
from app.adapters.models.scripted import Script, Scripted
from app.adapters.queue import Queue, make_celery
from app.adapters.sandbox.opening import open_sandbox
from app.adapters.vault import Vault
from app.config import Settings
from app.db.models import EndpointKind, ModelEndpoint
from app.db.session import Database
from app.domain.errors import ModelRejected
from app.domain.ports import Model, Sandbox
from app.domain.work import Step, WorkerKind
from app.services.claim import Claim
from app.services.judge_program import CachedJudge
from app.services.judging_jobs import JudgingJobs
from app.services.steps.ask import ask
from app.services.steps.run import run
from app.services.steps.transitions import Wakes
from workers.base import Worker


def build(kind: WorkerKind, settings: Settings) -> tuple[Worker, Callable[[], None]]:
    """The worker of `kind`, and what to call once it has ended.

    Raises SandboxUnavailable where an execute worker finds no working sandbox.
    """
    db = Database(settings.database)
    queue = Queue(make_celery(settings))
    jobs = None
    if kind is WorkerKind.GENERATE:
        models = RemoteModels(Vault.of(settings.home, settings.secret_key))
        steps: Mapping[Step, Callable[[Claim], Wakes]] = {Step.ASK: lambda claim: ask(db, claim, models.model_for)}
        concurrency, close = settings.generate_threads, db.close
    else:
        sandbox = open_sandbox(settings)
        judge = CachedJudge(db, sandbox)
        jobs = JudgingJobs(db, judge, settings.lease_seconds)
        local = _local_models(sandbox)
        steps = {
            Step.ASK: lambda claim: ask(db, claim, local),
            Step.RUN: lambda claim: run(db, claim, judge),
        }
        concurrency = sandbox.slots

        def close() -> None:
            sandbox.close()
            db.close()

    worker = Worker(
        kind,
        db,
        queue,
        steps,
        concurrency=concurrency,
        lease_seconds=settings.lease_seconds,
        sweep_seconds=settings.sweep_seconds,
        jobs=jobs,
    )
    return worker, close


class RemoteModels:
    """Clients by endpoint, made once: a client keeps its connections open."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._clients: dict[int, Model] = {}

    def model_for(self, endpoint: ModelEndpoint) -> Model:
        """The client of `endpoint`.

        Raises ModelRejected where its stored key cannot be read.
        """
        if endpoint.id not in self._clients:
            self._clients[endpoint.id] = self._connect(endpoint)
        return self._clients[endpoint.id]

    def _connect(self, endpoint: ModelEndpoint) -> Model:
        if endpoint.kind == EndpointKind.SCRIPTED:
            return Scripted(Script.from_json(endpoint.script or {}))
        if endpoint.base_url is None or endpoint.model is None:
            raise ModelRejected(f"{endpoint.name} has no address or no model to ask for")
        key = None if endpoint.api_key is None else self._vault.decrypt(endpoint.api_key)
        return OpenAICompatible(endpoint.base_url, endpoint.model, key, endpoint.timeout_seconds)


def _local_models(sandbox: Sandbox) -> Callable[[ModelEndpoint], Model]:
    model = RepairSearch(sandbox)
    return lambda _endpoint: model
