"""The workspace: open repositories of one process."""

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from coderag.config.trust import is_trusted
from coderag.errors import CodeRAGError, IngestionError, ServiceError, StoreError
from coderag.schema.item_search import ItemScope
from coderag.schema.search import Filters
from coderag.workspace.allowed_roots import check_allowed
from coderag.workspace.engine_collector import EngineCollector
from coderag.workspace.engines import EngineOpener, EngineStamp, get_index_folder, open_engine
from coderag.workspace.federated_search import search_repositories
from coderag.workspace.index_queue import IndexQueue
from coderag.workspace.jobs import ENDED_STATES, IndexJob
from coderag.workspace.listeners import Listeners
from coderag.workspace.projections import Projections
from coderag.workspace.registry import Registry, RegistryEntry, choose_unique_name
from coderag.workspace.repository import OpenRepository
from coderag.workspace.results import (
    KnownRepository,
    RepositoryEvent,
    RepositoryHit,
    RepositoryVerdict,
    WorkspaceHits,
)
from coderag.workspace.source_hints import MAX_HINTED, may_have_source
from coderag.workspace.view_refresher import QUIET_S, ViewRefresher
from coderag.workspace.view_worker import ViewEnd, ViewWorker
from coderag.workspace.writer import IndexTaskRunner, WriterProcess

__all__ = [
    "KnownRepository",
    "RepositoryEvent",
    "RepositoryHit",
    "RepositoryVerdict",
    "Workspace",
    "WorkspaceHits",
    "WorkspaceOptions",
]

_NOTE_INTERVAL_S: Final = 300.0  # interval at which the use of a repository is recorded

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkspaceOptions:
    """Options of a workspace.

    Attributes:
        allowed_roots: Folders in or below which repositories may lie; empty allows any folder that may be indexed.
        max_repositories: Maximum open repositories; the least recently used one is closed.
        watch: Whether edits are followed and indexed.
        view_quiet_s: Seconds without a new generation before views of it are computed ahead of the next visit.
        max_memory_bytes: Maximum memory that open repositories are estimated to take together; 0 is no limit.
    """

    allowed_roots: tuple[Path, ...] = ()
    max_repositories: int = 8
    watch: bool = True
    view_quiet_s: float = QUIET_S
    max_memory_bytes: int = 0


class Workspace:
    """Open repositories of one process. Thread-safe.

    Args:
        options: Options of the workspace.
        registry: Registry of known repositories; by default that of this user.
        start_writer: Starts the runner of indexing tasks; by default a process.
        open_engine: Opens the engine of a repository.
    """

    def __init__(
        self,
        options: WorkspaceOptions | None = None,
        *,
        registry: Registry | None = None,
        start_writer: Callable[[], IndexTaskRunner] = WriterProcess,
        open_engine: EngineOpener = open_engine,
    ) -> None:
        self.options = options or WorkspaceOptions()
        self._registry = registry or Registry()
        self._open_engine = open_engine
        self._lock = threading.Lock()
        self._open_repositories: dict[Path, OpenRepository] = {}  # least recently used first
        self._listeners: Listeners[RepositoryEvent] = Listeners()
        self._queue = IndexQueue(self._note_job, start_writer)
        self._view_worker = ViewWorker(self._note_view_end)
        self._view_refresher = ViewRefresher(
            self._view_worker, self._queue.is_active, quiet_s=self.options.view_quiet_s
        )
        self._projections = Projections(self._view_worker)
        self._collector = EngineCollector()
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def projections(self) -> Projections:
        """Embedding maps of the repositories."""
        return self._projections

    def open_repository(self, root: str | Path) -> OpenRepository:
        """Return a repository, opening it if necessary.

        Args:
            root: Its folder, or the name of a known repository.

        Raises:
            ForbiddenRootError: It lies outside the allowed folders.
            IngestionError: The folder does not exist, or is never indexed.
            ConfigurationError: Its settings cannot be used.
            ServiceError: The workspace is closed.
        """
        path = self._resolve_path(root)
        stamp = EngineStamp.from_repository(path, trusted=is_trusted(path))
        with self._lock:
            if self._is_closed:
                raise ServiceError("the workspace is closed", hint="Start the service again.")
            existing = self._open_repositories.get(path)
            is_new = existing is None or existing.stamp != stamp
            repository = self._create_repository(path, stamp) if existing is None or is_new else existing
            self._open_repositories.pop(path, None)
            self._open_repositories[path] = repository
            surplus = self._evict_surplus(repository)
        if existing and is_new:
            existing.release()
        self._close_all(surplus)
        if is_new:
            repository.start_following()
            self._view_refresher.note_generation(str(repository.root), repository.engine)
        self._note_use(repository)
        return repository

    def find_open(self, root: str | Path) -> OpenRepository | None:
        """Find an open repository by its real folder, without counting as a use; None if it is not open."""
        with self._lock:
            return self._open_repositories.get(Path(root))

    def list_open_roots(self) -> list[Path]:
        """List the folders of the open repositories."""
        with self._lock:
            return list(self._open_repositories)

    def list_repositories(self) -> list[KnownRepository]:
        """List the repositories opened or indexed on this machine, last used first.

        Folders outside the allowed ones are left out.
        """
        with self._lock:
            open_by_root = {str(path): repository for path, repository in self._open_repositories.items()}
        entries = [entry for entry in self._registry.read_entries() if self._may_open(entry)]
        registered_roots = {entry.root for entry in entries}
        unregistered = [
            KnownRepository(repository.name, root, "", is_open=True, is_indexed=repository.is_indexed)
            for root, repository in reversed(open_by_root.items())
            if root not in registered_roots
        ]
        return unregistered + [
            KnownRepository(
                entry.name,
                entry.root,
                entry.used,
                entry.root in open_by_root,
                entry.is_indexed,
                is_there=entry.is_there,
            )
            for entry in entries
        ]

    def may_have_source(self, scope: ItemScope) -> bool:
        """Return whether a known repository configures a source of a kind; nothing is opened."""
        entries = self.list_repositories()[:MAX_HINTED]
        return any(may_have_source(Path(entry.root), scope) for entry in entries)

    def forget(self, root: str | Path) -> bool:
        """Close a repository and remove it from the registry; its index stays. Return whether it was known.

        Raises:
            StoreError: The registry cannot be written.
        """
        entry = self._find_named(root)
        try:
            path = Path(entry.root) if entry else Path(root).expanduser().resolve()
        except (OSError, RuntimeError, ValueError):  # not a path
            return False
        with self._lock:
            repository = self._open_repositories.pop(path, None)
        if repository is not None:
            repository.close()
        return self._registry.forget(str(path)) or repository is not None

    def search(
        self,
        query: str,
        repositories: Sequence[str | Path],
        *,
        top_k: int | None = None,
        filters: Filters | None = None,
    ) -> WorkspaceHits:
        """Search several repositories. The error of one is in its verdict and does not affect the others.

        Raises:
            InvalidQueryError: The query is empty or too long.
        """
        places = self._deduplicate(repositories)
        return search_repositories(query, places, self.open_repository, top_k=top_k, filters=filters)

    def find_job(self, job_id: str) -> IndexJob | None:
        """Find a job by its id; None if there is none."""
        return next((job for job in self.list_jobs() if job.id == job_id), None)

    def list_jobs(self) -> list[IndexJob]:
        """List the jobs of this workspace, newest first."""
        return self._queue.list_jobs()

    def get_place(self, root: str | Path) -> str:
        """Return how replies name the repository of a folder: by its real folder."""
        return os.path.realpath(root)

    def hide_folders(self, error: CodeRAGError) -> None:
        """Leave an error as it is: the owner may see all folders."""

    def listen(self, listener: Callable[[RepositoryEvent], None]) -> Callable[[], None]:
        """Add a listener of repository events, called from any thread; return a function that removes it."""
        return self._listeners.add(listener)

    def close(self) -> None:
        """End all jobs, file watches and the writer process."""
        with self._lock:
            self._is_closed = True
            open_repositories = list(self._open_repositories.values())
            self._open_repositories.clear()
        self._queue.close()
        self._view_refresher.close()
        self._view_worker.close()
        for repository in open_repositories:
            repository.release()

    def _resolve_path(self, place: str | Path) -> Path:
        """Resolve a folder or name to a folder that may be opened."""
        if not str(place):
            raise IngestionError("no repository is given", hint="Give a folder or the name of a known repository.")
        entry = self._find_named(place)
        try:
            return check_allowed(Path(entry.root if entry else place), self.options.allowed_roots)
        except IngestionError as error:
            names = [repository.name for repository in self.list_repositories()]
            if isinstance(place, Path) or entry or not _may_be_name(place) or not names:
                raise
            hint = f"Give a folder, or the name of a known repository: {', '.join(names[:10])}."
            raise type(error)(str(error), hint=hint) from error

    def _find_named(self, place: str | Path) -> RegistryEntry | None:
        """Find the known repository with a name; None for a folder."""
        if not isinstance(place, str) or not _may_be_name(place):
            return None
        with self._lock:
            repository = next(
                (repository for repository in self._open_repositories.values() if repository.name == place), None
            )
        if repository is not None:
            return RegistryEntry(repository.name, str(repository.root), "", "")
        return self._registry.find(place)

    def _deduplicate(self, places: Sequence[str | Path]) -> list[str | Path]:
        """Deduplicate places by folder."""
        folders: dict[str, str | Path] = {}
        for place in places:
            entry = self._find_named(place)
            folders.setdefault(entry.root if entry else str(place), place)
        return list(folders.values())

    def _create_repository(self, path: Path, stamp: EngineStamp) -> OpenRepository:
        """Open a new repository; the lock must be held."""
        engine = self._open_engine(path, trusted=stamp.trusted, on_edited=lambda paths: self._note_edits(path, paths))
        name = self._register(path, get_index_folder(engine))
        return OpenRepository(engine, name, stamp, self._queue, self._notify, watch=self.options.watch)

    def _register(self, path: Path, index: Path) -> str:
        try:
            return self._registry.note(path, index).name
        except StoreError as error:
            _logger.info("%s is not recorded in the registry: %s", path, error)
            return choose_unique_name(path, [repository.name for repository in self._open_repositories.values()])

    def _note_use(self, repository: OpenRepository) -> None:
        repository.used_at = time.monotonic()
        if repository.used_at > repository.noted_at + _NOTE_INTERVAL_S:
            repository.noted_at = repository.used_at
            self._register(repository.root, get_index_folder(repository.engine))
        repository.check_generation()

    def _evict_surplus(self, requested: OpenRepository) -> list[OpenRepository]:
        """Remove and return the least recently used repositories beyond the limits, except busy ones."""
        number = len(self._open_repositories)
        limit = self.options.max_memory_bytes
        size = sum(repository.memory_bytes for repository in self._open_repositories.values()) if limit else 0
        evicted = []
        for path, repository in list(self._open_repositories.items()):
            if number <= self.options.max_repositories and size <= limit:
                break
            if repository is requested or repository.is_busy:
                continue
            evicted.append(self._open_repositories.pop(path))
            number -= 1
            size -= repository.memory_bytes if limit else 0
        return evicted

    def _may_open(self, entry: RegistryEntry) -> bool:
        if not self.options.allowed_roots:
            return True
        try:
            check_allowed(Path(entry.root), self.options.allowed_roots)
        except CodeRAGError:
            return False
        return True

    def _note_edits(self, path: Path, paths: Collection[str]) -> None:
        with self._lock:
            repository = self._open_repositories.get(path)
        if repository is not None:
            repository.note_edits(paths)

    def _notify(self, event: RepositoryEvent) -> None:
        """Have the views of a new generation computed, and call the listeners."""
        repository = self.find_open(event.root)
        if event.kind == "generation" and repository is not None:
            self._view_refresher.note_generation(event.root, repository.engine)
            self._collector.note_closed(1)  # the generation that it replaces
        elif event.kind == "closed" and repository is None:
            self._view_refresher.forget(event.root)
        self._listeners.notify(event)

    def _note_view_end(self, end: ViewEnd) -> None:
        self._projections.note_end(end)
        self._view_refresher.note_end(end)

    def _note_job(self, job: IndexJob) -> None:
        view = job.view
        with self._lock:
            repository = self._open_repositories.get(Path(view.root))
        if repository is not None and view.state in ENDED_STATES:
            repository.note_end(view)
        self._notify(RepositoryEvent("job", view.root))

    def _close_all(self, repositories: list[OpenRepository]) -> None:
        """Release repositories and have their memory collected; the list is emptied."""
        number = len(repositories)
        while repositories:
            repositories.pop().release()
        self._collector.note_closed(number)


def _may_be_name(place: str) -> bool:
    """Return whether a text is certainly not a path."""
    return not (place.startswith((".", "~")) or Path(place).is_absolute() or "\0" in place)
