"""Models over the API. A key goes in and never comes out."""

from typing import Self

from fastapi import APIRouter
from pydantic import BaseModel, Field, SecretStr

from app.db.base import LARGEST_ID
from app.db.models import EndpointKind
from app.db.queries.endpoints import EndpointRow, list_endpoints
from app.domain.ports import Sampling
from app.services.manage_endpoints import DEFAULT_TIMEOUT_SECONDS, EndpointRequest, add_endpoint
from app.web.deps import State

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


class ModelOut(BaseModel):
    """A model. `key_hint` holds the last four characters of its key."""

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
    has_key: bool
    key_hint: str | None

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
            has_key=row.has_key,
            key_hint=row.key_hint,
        )


class CreatedOut(BaseModel):
    """The id of what was added."""

    id: int


@router.get("")
def list_models(state: State) -> list[ModelOut]:
    """Every model by name."""
    with state.db.read() as session:
        return [ModelOut.of(row) for row in list_endpoints(session)]


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
        ),
        state.addresses,
    )
    return CreatedOut(id=model_id)
