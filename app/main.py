"""The web application: lifespan, middleware, routers. Wiring only."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from fastapi.staticfiles import StaticFiles
from sqlalchemy import text
from starlette.middleware.gzip import GZipMiddleware

from app.adapters.queue import Queue, make_celery
from app.adapters.vault import Vault
from app.config import ROOT, Settings
from app.db.session import Database
from app.web.api import models as models_api
from app.web.api import problem_sets as problem_sets_api
from app.web.api import rejudgings as rejudgings_api
from app.web.api import runs as runs_api
from app.web.api import trials as trials_api
from app.web.deps import AppState, State
from app.web.errors import install_error_pages
from app.web.pages import computed, models, problem_sets, rejudgings, run, runs, trajectory, trials
from app.web.security import LoopbackOnly, SecurityHeaders

SECRET_FILE = "secret.key"  # noqa: S105 — the name of the file, not the secret


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application. The database must have its schema already (`halflife serve` and the workers migrate it)."""
    chosen = settings or Settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        chosen.home.mkdir(parents=True, exist_ok=True)
        db = Database(chosen.database)
        vault = Vault.at(chosen.home / SECRET_FILE) if chosen.secret_key is None else Vault(chosen.secret_key)
        app.state.halflife = AppState(chosen, db, vault, Queue(make_celery(chosen)))
        try:
            yield
        finally:
            db.close()

    # No documentation pages: they would load scripts from elsewhere. The schema itself is served.
    app = FastAPI(
        title="Halflife",
        summary="Measures how well code models debug.",
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=5)
    app.add_middleware(LoopbackOnly, host=chosen.host)
    app.add_middleware(SecurityHeaders)
    install_error_pages(app)
    for module in (runs_api, rejudgings_api, problem_sets_api, trials_api, models_api):
        app.include_router(module.router)
    for page in (runs, run, rejudgings, trajectory, models, problem_sets, trials, computed):
        app.include_router(page.router, include_in_schema=False)
    app.add_api_route("/healthz", healthz, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=ROOT / "static"), name="static")
    return app


def healthz(state: State) -> PlainTextResponse:
    """200 while the database answers; a StorageError makes it 503."""
    with state.db.read() as session:
        session.execute(text("SELECT 1"))
    return PlainTextResponse("ok\n")
