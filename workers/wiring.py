"""Building a worker process: the only place, beside the command line, where sandboxes and models are made."""

from collections.abc import Callable, Mapping

from app.adapters.addresses import PublicAddresses
from app.adapters.models.openai_compatible import OpenAICompatible
from app.adapters.models.repair_search import RepairSearch
from app.adapters.models.scripted import Script, Scripted
from app.adapters.queue import Queue, make_celery
from app.adapters.sandbox.opening import open_sandbox
from app.adapters.vault import Vault
from app.config import Settings
from app.db.models import EndpointKind, ModelEndpoint, ModelTest, ProblemImport, RecordingImport
from app.db.session import Database
from app.domain.errors import InputError, ModelRejected
from app.domain.ports import Model, Sandbox
from app.domain.work import Step, WorkerKind
from app.services.chores import Chores
from app.services.claim import Claim
from app.services.judge_program import CachedJudge
from app.services.judging_jobs import JudgingJobs
from app.services.steps.ask import ask
from app.services.steps.run import run
from app.services.steps.transitions import Wakes
from app.services.try_model import perform_model_test
from app.services.upload_problem_set import perform_import
from app.services.upload_recording import perform_recording
from workers.base import Jobs, Worker


def build(kind: WorkerKind, settings: Settings) -> tuple[Worker, Callable[[], None]]:
    """The worker of `kind`, and what to call once it has ended.

    Raises SandboxUnavailable where an execute worker finds no working sandbox, and InputError where settings are
    missing.
    """
    db = Database(settings.database)
    queue = Queue(make_celery(settings))
    jobs: list[Jobs]
    if kind is WorkerKind.GENERATE:
        if settings.team and settings.secret_key is None:
            raise InputError("HALFLIFE_SECRET_KEY: must be that of the dashboard, to read the API keys it stores")
        models = RemoteModels(Vault.of(settings.home, settings.secret_key), PublicAddresses.of(settings))
        steps: Mapping[Step, Callable[[Claim], Wakes]] = {Step.ASK: lambda claim: ask(db, claim, models.model_for)}
        tests = Chores(
            db,
            ModelTest,
            lambda claim: perform_model_test(db, claim, models.model_for),
            tries=1,  # a request that was lost may have been billed
            lease_seconds=settings.lease_seconds,
        )
        jobs, concurrency, close = [tests], settings.generate_threads, db.close
    else:
        sandbox = open_sandbox(settings)
        judge = CachedJudge(db, sandbox)
        imports = Chores(
            db,
            ProblemImport,
            lambda claim: perform_import(db, claim, sandbox, slots=sandbox.slots, stopping=lambda: worker.stopping),
            tries=3,  # a file that ends every worker that reads it must not do so for ever
            lease_seconds=settings.lease_seconds,
        )
        recordings = Chores(
            db,
            RecordingImport,
            lambda claim: perform_recording(db, claim, judge, slots=sandbox.slots, stopping=lambda: worker.stopping),
            tries=3,
            lease_seconds=settings.lease_seconds,
        )
        jobs = [JudgingJobs(db, judge, settings.lease_seconds, slots=sandbox.slots), imports, recordings]
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
    """Clients by endpoint and key, made once: a client remembers what its endpoint does not accept."""

    def __init__(self, vault: Vault, addresses: PublicAddresses | None) -> None:
        self._vault = vault
        self._addresses = addresses
        self._clients: dict[int, tuple[bytes | None, Model]] = {}

    def model_for(self, endpoint: ModelEndpoint) -> Model:
        """The client of `endpoint`.

        Raises ModelRejected where its stored key cannot be read.
        """
        asked_with, client = self._clients.get(endpoint.id, (None, None))
        if client is None or asked_with != endpoint.api_key:  # the key of an endpoint can be replaced
            client = self._connect(endpoint)
            self._clients[endpoint.id] = endpoint.api_key, client
        return client

    def _connect(self, endpoint: ModelEndpoint) -> Model:
        if endpoint.kind == EndpointKind.SCRIPTED:
            return Scripted(Script.from_json(endpoint.script or {}))
        if endpoint.base_url is None or endpoint.model is None:
            raise ModelRejected(f"{endpoint.name} has no address or no model to ask for")
        key = None if endpoint.api_key is None else self._vault.decrypt(endpoint.api_key)
        return OpenAICompatible(
            endpoint.base_url, endpoint.model, key, endpoint.timeout_seconds, addresses=self._addresses
        )


def _local_models(sandbox: Sandbox) -> Callable[[ModelEndpoint], Model]:
    model = RepairSearch(sandbox)
    return lambda _endpoint: model
