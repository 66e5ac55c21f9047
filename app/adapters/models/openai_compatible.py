"""Any endpoint that speaks the OpenAI chat-completions protocol, through the official SDK.

Replies are asked for whole, not streamed: token counts then come with every reply, and one JSON document is
easier to distrust than a stream of them. What makes an endless or dribbling reply harmless is set here instead:
one deadline over connecting, sending, headers and body (asyncio cancels whatever is pending, where a socket timeout
would start anew with every byte), and a cap on the bytes of a body, error pages included.
"""

import asyncio
import json
import math
import re
import ssl
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, DefaultAsyncHttpxClient

from app.adapters.addresses import PublicAddresses
from app.domain.errors import InputError, ModelError, ModelRejected, ModelUnavailable
from app.domain.ports import ModelReply, ModelRequest

MAX_REPLY_BYTES = 8 * 1024 * 1024
"""More than any chat completion: 100,000 tokens as escaped JSON stay under 2 MB."""

_CONNECT_SECONDS = 10.0
_QUOTED_CHARACTERS = 400
_NO_KEY = "none"
"""The SDK insists on a key; servers without keys ignore what they are sent."""
_ABOUT_THE_TEXT = re.compile(r"context[ _](?:length|window|size)|content[ _](?:filter|policy)|too long", re.IGNORECASE)
"""How servers word that this text is the trouble: OpenAI, Azure, vLLM and llama.cpp."""
_PASSING_STATUS = frozenset({408, 409, 425, 429})


class _ReplyTooLong(Exception):
    """The server sent more than the byte cap."""


class _Capped(httpx2.AsyncByteStream):
    """A response body that fails once it exceeds the cap."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int) -> None:
        self._inner = inner
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for chunk in self._inner:
            received += len(chunk)
            if received > self._limit:
                raise _ReplyTooLong
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class _PublicOnly(httpx2.AsyncHTTPTransport):
    """Connects to the very addresses that were found public: a name may stand for others a moment later."""

    def __init__(self, addresses: PublicAddresses) -> None:
        super().__init__(verify=_tls_context())
        self._addresses = addresses

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.host
        port = request.url.port or {"http": 80, "https": 443}[request.url.scheme]
        try:
            found = await asyncio.to_thread(self._addresses.resolve, host, port)
        except InputError as error:
            refused = str(error)
        except OSError as error:
            raise httpx2.ConnectError(str(error)) from error
        else:
            return await self._send(request, host, found)
        raise ModelRejected(refused)

    async def _send(self, request: httpx2.Request, host: str, addresses: Sequence[str]) -> httpx2.Response:
        for left, address in enumerate(addresses, 1 - len(addresses)):
            there = httpx2.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                # Certificates are checked against the name all the same.
                extensions={**request.extensions, "sni_hostname": host},
            )
            try:
                return await super().handle_async_request(there)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if left == 0:
                    raise
        raise httpx2.ConnectError(f"{host} has no address")


class OpenAICompatible:
    """A model behind an OpenAI-compatible endpoint. Safe to call from several threads, though not inside an event loop.

    `base_url` is the address up to and including the version ("https://api.example.com/v1").
    `timeout_seconds` bounds one request altogether, from connecting to the last byte.
    `max_reply_bytes` bounds the body as sent.
    `addresses` says which hosts may be asked; None is all of them.

    The SDK's own retries are off: the engine retries, because it counts the money. The key appears in no error, repr or
    log of this adapter, even where a server echoes it.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None,
        timeout_seconds: float = 120.0,
        *,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        addresses: PublicAddresses | None = None,
    ) -> None:
        self._base_url = base_url.strip()
        self._place = _place(self._base_url)
        self._model = model
        self._key = (api_key or "").strip()
        self._timeout_seconds = timeout_seconds
        self._max_reply_bytes = max_reply_bytes
        self._addresses = addresses
        # What the endpoint was found not to accept. A race between threads costs one more refused request at worst.
        self._limit_parameter = "max_tokens"
        self._takes_seed = True

    def __repr__(self) -> str:
        return f"OpenAICompatible({self._place!r}, {self._model!r})"

    def complete(self, request: ModelRequest) -> ModelReply:
        """Ask once.

        A request that the endpoint refuses (status 400 or 422) for the name `max_tokens` or for `seed` is sent again
        without it, since nothing ran.

        Raises ModelUnavailable where asking again later may help: no connection, timeout, 408, 409, 425, 429, 5xx, a
        broken or oversized reply. `billed` is False for 429 and where no connection came about.
        Raises ModelRejected where it cannot: key refused, unknown model, not such an API, quota used up, bad request.
        """
        self._check_settings()
        started = time.perf_counter()
        # The error is raised outside the except clause: chained to ours, the SDK's exception would carry the request
        # with the key in its headers, and the server's words, into tracebacks and logs.
        failure: ModelError
        try:
            body = asyncio.run(self._post(request))
        except ModelError as error:
            failure = error
        except TimeoutError:
            failure = ModelUnavailable(f"{self._place} gave no full reply within {self._timeout_seconds:g} s")
        except APIStatusError as error:
            failure = self._status_failure(error.response)
        except APIConnectionError as error:
            failure = self._connection_failure(error.__cause__)
        except _ReplyTooLong:
            failure = ModelUnavailable(f"{self._place} sent more than {self._max_reply_bytes} bytes")
        except httpx2.InvalidURL:
            failure = ModelRejected(f"{self._place} is not a valid address")
        else:
            return self._reply(body, (time.perf_counter() - started) * 1000)
        raise failure

    def _check_settings(self) -> None:
        if not self._place:
            raise ModelRejected("the endpoint's address is none: it must look like https://host/v1")
        if "@" in urlsplit(self._base_url).netloc:
            # The HTTP client logs addresses in full.
            raise ModelRejected("the endpoint's address holds a user name or password: give the key as the key")
        if not (self._key.isascii() and self._key.isprintable()):
            raise ModelRejected("the API key holds characters that cannot be sent: enter it again")

    async def _post(self, request: ModelRequest) -> bytes:
        """The body of a successful response."""

        async def cap(response: httpx2.Response) -> None:
            if response.headers.get("content-encoding", "identity") != "identity":
                # A few compressed kilobytes can unpack to gigabytes, and we asked for plain bytes.
                raise ModelRejected(f"{self._place} sends compressed replies though asked not to")
            assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - what an async client returns
            response.stream = _Capped(response.stream, self._max_reply_bytes)

        connect = min(_CONNECT_SECONDS, self._timeout_seconds / 2)
        transport = DefaultAsyncHttpxClient(
            transport=None if self._addresses is None else _PublicOnly(self._addresses),
            verify=_tls_context(),
            timeout=httpx2.Timeout(self._timeout_seconds, connect=connect),
            # A redirected POST becomes a GET, and the key would follow to wherever the server points.
            follow_redirects=False,
            event_hooks={"response": [cap]},
        )
        async with (
            asyncio.timeout(self._timeout_seconds),
            AsyncOpenAI(
                base_url=self._base_url,
                api_key=self._key or _NO_KEY,
                max_retries=0,
                default_headers={"Accept-Encoding": "identity"},
                http_client=transport,
            ) as client,
        ):
            while True:
                parameters = self._parameters(request)
                try:
                    response = await client.chat.completions.with_raw_response.create(**parameters)
                except APIStatusError as error:
                    if not self._adapt(parameters, error.response):
                        raise
                else:
                    content: bytes = response.content
                    return content

    def _parameters(self, request: ModelRequest) -> dict[str, Any]:
        sampling = request.sampling
        optional = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            # Servers differ in the width of a seed; 31 bits fit all of them.
            "seed": request.seed % 2**31 if self._takes_seed else None,
        }
        return {
            "model": _encodable(self._model),
            "messages": [
                {"role": message.role, "content": _encodable(message.content)} for message in request.messages
            ],
            self._limit_parameter: sampling.max_tokens,
            **{name: value for name, value in optional.items() if value is not None},
        }

    def _adapt(self, parameters: Mapping[str, Any], response: httpx2.Response) -> bool:
        """Whether the endpoint refused a parameter that can be sent otherwise; if so, do that from now on."""
        if response.status_code not in (400, 422):
            return False
        # OpenAI's reasoning models know only `max_completion_tokens`; most other servers know only `max_tokens`.
        if "max_tokens" in parameters and "max_completion_tokens" in response.text:
            self._limit_parameter = "max_completion_tokens"
            return True
        if "seed" in parameters and re.search(r"\bseed\b", self._server_message(response)):
            self._takes_seed = False
            return True
        return False

    def _reply(self, body: bytes, latency_ms: float) -> ModelReply:
        if not body.strip():
            raise ModelUnavailable(f"{self._place} sent an empty response")
        if body.lstrip()[:1] == b"<":
            raise ModelRejected(f"{self._place} answers with HTML: not an OpenAI-compatible API at this address")
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise ModelUnavailable(f"{self._place} sent something other than a JSON object")
        choices = answer.get("choices")
        if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
            # Some gateways report a failure of the provider behind them with status 200.
            said = self._message_in(answer)
            raise ModelUnavailable(f"{self._place} sent no choices" + (f": {said}" if said else ""))
        message = choices[0].get("message")
        finish_reason = choices[0].get("finish_reason")
        usage = answer.get("usage")
        named = answer.get("model")
        return ModelReply(
            text=_text(message if isinstance(message, dict) else {}),
            prompt_tokens=_count(usage, "prompt_tokens"),
            completion_tokens=_count(usage, "completion_tokens"),
            truncated=finish_reason == "length",
            latency_ms=latency_ms,
            finish_reason=finish_reason if isinstance(finish_reason, str) else None,
            model=named if isinstance(named, str) and named else None,
        )

    def _connection_failure(self, cause: BaseException | None) -> ModelError:
        if isinstance(cause, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
            return ModelRejected(f"{self._place} is not a valid address")
        if isinstance(cause, httpx2.ConnectTimeout | httpx2.ConnectError | httpx2.PoolTimeout):
            return ModelUnavailable(f"no connection to {self._place}", billed=False)
        if isinstance(cause, httpx2.TimeoutException):
            return ModelUnavailable(f"{self._place} gave no full reply within {self._timeout_seconds:g} s")
        return ModelUnavailable(f"the connection to {self._place} broke off ({type(cause).__name__})")

    def _status_failure(self, response: httpx2.Response) -> ModelError:
        status = response.status_code
        message = self._server_message(response)
        detail = f": {message}" if message else ""
        if status in (401, 403):
            return ModelRejected(f"key refused by {self._place} (status {status}){detail}")
        if status == 404:
            return ModelRejected(
                f"no such model ({self._model}), or not an OpenAI-compatible API at this address: {self._place}{detail}"
            )
        if status == 429 and "insufficient_quota" in response.text:
            return ModelRejected(f"quota used up at {self._place}{detail}")
        if status >= 500 or status in _PASSING_STATUS:
            reason = "rate limit of" if status == 429 else "passing failure of"
            return ModelUnavailable(
                f"{reason} {self._place} (status {status}){detail}",
                retry_after=retry_after_seconds(response.headers, datetime.now(UTC)),
                billed=status != 429,
            )
        if 300 <= status < 400:
            return ModelRejected(
                f"{self._place} redirects elsewhere (status {status}): enter the address it stands for"
            )
        return ModelRejected(
            f"{self._place} refused the request (status {status}){detail}",
            this_request_only=status == 413 or _ABOUT_THE_TEXT.search(response.text) is not None,
        )

    def _server_message(self, response: httpx2.Response) -> str:
        """What the server gave as its reason; empty where it sent a page or nothing."""
        try:
            return self._message_in(json.loads(response.content))
        except (ValueError, RecursionError):
            text = response.text.strip()
            return "" if text.startswith("<") else self._shown(text)

    def _message_in(self, body: object) -> str:
        """The reason in an error body: OpenAI's, vLLM's and FastAPI's shapes."""
        while isinstance(body, dict):
            body = next((body[name] for name in ("error", "message", "detail") if body.get(name)), None)
        return self._shown(body if isinstance(body, str) else json.dumps(body)) if body else ""

    def _shown(self, text: str) -> str:
        return _quoted(text.replace(self._key, "[key]") if self._key else text, _QUOTED_CHARACTERS)


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """How long the server asks to wait, in seconds ≥ 0; None where it does not say or cannot be understood.

    `retry-after-ms` (OpenAI, Azure) is the more exact and goes first; `Retry-After` holds seconds or an HTTP date
    (RFC 9110, 10.2.3).
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max((until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds(), 0.0)


def _place(address: str) -> str:
    """Scheme, host and port of an address, which is what messages name; empty where it is none.

    The rest of an address may hold secrets.
    """
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and " " not in address
    except ValueError:  # a port beyond 65535, or unbalanced brackets
        return ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if usable else ""


@cache
def _tls_context() -> ssl.SSLContext:
    """Loading the certificate authorities takes tens of milliseconds, so it happens once a process."""
    return httpx2.create_ssl_context()


def _encodable(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced: UTF-8 has no room for them."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _quoted(text: str, characters: int) -> str:
    """One printable line of at most so many characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def _text(message: Mapping[str, object]) -> str:
    """The answer's text. Some servers send it in parts, and a refusal stands in a field of its own."""
    content = message.get("content") or message.get("refusal")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _count(usage: object, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
