"""`halflife tokens …`: API tokens of an installation with a login."""

from typing import Annotated

import typer

from app.cli.installation import JsonFlag, emit, installation
from app.services.api_tokens import create_token, list_tokens, revoke_token

app = typer.Typer(help="API tokens, for programs to use an installation with a login.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="What it is called here.")]


@app.command("create")
def create(name: NameArgument, as_json: JsonFlag = False) -> None:
    """Make a token and print it, this once: only its hash is stored."""
    with installation() as opened:
        token = create_token(opened.db, name)
    emit({"name": name.strip(), "token": token}, as_json, token)


@app.command("list")
def list_(as_json: JsonFlag = False) -> None:
    """List the tokens, those that are revoked too."""
    with installation() as opened:
        tokens = list_tokens(opened.db)
    documents = [
        {
            "name": token.name,
            "hint": token.hint,
            "created_at": token.created_at.isoformat(),
            "last_used_at": token.last_used_at and token.last_used_at.isoformat(),
            "revoked_at": token.revoked_at and token.revoked_at.isoformat(),
        }
        for token in tokens
    ]
    lines = [
        f"{token.name}  {token.hint}…  "
        + ("revoked" if token.revoked_at else f"last used {token.last_used_at or 'never'}")
        for token in tokens
    ]
    emit(documents, as_json, "\n".join(lines))


@app.command("revoke")
def revoke(name: NameArgument, as_json: JsonFlag = False) -> None:
    """Refuse a token from now on."""
    with installation() as opened:
        revoke_token(opened.db, name)
    emit({"name": name, "revoked": True}, as_json, f"{name} revoked")
