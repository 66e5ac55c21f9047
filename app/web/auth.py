"""Who may use a team's installation: people by one shared password and a signed cookie, programs by tokens.

Accounts are to come. Until then whoever knows the password may do everything.
"""

import base64
import hmac
import ipaddress
import secrets
import threading
import time
from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import cast
from urllib.parse import quote, urlsplit

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.config import Settings
from app.db.session import Database
from app.domain.errors import InputError, StorageError
from app.services.api_tokens import accepts_token
from app.web.security import READING, is_foreign

SESSION_SECONDS = 12 * 3600
LOGIN = "/login"
OPEN_PATHS = frozenset({LOGIN, "/healthz", "/readyz"})
OPEN_FOLDERS = ("/static/", "/s/")
"""What is answered without a login. Shared links (/s/) check their own tokens."""

TRIES = 5
TRIES_SECONDS = 300.0
"""Wrong passwords that one address may send within so many seconds."""
_MOST_ADDRESSES = 10_000
_NONCE_BYTES = 16


@dataclass(frozen=True, slots=True)
class Session:
    """One browser. It has a session before it logs in, too: the login form is protected like every other."""

    id: str
    signed_in: bool

    @classmethod
    def new(cls, *, signed_in: bool) -> "Session":
        """Under an id of its own: one that was known before the login is worth nothing after it."""
        return cls(secrets.token_urlsafe(16), signed_in)


class Door:
    """Checks passwords, seals sessions into cookies, and makes the tokens of forms.

    Keys are derived from the secret key and the password: whoever changes either ends every session.
    """

    def __init__(self, settings: Settings) -> None:
        """Raises InputError where the settings are not those of a team, or incomplete."""
        if settings.public_url is None or settings.password is None or settings.secret_key is None:
            raise InputError("a login needs HALFLIFE_PUBLIC_URL, HALFLIFE_PASSWORD and HALFLIFE_SECRET_KEY")
        parts = urlsplit(settings.public_url)
        self.address = f"{parts.scheme}://{parts.netloc}"
        # As browsers write it in Origin headers.
        self.host = parts.netloc.removesuffix({"http": ":80", "https": ":443"}[parts.scheme])
        self._secure = parts.scheme == "https"
        # The prefix makes browsers refuse a cookie that another host or an unprotected connection set.
        self.cookie = "__Host-halflife" if self._secure else "halflife"
        self._hasher = PasswordHasher()
        self._hash = _password_hash(settings.password, self._hasher)
        # Checking takes 64 MB and a core for a moment: one at a time.
        self._checking = threading.Lock()
        secret = f"{settings.secret_key}\0{settings.password}".encode()
        self._cookies = Fernet(base64.urlsafe_b64encode(_derived(secret, b"halflife sessions")))
        self._form_key = _derived(secret, b"halflife forms")
        self.failures = Failures()

    def knows(self, password: str) -> bool:
        """Whether this is the password. Takes tens of milliseconds."""
        with self._checking:
            try:
                return self._hasher.verify(self._hash, password.encode("utf-8", "surrogatepass"))
            except VerificationError:
                return False

    def session_of(self, headers: Headers) -> Session | None:
        """The session that a request's cookie holds; None where it has none, or one that is over or forged."""
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
            sealed = cookies[self.cookie].value
            text = self._cookies.decrypt(sealed, ttl=SESSION_SECONDS).decode()
        except (CookieError, KeyError, InvalidToken, UnicodeError):
            return None
        return Session(text[1:], signed_in=text[0] == "+")

    def set_cookie(self, response: Response, session: Session) -> None:
        """Give the session to the browser."""
        sealed = self._cookies.encrypt(f"{'+' if session.signed_in else '-'}{session.id}".encode()).decode()
        response.set_cookie(
            self.cookie, sealed, max_age=SESSION_SECONDS, path="/", secure=self._secure, httponly=True, samesite="lax"
        )

    def clear_cookie(self, response: Response) -> None:
        """Take the session from the browser."""
        response.delete_cookie(self.cookie, path="/", secure=self._secure, httponly=True, samesite="lax")

    def form_token(self, session: Session) -> str:
        """What a form of this session must send along.

        Another one each time: pages are compressed, and their length would give a constant away bit by bit.
        """
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return base64.urlsafe_b64encode(nonce + self._mac(nonce, session)).decode()

    def accepts_form(self, session: Session, token: str) -> bool:
        """Whether a form token was made for this session."""
        try:
            raw = base64.urlsafe_b64decode(token.encode("ascii"))
        except ValueError:
            return False
        nonce = raw[:_NONCE_BYTES]
        return hmac.compare_digest(raw[_NONCE_BYTES:], self._mac(nonce, session))

    def _mac(self, nonce: bytes, session: Session) -> bytes:
        return hmac.digest(self._form_key, nonce + session.id.encode(), "sha256")


class Failures:
    """Wrong passwords by the network address they came from."""

    def __init__(self) -> None:
        self._times: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait_seconds(self, address: str) -> float:
        """How long this address must wait before it may try again; 0 where it need not."""
        with self._lock:
            times = self._recent(address)
            return times[-TRIES] + TRIES_SECONDS - time.monotonic() if len(times) >= TRIES else 0.0

    def note(self, address: str) -> None:
        """Count one."""
        with self._lock:
            self._times[_network(address)] = [*self._recent(address), time.monotonic()]
            self._times.move_to_end(_network(address))
            while len(self._times) > _MOST_ADDRESSES:
                self._times.popitem(last=False)

    def _recent(self, address: str) -> list[float]:
        since = time.monotonic() - TRIES_SECONDS
        return [at for at in self._times.get(_network(address), ()) if at > since]


_session: ContextVar[tuple[Door, Session] | None] = ContextVar("session", default=None)


def signed_in() -> bool:
    """Whether the page is being made for somebody who logged in, and may log out."""
    current = _session.get()
    return current is not None and current[1].signed_in


def admitted() -> bool:
    """Whether the page is being made for somebody who may follow its links."""
    return _session.get() is None or signed_in()


def current_form_token() -> str | None:
    """The token for forms of the page that is being made; None where none is asked for."""
    current = _session.get()
    return None if current is None else current[0].form_token(current[1])


class LoginRequired:
    """Answers those who are logged in, or bring a token; sends others to the login page.

    What is passed on carries in its state `session` and `door`, unless it brought a token.
    """

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with what is missing."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            refusal = await self._refuse_token(scope, token.strip())
            await (refusal or self._app)(scope, receive, send)
            return
        session = self._door.session_of(headers)
        if refusal := self._refusal(scope, headers, session):
            await refusal(scope, receive, send)
            return
        session = session or Session.new(signed_in=False)
        scope.setdefault("state", {}).update(session=session, door=self._door)
        reset = _session.set((self._door, session))
        try:
            await self._app(scope, receive, _private(send) if session.signed_in else send)
        finally:
            _session.reset(reset)

    async def _refuse_token(self, scope: Scope, token: str) -> Response | None:
        db = cast(Database, scope["app"].state.halflife.db)
        try:
            known = await run_in_threadpool(accepts_token, db, token)
        except StorageError as error:
            return JSONResponse({"error": str(error)}, status_code=503)
        return None if known else _unauthorized("this API token is unknown or was revoked")

    def _refusal(self, scope: Scope, headers: Headers, session: Session | None) -> Response | None:
        path: str = scope["path"]
        if scope["method"] not in READING and is_foreign(headers, self._door.host):
            return PlainTextResponse(
                "This request came from another site and was refused. Nothing was changed."
                f" The dashboard's own address is {self._door.address}\n",
                status_code=403,
            )
        if (session and session.signed_in) or path in OPEN_PATHS or path.startswith(OPEN_FOLDERS):
            return None
        # A script of a page that was left open wants an answer, not the login page.
        if path.startswith("/api/") or path == "/metrics" or headers.get("sec-fetch-dest") == "empty":
            return _unauthorized("send an API token: Authorization: Bearer hl_…")
        if scope["method"] not in READING:
            return RedirectResponse(LOGIN, status_code=303)
        wanted = path + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
        there = LOGIN if wanted == "/" else f"{LOGIN}?next={quote(wanted, safe='/')}"
        return RedirectResponse(there, status_code=303)


def own_path(wanted: str) -> str:
    """Where to go after the login: a path of ours, whatever was asked for."""
    ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\", LOGIN)) and wanted.isprintable()
    return wanted if ours else "/runs"


def _unauthorized(reason: str) -> Response:
    return JSONResponse({"error": reason}, status_code=401, headers={"WWW-Authenticate": 'Bearer realm="Halflife"'})


def _private(send: Send) -> Send:
    """Keeps what only a team may see out of caches that others share."""

    async def send_private(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).setdefault("Cache-Control", "private, no-cache")
        await send(message)

    return send_private


def _password_hash(password: str, hasher: PasswordHasher) -> str:
    if not password.startswith("$argon2"):
        return hasher.hash(password)
    try:
        extract_parameters(password)
    except InvalidHashError as error:
        raise InputError("HALFLIFE_PASSWORD: begins like an argon2 hash, but is none") from error
    return password


def _derived(secret: bytes, purpose: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt=None, info=purpose).derive(secret)


def _network(address: str) -> str:
    """An IPv6 customer has a whole /64 to choose addresses from."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
