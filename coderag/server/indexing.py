"""Indexing of checkouts for the jobs of a server, by the workspace that also answers."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from coderag.errors import CodeRAGError, IngestionError
from coderag.server.source_synchronizer import SourceSynchronizer
from coderag.workspace.jobs import ENDED_STATES
from coderag.workspace.workspace import Workspace

_POLL_S: Final = 0.25


class CheckoutIndexer:
    """Indexer of checkouts. Thread-safe.

    Args:
        workspace: Workspace whose writer process indexes.
        synchronizer: Synchronises the sources of a checkout after its code.
    """

    def __init__(self, workspace: Workspace, synchronizer: SourceSynchronizer) -> None:
        self._workspace = workspace
        self._synchronizer = synchronizer

    def index(self, checkout: Path, report: Callable[[Mapping[str, Any]], None]) -> dict[str, str]:
        """Index a checkout and synchronise its sources.

        Args:
            checkout: Folder of the files.
            report: Called with progress; raises to stop.

        Returns:
            By its name why each source was not synchronised completely.

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

        stops: list[BaseException] = []

        def is_cancelled() -> bool:
            try:
                if not stops:
                    report({"phase": "sources"})
            except BaseException as stop:  # noqa: BLE001  # raised again below; a connector must not see it as its error
                stops.append(stop)
            return bool(stops)

        is_cancelled()
        errors = self._synchronizer.synchronize(checkout, is_cancelled) if not stops else {}
        if stops:
            raise stops[0]
        return errors
