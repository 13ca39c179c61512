"""Interface of a workspace, as the routes and tools use it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from coderag.errors import CodeRAGError
from coderag.schema.item_search import ItemScope
from coderag.schema.search import Filters
from coderag.workspace.jobs import IndexJob
from coderag.workspace.projections import Projections
from coderag.workspace.repository import OpenRepository
from coderag.workspace.results import KnownRepository, RepositoryEvent, WorkspaceHits


class WorkspaceView(Protocol):
    """Repositories that somebody may use: `Workspace` itself for its owner, a part of it for a caller of a server.

    The methods are those of `coderag.workspace.workspace.Workspace`, where they are described.
    """

    @property
    def projections(self) -> Projections:
        """Embedding maps of the repositories."""
        ...

    def open_repository(self, root: str | Path) -> OpenRepository:
        """Return a repository, opening it if necessary."""
        ...

    def find_open(self, root: str | Path) -> OpenRepository | None:
        """Find an open repository by its real folder."""
        ...

    def list_repositories(self) -> list[KnownRepository]:
        """List the repositories."""
        ...

    def get_place(self, root: str | Path) -> str:
        """Return how replies name the repository of a folder."""
        ...

    def hide_folders(self, error: CodeRAGError) -> None:
        """Replace folders in an error that its reader may not see."""
        ...

    def may_have_source(self, scope: ItemScope) -> bool:
        """Return whether a repository may have a source of a kind."""
        ...

    def forget(self, root: str | Path) -> bool:
        """Close a repository and remove it from the known ones."""
        ...

    def search(
        self,
        query: str,
        repositories: Sequence[str | Path],
        *,
        top_k: int | None = None,
        filters: Filters | None = None,
    ) -> WorkspaceHits:
        """Search several repositories."""
        ...

    def find_job(self, job_id: str) -> IndexJob | None:
        """Find a job by its id."""
        ...

    def list_jobs(self) -> list[IndexJob]:
        """List the jobs, newest first."""
        ...

    def listen(self, listener: Callable[[RepositoryEvent], None]) -> Callable[[], None]:
        """Add a listener of events; return a function that removes it."""
        ...
