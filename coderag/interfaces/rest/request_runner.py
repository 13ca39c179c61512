"""Runs what requests ask for: a few at a time, within a time, beside the event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Final, TypeVar

from fastapi import Depends, Request
from fastapi.responses import Response

from coderag.errors import ServiceBusyError, ServiceError, UnknownNameError
from coderag.interfaces._plain import json_bytes
from coderag.workspace.repository import OpenRepository
from coderag.workspace.workspace import Workspace

JSON_TYPE: Final = "application/json"

_SHORT_THREADS = 4
_LONG_THREADS = 4
_MAX_ANSWERS = 8

_Result = TypeVar("_Result")


class RequestRunner:
    """Runs requests on a workspace.

    Searches and other short work have threads of their own, so that they need not wait for what takes long: status,
    regular expressions, the graph as a whole. An answer takes no thread while a language model writes it.

    Args:
        workspace: The repositories.
        request_s: Seconds that one request may take.
    """

    def __init__(self, workspace: Workspace, request_s: float) -> None:
        self.workspace = workspace
        self.request_s = request_s
        self._short_pool = ThreadPoolExecutor(_SHORT_THREADS, "rest-short")
        self._long_pool = ThreadPoolExecutor(_LONG_THREADS, "rest-long")
        self._answer_slots = asyncio.Semaphore(_MAX_ANSWERS)

    async def reply(self, function: Callable[[], object], *, is_long: bool = False, status: int = 200) -> Response:
        """Run a function in a thread, and return its result as a reply. Raises as `run`, and what it raises."""
        body = await self.run(lambda: json_bytes(function()), is_long=is_long)
        return Response(body, status, media_type=JSON_TYPE)

    async def run(self, function: Callable[[], _Result], *, is_long: bool = False) -> _Result:
        """Return what a function returns that runs in a thread.

        A thread cannot be stopped: what takes too long keeps its place until it ends.

        Raises:
            ServiceBusyError: Its turn did not come in time.
            ServiceError: It takes too long.
        """
        future: Future[_Result] = (self._long_pool if is_long else self._short_pool).submit(function)
        result = asyncio.wrap_future(future)
        try:
            await asyncio.wait({result}, timeout=self.request_s)
            if result.done():
                return result.result()
        finally:
            was_waiting = future.cancel()
            result.cancel()
        if was_waiting:
            raise _make_busy_error(self.request_s)
        raise make_timeout_error(self.request_s)

    @asynccontextmanager
    async def hold_answer_slot(self, root: str) -> AsyncIterator[OpenRepository]:
        """Wait until an answer may be written, and hold that place, and the repository open, until the block ends.

        Raises:
            ServiceBusyError: Its turn did not come in time. Else as `using`.
        """
        try:
            await asyncio.wait_for(self._answer_slots.acquire(), self.request_s)
        except TimeoutError as error:
            raise _make_busy_error(self.request_s) from error
        try:
            with await self.run(partial(self.hold_repository, root)) as repository:
                yield repository
        finally:
            self._answer_slots.release()

    def hold_repository(self, root: str) -> AbstractContextManager[OpenRepository]:
        """Return a repository, kept open until the block ends. Raises as `place` and `Workspace.repository`."""
        return self.workspace.open_repository(self.resolve_root(root)).keep_open()

    def resolve_root(self, root: str) -> str:
        """Return the folder that an absolute path or a name means.

        A relative path would be one of the folder that the server was started in, which no caller knows.

        Raises:
            UnknownNameError: No repository has the name.
        """
        if Path(root).is_absolute():
            return root
        for entry in self.workspace.list_repositories():
            if entry.name == root:
                return entry.root
        hint = "Give the absolute path of its folder, or a name that GET /api/v1/repositories lists."
        raise UnknownNameError(f"no repository is known as {root[:80]!r}", hint=hint)

    def close(self) -> None:
        """Take no more work; what waits is dropped, and what runs is not waited for."""
        for pool in (self._short_pool, self._long_pool):
            pool.shutdown(wait=False, cancel_futures=True)


def make_timeout_error(seconds: float) -> ServiceError:
    """Return the error of what takes longer than it may."""
    hint = "Ask for less: narrower filters, fewer results, a simpler pattern."
    return ServiceError(f"the request takes longer than {seconds:,.0f} s", hint=hint)


def _make_busy_error(seconds: float) -> ServiceBusyError:
    return ServiceBusyError(f"too much is asked at once: no turn within {seconds:,.0f} s", hint="Try again in a while.")


def get_runner(request: Request) -> RequestRunner:
    """Return what runs the requests of the app that a request is for."""
    runner: RequestRunner = request.app.state.work
    return runner


RunnerDependency = Annotated[RequestRunner, Depends(get_runner)]
