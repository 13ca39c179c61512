"""Middleware that identifies the sender of each request, before any app sees it."""

import asyncio
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coderag.errors import CodeRAGError
from coderag.interfaces.rest.app import PREFIX
from coderag.interfaces.rest.problems import respond
from coderag.interfaces.server.access_gate import PRINCIPAL_KEY
from coderag.interfaces.server.authentication import RequestAuthenticator
from coderag.interfaces.server.resource_metadata import build_challenge
from coderag.interfaces.server.watched_reply import WatchedReply
from coderag.server.access.principal import Principal

_UNAUTHORIZED: Final = 401
_OWN_RIGHTS_PREFIXES: Final = ("/web/session", f"{PREFIX}/server/")


class IdentityMiddleware:
    """ASGI middleware that puts the principal of a request into its scope, or refuses the request.

    It adds the challenge to replies that ask for a sign-in, and the cookie of a session that was replaced. Replies that
    take long end when their caller loses its rights.

    Args:
        app: The guarded app.
        authenticator: Decider of who sends a request.
        public_url: Address of the server that users see.
        has_provider: Whether people can sign in with a provider.
    """

    def __init__(
        self, app: ASGIApp, authenticator: RequestAuthenticator, *, public_url: str = "", has_provider: bool = False
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._public_url = public_url
        self._has_provider = has_provider

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send = self._authenticator.wrap_send(scope, self._wrap_send(scope, send))
        try:
            principal = scope[PRINCIPAL_KEY] = await self._authenticator.identify(scope)
        except CodeRAGError as error:
            await respond(error)(scope, receive, send)
            return
        if principal is None or _may_end_own_rights(scope):
            await self._app(scope, receive, send)
        else:
            await self._watch(principal, scope, receive, send)

    async def _watch(self, principal: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        reply = WatchedReply(principal, self._authenticator.reload, send)
        try:
            await self._app(scope, receive, reply.send)
        except asyncio.CancelledError:
            if not reply.was_ended:
                raise
            await reply.finish(scope, receive)

    def _wrap_send(self, scope: Scope, send: Send) -> Send:
        has_credential = any(name == b"authorization" for name, _ in scope["headers"])

        async def send_with_challenge(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == _UNAUTHORIZED:
                challenge = build_challenge(
                    self._public_url, scope["path"], has_provider=self._has_provider, was_refused=has_credential
                )
                MutableHeaders(scope=message).setdefault("www-authenticate", challenge)
            await send(message)

        return send_with_challenge


def _may_end_own_rights(scope: Scope) -> bool:
    """Return whether a request may end the rights of its caller, such as a sign-out: its reply is then not withheld."""
    return scope["method"] not in ("GET", "HEAD") and scope["path"].startswith(_OWN_RIGHTS_PREFIXES)
