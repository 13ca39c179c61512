"""Access of MCP sessions to the repositories of a workspace, with calls in worker threads."""

import asyncio
import contextvars
import os
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from mcp_types import Resource

from coderag.config.repository_root import find_root
from coderag.errors import CodeRAGError, InvalidQueryError
from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.documents import may_have_documents, may_have_history
from coderag.interfaces.mcp.notifications import NotificationBus, build_repository_uri
from coderag.interfaces.mcp.progress import follow
from coderag.workspace.source_hints import may_have_source, may_registered_have_source

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.workspace.jobs import JobView
    from coderag.workspace.repository import OpenRepository
    from coderag.workspace.results import KnownRepository
    from coderag.workspace.workspace_view import WorkspaceView

ROOT_HEADER: Final = "x-coderag-root"
PROJECT_ENV_VARIABLE: Final = "CLAUDE_PROJECT_DIR"
"""Set by agents for the servers that they start."""

FIRST_WAIT_S: Final = 2.0
"""Seconds that a call waits for the first indexing job before it replies with a preview."""

_MAX_THREADS = 8
_MAX_LISTED = 50

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class RepositoryHandle:
    """A repository in use by a call.

    Attributes:
        indexing_job: View of the job that builds the first index; None if there is an index.
    """

    repository: "OpenRepository"
    indexing_job: "JobView | None" = None

    @property
    def name(self) -> str:
        """Name of the repository."""
        return self.repository.name

    @property
    def engine(self) -> "CodeRAG":
        """Engine of the repository."""
        return self.repository.engine

    def make_cleaner(self) -> Cleaner:
        """Make a sanitiser for its texts."""
        return Cleaner(redact=self.engine.settings.privacy.redact_secrets)


class Repositories:
    """Repositories shared by all sessions of one server.

    Args:
        workspace: The workspace, or a function that returns it and is called once.
        default_root: Default repository of calls.
        notifications: Bus that is attached to the workspace.
    """

    def __init__(
        self,
        workspace: "WorkspaceView | Callable[[], WorkspaceView]",
        default_root: Path | None,
        notifications: NotificationBus,
    ) -> None:
        self._create_workspace = workspace if callable(workspace) else None
        self._workspace: WorkspaceView | None = None if callable(workspace) else workspace
        self._default_root = default_root
        self._notifications = notifications
        # Not anyio's threads: threads of cancelled requests would pile up next to new ones.
        self._threads: ThreadPoolExecutor | None = None
        self._creation_lock = asyncio.Lock()

    async def run(self, function: Callable[[], _Result]) -> _Result:
        """Run a function in one of a few threads. A cancelled caller does not wait for it."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="mcp")
        context = contextvars.copy_context()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, partial(context.run, function))
        except CodeRAGError as error:
            if self._workspace is not None:
                self._workspace.hide_folders(error)
            raise

    def release_threads(self) -> None:
        """Shut the threads down; the next call starts new ones."""
        if self._threads is not None:
            self._threads.shutdown(wait=False)
            self._threads = None

    async def get_workspace(self) -> "WorkspaceView":
        """Return the workspace, created on first use."""
        async with self._creation_lock:
            if self._workspace is None and self._create_workspace is not None:
                self._workspace = await self.run(self._create_workspace)
        assert self._workspace is not None
        self._notifications.attach(self._workspace, asyncio.get_running_loop())
        return self._workspace

    async def open(self, name: str, headers: Mapping[str, str] | None) -> "OpenRepository":
        """Open the repository of a call.

        Args:
            name: Name or folder given by the call; empty for the default of the session.
            headers: Headers of the request, on transports that have them.

        Raises:
            CodeRAGError: As `Workspace.open_repository`; or no repository is given and there is not exactly one.
        """
        workspace = await self.get_workspace()
        root = name.strip() or await self._find_session_root(workspace, headers)
        repository = await self.run(partial(workspace.open_repository, root))
        self._notifications.note_name(repository.place, repository.name)
        return repository

    async def prepare(
        self, repository: "OpenRepository", report: "Callable[[JobView], Awaitable[None]]"
    ) -> RepositoryHandle:
        """Return a handle of an indexed repository, or of one that is being indexed.

        The first call starts the job and waits briefly.

        Raises:
            CodeRAGError: Indexing has failed.
        """
        if await self.run(lambda: repository.is_indexed):
            return RepositoryHandle(repository)
        job = await self.run(repository.index)
        view = await follow(job, FIRST_WAIT_S, report)
        if view.state == "done":
            return RepositoryHandle(repository)
        if view.state in ("failed", "cancelled"):
            raise job.error or CodeRAGError(f"indexing {repository.name} was cancelled", hint="Call coderag_index.")
        return RepositoryHandle(repository, view)

    async def may_have_documents(self) -> bool:
        """Return whether the default repository has documents; True if the calls name their repositories."""
        root = self._default_root
        if root is None or not root.is_dir() or await self.run(partial(may_have_documents, root)):
            return True
        return await self.run(partial(may_have_source, root, "documentation"))

    async def may_have_backlog(self) -> bool:
        """Return whether the default repository has a source of tickets; without a default, whether a known one has."""
        if self._default_root is not None:
            return await self.run(partial(may_have_source, self._default_root, "backlog"))
        if self._workspace is None:  # listing must not create it, which takes seconds
            return await self.run(partial(may_registered_have_source, "backlog"))
        return await self.run(partial(self._workspace.may_have_source, "backlog"))

    async def may_have_history(self) -> bool:
        """Return whether the default repository has a history; True if the calls name their repositories."""
        root = self._default_root
        return root is None or not root.is_dir() or await self.run(partial(may_have_history, root))

    async def list_resources(self) -> list[Resource]:
        """List the status and map resources of all known repositories."""
        workspace = await self.get_workspace()
        entries = (await self.run(workspace.list_repositories))[:_MAX_LISTED]
        return [
            Resource(
                uri=build_repository_uri(entry.name, part),
                name=f"{entry.name}/{part}",
                title=f"{title} of {entry.name}",
                mime_type=mime_type,
            )
            for entry in entries
            for part, title, mime_type in (
                ("status", "Index status", "application/json"),
                ("map", "Map", "text/markdown"),
            )
        ]

    async def _find_session_root(self, workspace: "WorkspaceView", headers: Mapping[str, str] | None) -> str | Path:
        if headers is not None and (given_root := headers.get(ROOT_HEADER, "").strip()):
            return given_root
        if self._default_root is not None:
            return self._default_root
        if headers is None:
            given_root = os.environ.get(PROJECT_ENV_VARIABLE, "").strip()
            return Path(given_root) if given_root else await self.run(partial(find_root, None))
        entries = await self.run(workspace.list_repositories)
        if len(entries) == 1:
            return entries[0].root
        names = ", ".join(map(_format_entry, entries[:10])) or "none yet"
        raise InvalidQueryError(
            "this session has no repository of its own, and the call names none",
            hint=f"Give `repository`, a name or a folder. Known: {names}.",
        )


def _format_entry(entry: "KnownRepository") -> str:
    return entry.name if entry.root == entry.name else f"{entry.name} ({entry.root})"
