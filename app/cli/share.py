"""`halflife share …`."""

from typing import Annotated

import typer

from app.cli.installation import JsonFlag, emit, installation
from app.db.base import LARGEST_ID
from app.db.queries.share import list_links
from app.domain.sharing import Scope, Shown
from app.services.share_links import revoke_share_link
from app.web.shared import create_link
from app.web.text import printable

app = typer.Typer(help="Shared links: open one result without a login.", no_args_is_help=True)


@app.command("create")
def create(
    run: Annotated[int | None, typer.Option(help="A run to share.", min=1, max=LARGEST_ID)] = None,
    board: Annotated[
        str | None, typer.Option(help="A leaderboard to share, by the query of its page, such as 'set=1&sort=e0'.")
    ] = None,
    show: Annotated[list[Shown] | None, typer.Option(help="Texts of the run that the link shows; repeatable.")] = None,
    title: Annotated[str, typer.Option(help="What to call it.")] = "",
    days: Annotated[int, typer.Option(help="When it expires; 0 is never.", min=0)] = 30,
    live: Annotated[
        bool, typer.Option("--live", help="Show what is there when it is opened, not what is now.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Make a link to a run or a leaderboard. It is printed once and kept nowhere."""
    scope = Scope(run_id=run, shown=tuple(one for one in Shown if one in (show or [])), board=board)
    with installation() as opened:
        link_id, token = create_link(opened.db, scope, title, days or None, frozen=not live)
        settings = opened.settings
    base = settings.public_url or f"http://{settings.host}:{settings.port}"
    address = f"{base.rstrip('/')}/s/{token}"
    emit({"id": link_id, "address": address}, as_json, address)


@app.command("list")
def list_(
    before: Annotated[int | None, typer.Option(help="Only links older than this id.", min=1, max=LARGEST_ID)] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the links, fifty at a time, newest first; their addresses are not known any more."""
    with installation() as opened, opened.db.read() as session:
        rows = list_links(session, before).rows
    documents = [
        {
            "id": row.id,
            "title": row.title,
            "run_id": row.scope.run_id,
            "board": row.scope.board,
            "show": list(row.scope.shown),
            "frozen": row.frozen,
            "state": row.state,
            "created_at": row.created_at.isoformat(),
            "expires_at": None if row.expires_at is None else row.expires_at.isoformat(),
        }
        for row in rows
    ]
    text = "\n".join(
        f"{row.id}  {row.state}  {'frozen' if row.frozen else 'live'}  "
        f"{'never expires' if row.expires_at is None else f'expires {row.expires_at:%Y-%m-%d}'}  {printable(row.title)}"
        for row in rows
    )
    emit(documents, as_json, text or "No shared links: make one with `halflife share create`.")


@app.command("revoke")
def revoke(
    link_id: Annotated[int, typer.Argument(metavar="ID", min=1, max=LARGEST_ID)], as_json: JsonFlag = False
) -> None:
    """Close a link at once and for good."""
    with installation() as opened:
        revoke_share_link(opened.db, link_id)
    emit({"id": link_id, "state": "revoked"}, as_json, f"shared link {link_id} revoked")
