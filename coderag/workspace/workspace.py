"""`Workspace`: the repositories that one process has open."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from coderag.app import CodeRAG
from coderag.errors import CodeRAGError
from coderag.ingestion.files.scanner import check_root
from coderag.schema import Evidence, Filters, SearchHit
from coderag.workspace.jobs import IndexJob
from coderag.workspace.repository import OpenRepository


@dataclass(frozen=True, slots=True)
class WorkspaceOptions:
    """What a workspace may do.

    Attributes:
        allowed_roots: Folders in or below which repositories may lie; none means anywhere but where nothing is indexed.
        max_repositories: Repositories kept open; beyond, the least recently used one is closed.
        watch: Whether edits are followed, and the index is brought up to date after them.
    """

    allowed_roots: tuple[Path, ...] = ()
    max_repositories: int = 8
    watch: bool = True


@dataclass(frozen=True, slots=True)
class KnownRepository:
    """A repository that was indexed or opened on this machine.

    Attributes:
        name: To call it by.
        root: Its folder.
        used: When it was last opened, ISO 8601.
        is_open: Whether this workspace has it open.
        is_indexed: Whether it has an index.
    """

    name: str
    root: str
    used: str
    is_open: bool
    is_indexed: bool


@dataclass(frozen=True, slots=True)
class RepositoryHit:
    """A result, and the repository that it is of."""

    repository: str
    root: str
    hit: SearchHit


@dataclass(frozen=True, slots=True)
class RepositoryVerdict:
    """How well one of several repositories answers a question; an error instead if it cannot be asked."""

    repository: str
    root: str
    evidence: Evidence
    confidence: float
    not_indexed: Sequence[str] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class WorkspaceHits:
    """Results of several repositories, best first."""

    hits: Sequence[RepositoryHit]
    verdicts: Sequence[RepositoryVerdict]


@dataclass(frozen=True, slots=True)
class RepositoryEvent:
    """Something that happened to a repository: another generation of its index, a job that changed, edits."""

    kind: Literal["generation", "job", "edited", "closed"]
    root: str


class Workspace:
    """The repositories that one process has open. It may be used by several threads.

    Args:
        options: What it may do.
    """

    def __init__(self, options: WorkspaceOptions | None = None) -> None:
        self.options = options or WorkspaceOptions()
        self._lock = threading.Lock()
        self._open: dict[Path, OpenRepository] = {}
        self._listeners: list[Callable[[RepositoryEvent], None]] = []

    def repository(self, root: str | Path) -> OpenRepository:
        """Return a repository, opened if it is not.

        Args:
            root: Its folder, or the name of a known one.

        Raises:
            ForbiddenRootError: It lies outside the allowed folders.
            IngestionError: There is no such folder, or it is one that is never indexed.
            ConfigurationError: Its settings cannot be used.
        """
        path = check_root(Path(root))
        with self._lock:
            if path not in self._open:
                self._open[path] = OpenRepository(CodeRAG(path), path.name)
            return self._open[path]

    def known(self) -> list[KnownRepository]:
        """Return the repositories that were opened or indexed on this machine, the last used first."""
        return [KnownRepository(one.name, str(one.root), "", True, one.is_indexed) for one in self._open.values()]

    def forget(self, root: str | Path) -> bool:
        """Strike a repository from the known ones, and close it; its index stays. Return whether it was known."""
        return self._open.pop(check_root(Path(root)), None) is not None

    def search(
        self,
        query: str,
        repositories: Sequence[str | Path],
        *,
        top_k: int | None = None,
        filters: Filters | None = None,
    ) -> WorkspaceHits:
        """Return the best results of several repositories. One that cannot be asked is told, and holds up no other.

        Raises:
            InvalidQueryError: The question is empty or too long.
        """
        hits: list[RepositoryHit] = []
        verdicts: list[RepositoryVerdict] = []
        for place in repositories:
            try:
                one = self.repository(place)
                found = one.engine.search(query, top_k=top_k, filters=filters)
            except CodeRAGError as error:
                verdicts.append(RepositoryVerdict(str(place), str(place), "unknown", 0.0, error=str(error)))
                continue
            hits += [RepositoryHit(one.name, str(one.root), hit) for hit in found]
            verdicts.append(
                RepositoryVerdict(one.name, str(one.root), found.evidence, found.confidence, found.not_indexed)
            )
        return WorkspaceHits(hits, verdicts)

    def job(self, job_id: str) -> IndexJob | None:
        """Return a job of this workspace by its id; None if there is none."""
        return next((job for job in self.jobs() if job.id == job_id), None)

    def jobs(self) -> list[IndexJob]:
        """Return the jobs of this workspace, the last begun first."""
        return [one.job for one in self._open.values() if one.job]

    def listen(self, listener: Callable[[RepositoryEvent], None]) -> Callable[[], None]:
        """Have a function called, from any thread, whenever something happens to a repository; return what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def close(self) -> None:
        """End all that runs: jobs, watches, the process that writes."""
        for one in self._open.values():
            one.close()
