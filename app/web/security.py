"""Headers on every response, and who may talk to a server that has no login yet."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        # The framework's form controls carry their icons as data: images in the style sheet.
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
"""No inline script and no inline style. Plotly writes its rules into a style sheet of ours, see templates/base.html."""

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
READING = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""


class SecurityHeaders:
    """Adds the headers above to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and complete the headers of its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class LoopbackOnly:
    """Refuses what a foreign web page could send to a local server without login.

    A foreign Host header is DNS rebinding; a state-changing request whose origin is not this server is request
    forgery, also from another port of the same machine.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app = app
        self._names = LOOPBACK_NAMES | {host.strip("[]").lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with the reason why not."""
        if scope["type"] == "http" and (refusal := self._refusal(scope["method"], Headers(scope=scope))):
            status, reason = refusal
            await PlainTextResponse(reason, status_code=status)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if _host_name(f"//{host}") not in self._names:
            return 400, "This server answers only under the name of this machine, such as http://127.0.0.1.\n"
        if method in READING:
            return None
        if is_foreign(headers, host):
            return 403, "This request came from another site and was refused. Nothing was changed.\n"
        return None


def is_foreign(headers: Headers, host: str) -> bool:
    """Whether a page of another site than `host` made the browser send this; programs that are none do not say."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
    return urlsplit(origin).netloc.lower() != host.lower()


def _host_name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
