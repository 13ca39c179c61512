"""Embedding maps of the repositories of a workspace: read, or computed on first demand."""

import logging
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from coderag.errors import CodeRAGError
from coderag.retrieval.projection.projection import FILE_NAME, Projection
from coderag.stores.pointer import Pointer
from coderag.stores.view_files import ViewFiles
from coderag.workspace.view_process import PROJECTION, store_projection
from coderag.workspace.view_worker import ViewEnd, ViewKey, ViewProgress, ViewTask, ViewWorker

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.stores.snapshot import Snapshot

MAX_INLINE_CHUNKS: Final = 3_000
"""A map of so many chunks is computed in the thread that asks: a process takes longer to start."""

_MAX_LOADED: Final = 4

_logger = logging.getLogger(__name__)


class Projections:
    """Embedding maps of repositories. Thread-safe.

    Args:
        worker: The process that computes large ones, one at a time; further repositories wait for their next request.
    """

    def __init__(self, worker: ViewWorker) -> None:
        self._worker = worker
        self._lock = threading.Lock()
        self._inline_lock = threading.Lock()
        self._loaded: OrderedDict[ViewKey, Projection] = OrderedDict()
        self._errors: dict[ViewKey, CodeRAGError] = {}

    def get(self, engine: "CodeRAG") -> tuple[Pointer, Projection | ViewProgress]:
        """Return the map of a repository's generation, or the progress of its computation, which is started.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
            ConfigurationError: The extra of the method is not installed.
            ServiceError: The last computation failed; the next call starts another.
        """
        snapshot = engine.open_generation()
        key = str(snapshot.directory), snapshot.pointer.identity
        method = engine.settings.web.projection
        if (progress := self._worker.find(key, PROJECTION)) is not None:
            return snapshot.pointer, progress
        with self._lock:
            if (error := self._errors.pop(key, None)) is not None:
                raise error
        projection = self._find(key, snapshot, method)
        if projection is None and len(snapshot) <= MAX_INLINE_CHUNKS:
            with self._inline_lock:
                projection = self._find(key, snapshot, method) or self._keep(key, store_projection(snapshot, method))
        if projection is None:
            task = ViewTask(key, [PROJECTION], method, is_ahead=False)
            return snapshot.pointer, self._worker.start(task) or ViewProgress("waiting")
        return snapshot.pointer, projection

    def note_end(self, end: ViewEnd) -> None:
        """Keep the error of a map for the next request."""
        if end.error is None or end.task.is_ahead or PROJECTION not in end.task.views or end.is_cancelled:
            return
        with self._lock:
            self._errors[end.task.key] = end.error
        _logger.warning("The map of %s was not computed: %s", end.task.key[0], end.error)

    def _find(self, key: ViewKey, snapshot: "Snapshot", method: str) -> Projection | None:
        with self._lock:
            if key in self._loaded and self._loaded[key].info.method == method:
                self._loaded.move_to_end(key)
                return self._loaded[key]
        stored = Projection.from_arrays(ViewFiles(snapshot.directory, snapshot.pointer).read(FILE_NAME))
        if stored is None or stored.info.method != method or len(stored) != len(snapshot):
            return None
        return self._keep(key, stored)

    def _keep(self, key: ViewKey, projection: Projection) -> Projection:
        with self._lock:
            self._loaded[key] = projection
            while len(self._loaded) > _MAX_LOADED:
                self._loaded.popitem(last=False)
        return projection
