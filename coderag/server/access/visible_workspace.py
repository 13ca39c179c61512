"""The workspace as one caller sees it: repositories that they may not see do not exist."""

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from coderag.engine.reader import Reader
from coderag.errors import CodeRAGError, IndexNotFoundError, PermissionDeniedError, UnknownRepositoryError
from coderag.schema.item_search import ItemScope
from coderag.schema.search import Filters
from coderag.server.access.roles import Level
from coderag.workspace.federated_search import search_repositories
from coderag.workspace.jobs import IndexJob
from coderag.workspace.projections import Projections
from coderag.workspace.repository import OpenRepository
from coderag.workspace.results import KnownRepository, RepositoryEvent, WorkspaceHits
from coderag.workspace.workspace import Workspace

_MAX_SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True)
class VisibleRepository:
    """A repository that a caller may see.

    Attributes:
        id: Its id.
        name: Its name.
        root: Its checkout.
        level: What the caller may do with it.
        is_indexed: Whether it was indexed.
        source_kinds: Kind of each of its sources that the caller may see, by the source's name.
    """

    id: str
    name: str
    root: Path
    level: Level
    is_indexed: bool = False
    source_kinds: Mapping[str, ItemScope] = field(default_factory=dict)


class VisibleWorkspace:
    """View of a workspace that has only what a caller may see. Thread-safe.

    Whatever is asked of it is resolved among the caller's repositories before anything is opened, so that candidates,
    counts, statistics and errors come from these alone. A hidden repository is refused like one that does not exist.

    Args:
        workspace: The workspace of the process.
        repositories: Repositories that the caller may see.
        namespace: Prefix of the caller's own sessions and conversations.
        required: Level that the caller needs on a repository to open it.
    """

    def __init__(
        self,
        workspace: Workspace,
        repositories: Sequence[VisibleRepository],
        namespace: str,
        required: Level = Level.READ,
    ) -> None:
        self._workspace = workspace
        self._repositories = {str(repository.root): repository for repository in repositories}
        self._namespace = namespace
        self._required = required

    @property
    def roots(self) -> Sequence[str]:
        """Folders of the visible repositories."""
        return list(self._repositories)

    @property
    def fingerprint(self) -> Hashable:
        """Value that is equal for views of the same repositories, levels and sources."""
        return frozenset(
            (repository.id, repository.name, root, repository.level, frozenset(repository.source_kinds.items()))
            for root, repository in self._repositories.items()
        )

    @property
    def projections(self) -> Projections:
        """Embedding maps; they are asked with the engine of a repository that was opened here."""
        return self._workspace.projections

    def resolve(self, place: str | Path) -> VisibleRepository:
        """Return the repository with a name, or whose folder is given.

        Raises:
            UnknownRepositoryError: The caller sees no such repository.
        """
        if (repository := self._find(place)) is not None:
            return repository
        names = ", ".join(sorted(entry.name for entry in self._repositories.values())[:10])
        hint = f"You can see: {names}." if names else "You can see no repository yet: ask for a grant."
        raise UnknownRepositoryError(f"unknown repository {str(place)[:_MAX_SHOWN_CHARS]!r}", hint=hint)

    def open_repository(self, root: str | Path) -> OpenRepository:
        """Return a repository as its reader sees it, opening it if necessary.

        Raises:
            UnknownRepositoryError: The caller sees no such repository.
            PermissionDeniedError: They see it, but may not do this with it.
            IndexNotFoundError: It is not indexed yet, and the caller may not start that.
        """
        visible = self.resolve(root)
        self._check_level(visible, self._required)
        if not visible.root.is_dir():
            hint = "Its first job fetches it; try again in a moment."
            raise IndexNotFoundError(f"{visible.name} is not fetched yet", hint=hint)
        repository = self._workspace.open_repository(visible.root)
        if visible.level < Level.INDEX and not repository.is_indexed:
            raise IndexNotFoundError(f"{visible.name} is not indexed yet", hint="Try again when its job has ended.")
        return self._to_readers(repository, visible)

    def find_open(self, root: str | Path) -> OpenRepository | None:
        """Find an open repository by its name or folder; None if it is not open, or hidden."""
        visible = self._find(root)
        repository = self._workspace.find_open(visible.root) if visible else None
        return self._to_readers(repository, visible) if repository is not None and visible is not None else None

    def list_repositories(self) -> list[KnownRepository]:
        """List the repositories by name, which is their root, too. Nothing of an entry depends on other callers."""
        visible = sorted(self._repositories.values(), key=lambda repository: repository.name.casefold())
        return [
            KnownRepository(repository.name, repository.name, used="", is_open=True, is_indexed=repository.is_indexed)
            for repository in visible
        ]

    def get_place(self, root: str | Path) -> str:
        """Return the name of a repository: callers of a server see no folders of it.

        Raises:
            UnknownRepositoryError: The caller sees no such repository.
        """
        return self.resolve(root).name

    def hide_folders(self, error: CodeRAGError) -> None:
        """Replace the folders of the visible repositories in an error by their names."""
        for folder, name in self._list_folders():
            error.replace_text(folder, name)

    def may_have_source(self, scope: ItemScope) -> bool:
        """Return whether a visible repository has a visible source of a kind."""
        return any(scope in repository.source_kinds.values() for repository in self._repositories.values())

    def forget(self, root: str | Path) -> bool:
        """Refuse: repositories are removed by the administration.

        Raises:
            PermissionDeniedError: Always, for a visible repository.
        """
        name = self.resolve(root).name
        raise PermissionDeniedError(
            f"{name} cannot be forgotten", hint="DELETE /api/v1/server/repositories removes it."
        )

    def search(
        self,
        query: str,
        repositories: Sequence[str | Path],
        *,
        top_k: int | None = None,
        filters: Filters | None = None,
    ) -> WorkspaceHits:
        """Search several repositories; a hidden one has the error of one that does not exist.

        Raises:
            InvalidQueryError: The query is empty or too long.
        """
        places: dict[str, str | Path] = {}
        for place in repositories:
            try:
                places.setdefault(str(self.resolve(place).root), place)
            except CodeRAGError:
                places.setdefault(str(place), place)
        hits = search_repositories(query, list(places.values()), self.open_repository, top_k=top_k, filters=filters)
        verdicts = [replace(verdict, error=self._name_folders(verdict.error)) for verdict in hits.verdicts]
        return replace(hits, verdicts=verdicts)

    def find_job(self, job_id: str) -> IndexJob | None:
        """Find a job of a visible repository by its id; None if there is none."""
        return next((job for job in self.list_jobs() if job.id == job_id), None)

    def list_jobs(self) -> list[IndexJob]:
        """List the jobs of visible repositories at the required level, newest first."""
        roots = {root for root, repository in self._repositories.items() if repository.level >= self._required}
        return [job for job in self._workspace.list_jobs() if job.view.root in roots]

    def listen(self, listener: Callable[[RepositoryEvent], None]) -> Callable[[], None]:
        """Add a listener of the events of visible repositories, by name; return a function that removes it."""

        def forward(event: RepositoryEvent) -> None:
            if (visible := self._repositories.get(event.root)) is not None:
                listener(replace(event, root=visible.name))

        return self._workspace.listen(forward)

    def _find(self, place: str | Path) -> VisibleRepository | None:
        text = str(place)
        if (repository := self._repositories.get(text)) is not None:
            return repository
        named = [entry for entry in self._repositories.values() if entry.name.casefold() == text.casefold()]
        exact = [entry for entry in named if entry.name == text]
        return (exact or named)[0] if len(exact or named) == 1 else None

    def _name_folders(self, text: str) -> str:
        for folder, name in self._list_folders():
            text = text.replace(folder, name)
        return text

    def _list_folders(self) -> Iterator[tuple[str, str]]:
        """Yield each folder that stands for a visible repository, with its name; engines use the real one."""
        for root, repository in self._repositories.items():
            yield os.path.realpath(root), repository.name
            yield root, repository.name

    def _to_readers(self, repository: OpenRepository, visible: VisibleRepository) -> OpenRepository:
        reader = Reader(self._namespace, frozenset(visible.source_kinds), visible.name)
        return repository.with_reader(reader, visible.name, partial(self._check_level, visible, Level.INDEX))

    @staticmethod
    def _check_level(visible: VisibleRepository, level: Level) -> None:
        if visible.level < level:
            message = (
                f"your grant on {visible.name} is {visible.level.name.lower()}, and this needs {level.name.lower()}"
            )
            raise PermissionDeniedError(message, hint="Ask an administrator for a higher grant.")
