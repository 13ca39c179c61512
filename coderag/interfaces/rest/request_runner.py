"""Execution of requests in thread pools, with timeouts and limited concurrency."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from contextvars import copy_context
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from fastapi import Depends, Request
from fastapi.responses import Response

from coderag.errors import CodeRAGError, ServiceBusyError, ServiceError, UnknownRepositoryError
from coderag.interfaces.json_values import encode_json
from coderag.interfaces.rest.query_recorder import QueryRecorder
from coderag.workspace.repository import OpenRepository
from coderag.workspace.workspace_view import WorkspaceView

if TYPE_CHECKING:
    from coderag.app import CodeRAG

JSON_TYPE: Final = "application/json"

VIEW_KEY: Final = "coderag.workspace_view"
"""Key of an ASGI scope with the `WorkspaceView` of its caller; without it, the request is of the owner."""

_SHORT_THREADS = 4
_LONG_THREADS = 4
_MAX_ANSWERS = 8

_Result = TypeVar("_Result")


class RequestRunner:
    """Runner of requests on a workspace.

    Short requests such as searches have their own threads, so that they need not wait for long ones: status, regular
    expressions, whole-graph queries. An answer takes no thread while a language model writes it.

    Args:
        workspace: The repositories.
        request_s: Timeout of a request in seconds.
    """

    def __init__(self, workspace: WorkspaceView, request_s: float) -> None:
        self.workspace = workspace
        self.request_s = request_s
        self.recorder = QueryRecorder()
        self._short_pool = ThreadPoolExecutor(_SHORT_THREADS, "rest-short")
        self._long_pool = ThreadPoolExecutor(_LONG_THREADS, "rest-long")
        self._answer_slots = asyncio.Semaphore(_MAX_ANSWERS)

    async def reply(self, function: Callable[[], object], *, is_long: bool = False, status: int = 200) -> Response:
        """Run a function in a thread, and return its result as a response.

        Raises as `run`, and what the function raises.
        """
        body = await self.run(lambda: encode_json(function()), is_long=is_long)
        return Response(body, status, media_type=JSON_TYPE)

    async def reply_from_engine(
        self, root: str, ask: "Callable[[CodeRAG], object]", *, is_long: bool = False
    ) -> Response:
        """Ask the engine of a repository in a thread, and return its result as a response.

        Raises as `run` and `hold_repository`, and what `ask` raises.
        """

        def run() -> object:
            with self.hold_repository(root) as repository:
                return ask(repository.engine)

        return await self.reply(run, is_long=is_long)

    async def run(self, function: Callable[[], _Result], *, is_long: bool = False) -> _Result:
        """Run a function in a thread and return its result.

        A thread cannot be stopped: a function that takes too long occupies its thread until it ends.

        Raises:
            ServiceBusyError: No thread was free in time.
            ServiceError: The timeout is over.
        """
        pool = self._long_pool if is_long else self._short_pool
        future: Future[_Result] = pool.submit(copy_context().run, function)  # the id and the span of the request
        result = asyncio.wrap_future(future)
        try:
            await asyncio.wait({result}, timeout=self.request_s)
            if result.done():
                return result.result()
        except CodeRAGError as error:
            self.workspace.hide_folders(error)
            raise
        finally:
            was_waiting = future.cancel()
            result.cancel()
        if was_waiting:
            raise _make_busy_error(self.request_s)
        raise make_timeout_error(self.request_s)

    @asynccontextmanager
    async def hold_answer_slot(self, root: str) -> AsyncIterator[OpenRepository]:
        """Wait for an answer slot; hold it, and the repository open, until the block ends.

        Raises:
            ServiceBusyError: No slot was free in time. Otherwise as `hold_repository`.
        """
        try:
            await asyncio.wait_for(self._answer_slots.acquire(), self.request_s)
        except TimeoutError as error:
            raise _make_busy_error(self.request_s) from error
        try:
            with await self.run(partial(self.hold_repository, root)) as repository:
                yield repository
        except CodeRAGError as error:
            self.workspace.hide_folders(error)
            raise
        finally:
            self._answer_slots.release()

    def hold_repository(self, root: str) -> AbstractContextManager[OpenRepository]:
        """Return a repository, kept open until the block ends.

        Raises as `resolve_root` and `Workspace.open_repository`.
        """
        return self.workspace.open_repository(self.resolve_root(root)).keep_open()

    def resolve_root(self, root: str) -> str:
        """Resolve an absolute path or a repository name to a folder.

        A relative path is not accepted: it would depend on the server's working directory.

        Raises:
            UnknownRepositoryError: No repository has the name.
        """
        if Path(root).is_absolute():
            return root
        for entry in self.workspace.list_repositories():
            if entry.name == root:
                return entry.root
        hint = "Give the absolute path of its folder, or a name that GET /api/v1/repositories lists."
        raise UnknownRepositoryError(f"unknown repository {root[:80]!r}", hint=hint)

    def with_workspace(self, workspace: WorkspaceView) -> "RequestRunner":
        """Return a runner of requests on another view of the workspace, with the same threads."""
        variant = copy(self)
        variant.workspace = workspace
        return variant

    def close(self) -> None:
        """Accept no more work; drop queued work without waiting for running work."""
        for pool in (self._short_pool, self._long_pool):
            pool.shutdown(wait=False, cancel_futures=True)
        self.recorder.close()


def make_timeout_error(seconds: float) -> ServiceError:
    """Make the error of a request that exceeds its timeout."""
    hint = "Reduce the work: narrower filters, fewer results, a simpler pattern."
    return ServiceError(f"the request exceeded its timeout of {seconds:,.0f} s", hint=hint)


def _make_busy_error(seconds: float) -> ServiceBusyError:
    return ServiceBusyError(f"the server is busy: no free slot within {seconds:,.0f} s", hint="Try again later.")


def get_runner(request: Request) -> RequestRunner:
    """Return the runner of a request's app, on what its caller may use."""
    runner: RequestRunner = request.app.state.runner
    view: WorkspaceView | None = request.scope.get(VIEW_KEY)
    return runner if view is None else runner.with_workspace(view)


RunnerDependency = Annotated[RequestRunner, Depends(get_runner)]
