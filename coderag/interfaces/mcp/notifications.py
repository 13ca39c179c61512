"""Notifications to clients: updated resources and changes of the list of repositories.

Clients of protocol 2026-07-28 use ``subscriptions/listen``; older ones subscribe to single resources
(``resources/subscribe``).
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import (
    EmptyResult,
    NotificationParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

if TYPE_CHECKING:
    from coderag.workspace.results import RepositoryEvent
    from coderag.workspace.workspace_view import WorkspaceView

REPOSITORIES_URI: Final = "coderag://repositories"

_MAX_URIS = 256  # per client


def build_repository_uri(name: str, part: str) -> str:
    """Build the URI of a part of a repository, such as ``coderag://app/status``."""
    return f"coderag://{quote(name, safe='')}/{part}"


class NotificationBus(InMemorySubscriptionBus):
    """Bus from workspace events to subscribed clients. All methods except `attach` run in the event loop."""

    def __init__(self) -> None:
        super().__init__()
        self._legacy_subscriptions: dict[ServerSession, set[str]] = {}
        """Subscribed URIs of clients with a protocol before 2026-07-28, by session."""
        self._listened_uris: Counter[str] = Counter()
        """URIs that newer clients listen to."""
        self._listen_handler = ListenHandler(self)
        self._names_by_root: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._connection_count = 0
        self._detach: Callable[[], None] | None = None

    @contextmanager
    def hold_connection(self, on_idle: Callable[[], None]) -> Iterator[None]:
        """Keep the bus attached while a connection is served; detach after the last one.

        Args:
            on_idle: Called when the last connection ends.
        """
        self._connection_count += 1
        try:
            yield
        finally:
            self._connection_count -= 1
            if not self._connection_count:
                on_idle()
                if self._detach:
                    self._detach()
                    self._detach = None

    def attach(self, workspace: "WorkspaceView", loop: asyncio.AbstractEventLoop) -> None:
        """Subscribe to the events of a workspace, once. May be called from any thread.

        Args:
            workspace: Source of the events; it calls back from any thread.
            loop: Event loop that serves the clients.
        """

        def on_event(event: "RepositoryEvent") -> None:
            if event.kind in ("generation", "closed") and not loop.is_closed():
                loop.call_soon_threadsafe(self._dispatch_event, event.kind, event.root)

        if self._detach is None:
            self._detach = workspace.listen(on_event)

    def note_name(self, root: str, name: str) -> None:
        """Record the name of a repository; a new name publishes a change of the list."""
        if self._names_by_root.get(root) != name:
            self._names_by_root[root] = name
            self._start_task(self._publish_list_change())

    def serve_subscriptions(self, server: Server[Any]) -> None:
        """Register the handlers for subscriptions of both protocol generations."""
        server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, self._listen)
        server.add_request_handler("resources/subscribe", SubscribeRequestParams, self._add_subscription)
        server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, self._remove_subscription)
        server.add_notification_handler("notifications/initialized", NotificationParams, self._register_client)

    async def _listen(
        self, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        uris = (params.notifications.resource_subscriptions or [])[:_MAX_URIS]
        self._listened_uris.update(uris)
        try:
            return await self._listen_handler(ctx, params)
        finally:
            self._listened_uris -= Counter(uris)

    async def _register_client(self, ctx: ServerRequestContext[Any, Any], _: NotificationParams) -> None:
        self._get_subscriptions(ctx)

    async def _add_subscription(
        self, ctx: ServerRequestContext[Any, Any], params: SubscribeRequestParams
    ) -> EmptyResult:
        uris = self._get_subscriptions(ctx)
        if len(uris) < _MAX_URIS:
            uris.add(str(params.uri))
        return EmptyResult()

    async def _remove_subscription(
        self, ctx: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
    ) -> EmptyResult:
        self._get_subscriptions(ctx).discard(str(params.uri))
        return EmptyResult()

    def _get_subscriptions(self, ctx: ServerRequestContext[Any, Any]) -> set[str]:
        """Return the subscriptions of a request's client; they are dropped when its connection ends."""
        connection = ctx.session._connection  # mcp 2.3 makes a new session for each request
        if "coderag_session" not in connection.state:
            connection.state["coderag_session"] = session = ctx.session
            connection.exit_stack.callback(self._legacy_subscriptions.pop, session, None)
            self._legacy_subscriptions[session] = set()
        return self._legacy_subscriptions[connection.state["coderag_session"]]

    def _dispatch_event(self, kind: str, root: str) -> None:
        if kind == "generation":
            self._start_task(self._publish_update(root))
        elif self._names_by_root.pop(root, None):
            self._start_task(self._publish_list_change())

    def _start_task(self, coroutine: Any) -> None:  # noqa: ANN401  # a coroutine
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)  # the loop keeps only weak references
        task.add_done_callback(self._tasks.discard)

    async def _publish_update(self, root: str) -> None:
        """Publish the update of every watched resource of a repository, and of the list of repositories."""
        prefix = build_repository_uri(self._names_by_root.get(root, root), "")
        watched_uris = {*self._listened_uris}.union(*self._legacy_subscriptions.values())
        for uri in sorted(uri for uri in watched_uris if uri == REPOSITORIES_URI or uri.startswith(prefix)):
            await self.publish(ResourceUpdated(uri=uri))
            for session, uris in list(self._legacy_subscriptions.items()):
                if uri in uris:
                    await session.send_resource_updated(uri)

    async def _publish_list_change(self) -> None:
        await self.publish(ResourcesListChanged())
        for session in list(self._legacy_subscriptions):
            await session.send_resource_list_changed()
