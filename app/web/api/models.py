"""Models over the API. A key goes in and never comes out."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, SecretStr

from app.db.base import LARGEST_ID
from app.db.models import EndpointKind, ModelTest
from app.db.queries.endpoints import EndpointRow, endpoint_row, list_endpoints
from app.domain.ports import Sampling
from app.domain.work import WorkerKind
from app.services.manage_endpoints import (
    DEFAULT_TIMEOUT_SECONDS,
    EndpointChange,
    EndpointRequest,
    add_endpoint,
    archive_endpoint,
    change_endpoint,
    delete_endpoint,
)
from app.services.try_model import submit_model_test
from app.web.deps import AppState, RowId, State

router = APIRouter(prefix="/api/models", tags=["models"])

_LINE = r"^[^\x00-\x1f\x7f]*$"


class SamplingIn(BaseModel):
    """Sampling parameters as sent; null leaves the endpoint's default in force."""

    temperature: float | None = Field(default=0.8, allow_inf_nan=False)
    top_p: float | None = Field(default=None, allow_inf_nan=False)
    max_tokens: int = Field(default=1024, ge=1, le=LARGEST_ID)


class ModelIn(BaseModel):
    """An OpenAI-compatible endpoint to add. Prices are per million tokens, null where unknown."""

    name: str = Field(pattern=_LINE)
    base_url: str = Field(pattern=_LINE)
    model: str = Field(pattern=_LINE)
    api_key: SecretStr | None = None
    sampling: SamplingIn = SamplingIn()
    concurrency: int = Field(default=4, ge=1, le=1000)
    timeout_seconds: float = Field(default=DEFAULT_TIMEOUT_SECONDS, gt=0, allow_inf_nan=False)
    price_input: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    price_output: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    reasoning: bool | None = Field(default=None, description="Whether it thinks before it answers; null: not marked.")


class ModelChange(BaseModel):
    """What may change of a model. `api_key` null keeps the key, an empty one removes it."""

    name: str = Field(pattern=_LINE)
    api_key: SecretStr | None = None
    concurrency: int = Field(ge=1, le=1000)
    timeout_seconds: float = Field(gt=0, allow_inf_nan=False)
    price_input: float | None = Field(ge=0, allow_inf_nan=False)
    price_output: float | None = Field(ge=0, allow_inf_nan=False)
    reasoning: bool | None


class ModelTestOut(BaseModel):
    """A test: `finished_at` null while it is under way, then with the `answer` in words or an `error`."""

    created_at: datetime
    finished_at: datetime | None
    answer: str | None
    error: str | None

    @classmethod
    def of(cls, test: ModelTest) -> Self:
        """From the stored row."""
        return cls(created_at=test.created_at, finished_at=test.finished_at, answer=test.answer, error=test.error)


class ModelOut(BaseModel):
    """A model. `key_hint` holds the last four characters of its key; `test` is its latest."""

    id: int
    name: str
    kind: str
    base_url: str | None
    model: str | None
    temperature: float | None
    top_p: float | None
    max_tokens: int
    concurrency: int
    price_input: float | None
    price_output: float | None
    reasoning: bool | None
    has_key: bool
    key_hint: str | None
    archived_at: datetime | None
    runs: int
    test: ModelTestOut | None

    @classmethod
    def of(cls, row: EndpointRow) -> Self:
        """From the query's row."""
        return cls(
            id=row.id,
            name=row.name,
            kind=row.kind,
            base_url=row.base_url,
            model=row.model,
            temperature=row.sampling.temperature,
            top_p=row.sampling.top_p,
            max_tokens=row.sampling.max_tokens,
            concurrency=row.concurrency,
            price_input=row.price_input,
            price_output=row.price_output,
            reasoning=row.reasoning,
            has_key=row.has_key,
            key_hint=row.key_hint,
            archived_at=row.archived_at,
            runs=row.runs,
            test=None if row.test is None else ModelTestOut.of(row.test),
        )


class ModelListOut(BaseModel):
    """Up to fifty models. Pass `next_after` as `after` for those behind them."""

    models: list[ModelOut]
    next_after: int | None


class CreatedOut(BaseModel):
    """The id of what was added."""

    id: int


@router.get("")
def list_models(state: State, after: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None) -> ModelListOut:
    """Models by name, archived ones last."""
    with state.db.read() as session:
        page = list_endpoints(session, after)
    return ModelListOut(models=[ModelOut.of(row) for row in page.rows], next_after=page.next_after)


@router.post("", status_code=201)
def create_model(state: State, body: ModelIn) -> CreatedOut:
    """Add an OpenAI-compatible model."""
    model_id = add_endpoint(
        state.db,
        state.vault,
        EndpointRequest(
            name=body.name,
            kind=EndpointKind.OPENAI,
            base_url=body.base_url,
            model=body.model,
            api_key=None if body.api_key is None else body.api_key.get_secret_value(),
            sampling=Sampling(**body.sampling.model_dump()),
            concurrency=body.concurrency,
            timeout_seconds=body.timeout_seconds,
            price_input=body.price_input,
            price_output=body.price_output,
            reasoning=body.reasoning,
        ),
        state.addresses,
    )
    return CreatedOut(id=model_id)


@router.get("/{model_id}")
def get_model(state: State, model_id: RowId) -> ModelOut:
    """One model."""
    return _model(state, model_id)


@router.put("/{model_id}")
def change_model(state: State, model_id: RowId, body: ModelChange) -> ModelOut:
    """Change name, key, limits and prices. What decides a model's replies never changes."""
    change = EndpointChange(
        name=body.name,
        concurrency=body.concurrency,
        timeout_seconds=body.timeout_seconds,
        price_input=body.price_input,
        price_output=body.price_output,
        api_key=None if body.api_key is None else body.api_key.get_secret_value(),
        reasoning=body.reasoning,
    )
    change_endpoint(state.db, state.vault, model_id, change)
    return _model(state, model_id)


@router.delete("/{model_id}", status_code=204)
def delete_model(state: State, model_id: RowId) -> None:
    """Delete a model that no run used."""
    delete_endpoint(state.db, model_id)


@router.post("/{model_id}/archive")
def archive_model(state: State, model_id: RowId) -> ModelOut:
    """Offer it to new runs no more."""
    archive_endpoint(state.db, model_id, archived=True)
    return _model(state, model_id)


@router.post("/{model_id}/restore")
def restore_model(state: State, model_id: RowId) -> ModelOut:
    """Offer it to new runs again."""
    archive_endpoint(state.db, model_id, archived=False)
    return _model(state, model_id)


@router.post("/{model_id}/tests", status_code=202)
def test_model(state: State, model_id: RowId) -> ModelOut:
    """Ask it one tiny request. Ask for the model until its test is finished."""
    submit_model_test(state.db, model_id)
    state.queue.wake(WorkerKind.GENERATE)
    return _model(state, model_id)


def _model(state: AppState, model_id: int) -> ModelOut:
    with state.db.read() as session:
        return ModelOut.of(endpoint_row(session, model_id))
