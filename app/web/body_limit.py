"""A bound on what a request may send: nothing larger is read, whatever its headers say."""

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.services.upload_problem_set import MAX_UPLOAD_BYTES

MAX_BODY_BYTES = MAX_UPLOAD_BYTES + 1024 * 1024
"""The largest upload, and the form around it."""


class BodyLimit:
    """Ends the reading of a body that is too large with an answer of status 413."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body counted."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        received = int(announced) if announced.isascii() and announced.isdigit() else 0
        too_large = received > MAX_BODY_BYTES
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if too_large or received > MAX_BODY_BYTES:
                # Raised where the body is read, so that the answer is made like that of every other error.
                raise HTTPException(413, f"more than {MAX_UPLOAD_BYTES // 2**20} MB were sent; nothing was stored")
            return message

        await self._app(scope, counted, send)
