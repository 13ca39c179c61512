"""Indexing of checkouts for the jobs of a server, by the workspace that also answers."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from coderag.errors import CodeRAGError, IngestionError
from coderag.workspace.jobs import ENDED_STATES
from coderag.workspace.workspace import Workspace

_POLL_S: Final = 0.25


class CheckoutIndexer:
    """Indexer of checkouts. Thread-safe.

    Args:
        workspace: Workspace whose writer process indexes.
        sync_sources: Synchronises the sources of a checkout after its code.
    """

    def __init__(self, workspace: Workspace, sync_sources: Callable[[Path], None]) -> None:
        self._workspace = workspace
        self._sync_sources = sync_sources

    def index(self, checkout: Path, report: Callable[[Mapping[str, Any]], None]) -> None:
        """Index a checkout and synchronise its sources.

        Args:
            checkout: Folder of the files.
            report: Called with progress; raises to stop.

        Raises:
            CodeRAGError: It cannot be indexed.
        """
        with self._workspace.open_repository(checkout).keep_open() as repository:
            job = repository.index()
            try:
                while (view := job.view).state not in ENDED_STATES:
                    report({"phase": "indexing", **(asdict(view.progress) if view.progress else {})})
                    time.sleep(_POLL_S)
            except BaseException:
                job.cancel()
                raise
            if view.state == "failed":
                raise job.error or IngestionError("the index was not updated", hint="Look at the server's log.")
            if view.state == "cancelled":
                raise CodeRAGError("indexing was cancelled")
        report({"phase": "sources"})
        self._sync_sources(checkout)
