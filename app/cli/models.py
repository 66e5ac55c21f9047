"""`halflife models …`."""

import os
from typing import Annotated

import typer
from sqlalchemy import select

from app.adapters.addresses import PublicAddresses
from app.cli.installation import JsonFlag, emit, installation
from app.db.models import ModelEndpoint
from app.domain.errors import InputError
from app.domain.ports import Sampling
from app.services.manage_endpoints import DEFAULT_TIMEOUT_SECONDS, EndpointRequest, add_endpoint, ensure_repair_search

app = typer.Typer(help="Models: endpoints to ask.", no_args_is_help=True)


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="What to call it here.")],
    base_url: Annotated[str, typer.Option(help="Address with its version, such as http://127.0.0.1:8081/v1.")],
    model: Annotated[str, typer.Option(help="The model to ask for.")],
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds the API key; keys are no arguments.")
    ] = None,
    temperature: Annotated[float, typer.Option()] = 0.8,
    top_p: Annotated[float | None, typer.Option()] = None,
    max_tokens: Annotated[int, typer.Option()] = 1024,
    concurrency: Annotated[int, typer.Option(help="Requests at once.")] = 4,
    timeout: Annotated[float, typer.Option(help="Seconds for one request.")] = DEFAULT_TIMEOUT_SECONDS,
    price_input: Annotated[float | None, typer.Option(help="Per million prompt tokens; unknown when left out.")] = None,
    price_output: Annotated[float | None, typer.Option(help="Per million completion tokens.")] = None,
    reasoning: Annotated[
        bool | None, typer.Option("--reasoning/--no-reasoning", help="Whether it thinks before it answers.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Add an OpenAI-compatible endpoint."""
    with installation() as opened:
        request = EndpointRequest(
            name=name,
            base_url=base_url,
            model=model,
            api_key=_key(api_key_env),
            sampling=Sampling(temperature=temperature, top_p=top_p, max_tokens=max_tokens),
            concurrency=concurrency,
            timeout_seconds=timeout,
            price_input=price_input,
            price_output=price_output,
            reasoning=reasoning,
        )
        endpoint_id = add_endpoint(opened.db, opened.vault, request, PublicAddresses.of(opened.settings))
    emit({"id": endpoint_id, "name": name}, as_json, f"{name} added")


@app.command("list")
def list_(as_json: JsonFlag = False) -> None:
    """List the models."""
    with installation() as opened:
        ensure_repair_search(opened.db, opened.vault)
        with opened.db.read() as session:
            rows = session.scalars(select(ModelEndpoint).order_by(ModelEndpoint.name)).all()
    documents = [
        {
            "id": row.id,
            "name": row.name,
            "kind": row.kind,
            "base_url": row.base_url,
            "model": row.model,
            "key_hint": row.key_hint,
            "price_input": row.price_input,
            "price_output": row.price_output,
            "reasoning": row.reasoning,
        }
        for row in rows
    ]
    emit(
        documents, as_json, "\n".join(f"{row.name}  {row.kind}  {row.base_url or ''} {row.model or ''}" for row in rows)
    )


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        raise InputError(f"--api-key-env: the environment variable {variable} is not set")
    return key
