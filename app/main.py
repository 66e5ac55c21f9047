"""The web application: lifespan, middleware, routers. Wiring only."""

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.middleware.gzip import GZipMiddleware

from app.adapters.addresses import PublicAddresses
from app.adapters.queue import Queue, make_celery
from app.adapters.vault import Vault
from app.config import ROOT, Settings
from app.db.session import Database
from app.logs import configure_logging
from app.web import health, metrics
from app.web.api import comparison as comparison_api
from app.web.api import exports as exports_api
from app.web.api import figures as figures_api
from app.web.api import leaderboard as leaderboard_api
from app.web.api import models as models_api
from app.web.api import problem_imports as problem_imports_api
from app.web.api import problem_sets as problem_sets_api
from app.web.api import recordings as recordings_api
from app.web.api import refinement as refinement_api
from app.web.api import rejudgings as rejudgings_api
from app.web.api import repairs as repairs_api
from app.web.api import runs as runs_api
from app.web.api import share_links as share_links_api
from app.web.api import trials as trials_api
from app.web.auth import Door, LoginRequired
from app.web.body_limit import BodyLimit
from app.web.csrf import require_form_token
from app.web.deps import AppState
from app.web.errors import API_ERRORS, install_error_pages
from app.web.live import LiveRuns
from app.web.pages import (
    calculator,
    compare,
    computed,
    demo,
    fresh_starts,
    grid,
    leaderboard,
    login,
    models,
    precision,
    problem_imports,
    problem_sets,
    recordings,
    refinement,
    rejudgings,
    repairs,
    run,
    runs,
    share,
    shared,
    tokens,
    trajectory,
    trials,
)
from app.web.security import LoopbackOnly, SecurityHeaders

SECRET_FILE = "secret.key"  # noqa: S105 — the name of the file, not the secret


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application. The database must have its schema already (`halflife serve` and `halflife migrate` see to it).

    Without `settings` it is the program itself, with those of the environment and a log of its own.
    Raises InputError where a team's installation lacks a password or a secret key.
    """
    chosen = settings or Settings()
    if settings is None:
        configure_logging(chosen.log_format)
    door = Door(chosen) if chosen.team else None

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        chosen.home.mkdir(parents=True, exist_ok=True)
        db = Database(chosen.database)
        vault = Vault.at(chosen.home / SECRET_FILE) if chosen.secret_key is None else Vault(chosen.secret_key)
        live = LiveRuns(db)
        live.end_with_process()
        app.state.halflife = AppState(chosen, db, vault, PublicAddresses.of(chosen), Queue(make_celery(chosen)), live)
        try:
            yield
        finally:
            await live.close()
            db.close()

    # No documentation pages: they would load scripts from elsewhere. The schema itself is served.
    app = FastAPI(
        title="Halflife",
        summary="Measures how well code models debug.",
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(require_form_token)],
    )
    app.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=5)
    app.add_middleware(BodyLimit)
    if door is None:
        app.add_middleware(LoopbackOnly, host=chosen.host)
    else:
        app.add_middleware(LoginRequired, door=door)
    app.add_middleware(SecurityHeaders)
    install_error_pages(app)
    for module in (
        runs_api,
        figures_api,
        refinement_api,
        repairs_api,
        rejudgings_api,
        recordings_api,
        problem_imports_api,
        problem_sets_api,
        trials_api,
        models_api,
        leaderboard_api,
        comparison_api,
        exports_api,
        share_links_api,
    ):
        app.include_router(module.router, responses=API_ERRORS)
    for page in (
        runs,
        demo,
        run,
        rejudgings,
        recordings,
        trajectory,
        precision,
        repairs,
        fresh_starts,
        grid,
        refinement,
        models,
        problem_imports,
        problem_sets,
        trials,
        calculator,
        computed,
        leaderboard,
        compare,
        share,
        shared,
    ):
        app.include_router(page.router, include_in_schema=False)
    for served in (health, metrics, *((login, tokens) if door is not None else ())):
        app.include_router(served.router, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=ROOT / "static"), name="static")
    if settings is None:
        settle()
    return app


def settle() -> None:
    """Take what is in memory now out of the collector's sight: it stays as long as the server does.

    A full collection that looked at all of it would hold a page up for a tenth of a second.
    """
    gc.collect()
    gc.freeze()
