"""Shared links over the API. A token is told once, when its link is made."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from app.db.base import LARGEST_ID
from app.db.queries.share import LinkRow, list_links
from app.domain.sharing import LinkState, Scope, Shown
from app.services.share_links import LONGEST_DAYS, LONGEST_TITLE, revoke_share_link
from app.web.deps import RowId, State
from app.web.pages.share import public_address
from app.web.shared import create_link

router = APIRouter(prefix="/api/share-links", tags=["shared links"])


class LinkIn(BaseModel):
    """A link to make: to the run `run_id`, or to a leaderboard by the query string of its page, `board`.

    `show` lists texts of the run that the link shows; none by default. `frozen`: it goes on showing what is there now;
    otherwise what is there when it is opened. `days` null: it never expires.
    """

    run_id: int | None = Field(default=None, ge=1, le=LARGEST_ID)
    board: str | None = Field(default=None, max_length=2000, pattern=r"^[^\x00-\x1f\x7f]*$")
    show: list[Shown] = []
    title: str = Field(default="", max_length=LONGEST_TITLE)
    frozen: bool = True
    days: int | None = Field(default=30, ge=1, le=LONGEST_DAYS)


class LinkOut(BaseModel):
    """A link; `state` is `open`, `expired` or `revoked`."""

    id: int
    title: str
    run_id: int | None
    board: str | None
    show: list[Shown]
    frozen: bool
    state: LinkState
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None

    @classmethod
    def of(cls, row: LinkRow) -> Self:
        """From the query's row."""
        return cls(
            id=row.id,
            title=row.title,
            run_id=row.scope.run_id,
            board=row.scope.board,
            show=list(row.scope.shown),
            frozen=row.frozen,
            state=row.state,
            created_at=row.created_at,
            expires_at=row.expires_at,
            revoked_at=row.revoked_at,
        )


class NewLinkOut(BaseModel):
    """The link just made. `address` holds its token, which is stored nowhere and cannot be shown again."""

    id: int
    address: str


class LinkListOut(BaseModel):
    """Up to fifty links, newest first. Pass `next_before` as `before` for older ones."""

    links: list[LinkOut]
    next_before: int | None


@router.get("")
def list_share_links(state: State, before: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None) -> LinkListOut:
    """Links, newest first."""
    with state.db.read() as session:
        page = list_links(session, before)
    return LinkListOut(links=[LinkOut.of(row) for row in page.rows], next_before=page.next_before)


@router.post("", status_code=201)
def create_share_link(request: Request, state: State, body: LinkIn) -> NewLinkOut:
    """Make a link."""
    scope = Scope(run_id=body.run_id, shown=tuple(one for one in Shown if one in body.show), board=body.board)
    link_id, token = create_link(state.db, scope, body.title, body.days, frozen=body.frozen)
    return NewLinkOut(id=link_id, address=public_address(request, state, token))


@router.post("/{link_id}/revoke", status_code=204)
def revoke(state: State, link_id: RowId) -> None:
    """Close a link at once and for good."""
    revoke_share_link(state.db, link_id)
