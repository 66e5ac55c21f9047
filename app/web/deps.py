"""What routes need, as annotated dependencies over the application's typed state."""

from dataclasses import dataclass, field
from typing import Annotated, cast

from fastapi import Depends, Path, Request

from app.adapters.addresses import PublicAddresses
from app.adapters.queue import Queue
from app.adapters.vault import Vault
from app.config import Settings
from app.db.base import LARGEST_ID
from app.db.session import Database
from app.web.live import LiveRuns
from app.web.throttle import Openings

RowId = Annotated[int, Path(ge=1, le=LARGEST_ID)]


@dataclass(frozen=True, slots=True)
class AppState:
    """What the lifespan opens and the routes share. `addresses` says where models may be; None is anywhere."""

    settings: Settings
    db: Database
    vault: Vault
    addresses: PublicAddresses | None
    queue: Queue
    live: LiveRuns
    openings: Openings = field(default_factory=Openings)


def app_state(request: Request) -> AppState:
    """The state of the application that answers this request."""
    return cast(AppState, request.app.state.halflife)


State = Annotated[AppState, Depends(app_state)]
