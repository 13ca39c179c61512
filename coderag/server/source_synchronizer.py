"""Synchronisation of the sources of a hosted repository, for its jobs."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from coderag.engine.items.configured_sources import read_source_kinds
from coderag.server.accounts.grants import GrantService
from coderag.server.repositories.sources import SourceService, StoredSettings
from coderag.workspace.workspace import Workspace

if TYPE_CHECKING:
    from coderag.engine.source_access import RepositorySources


class SourceSynchronizer:
    """Synchroniser of sources. Thread-safe.

    Args:
        workspace: Workspace with the engines of the repositories.
        sources: Settings and states of sources.
        grants: Grants, which know the sources by their names.
    """

    def __init__(self, workspace: Workspace, sources: SourceService, grants: GrantService) -> None:
        self._workspace = workspace
        self._sources = sources
        self._grants = grants

    def synchronize(self, checkout: Path, is_cancelled: Callable[[], bool] = lambda: False) -> dict[str, str]:
        """Synchronise the sources of a repository, and remove the items of those that it has no more.

        The error of one source is noted with it, and the others are synchronised.

        Args:
            checkout: Checkout of the repository.
            is_cancelled: Asked now and then; True ends the run.

        Returns:
            By its name why each source was not synchronised completely.

        Raises:
            CodeRAGError: The mirror or its index cannot be written.
        """
        resets = self._sources.list_resets(checkout)  # before the settings are read: what changes later is seen later
        self._workspace.forget(checkout)  # an engine that is open may have older settings of sources
        with self._workspace.open_repository(checkout).keep_open() as repository:
            engine = repository.engine
            self._grants.synchronize_sources(checkout.parent.name, read_source_kinds(engine.settings))
            had_items = _remove_mirrors(engine.sources, resets)
            self._sources.note_resets(checkout, resets)
            runs = engine.sources.sync(is_cancelled=is_cancelled)
            if runs or had_items:
                engine.items.update()
            counts = engine.sources.mirror.count_items()
            self._sources.note_runs(checkout, runs, {name: count.items for name, count in counts.items()})
        return {run.source: run.message for run in runs if run.message}


def _remove_mirrors(sources: "RepositorySources", resets: dict[str, StoredSettings]) -> bool:
    """Remove the mirrors of sources that are gone or have other settings; return whether there was one."""
    outdated = [name for name in sources.mirror.list_sources() if name not in sources.names or name in resets]
    removed = [sources.remove(name) for name in outdated]
    return any(removed)
