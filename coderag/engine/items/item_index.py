"""Index of the mirrored items: the ordinary engine on the folder of the mirror.

The mirror is a repository of its own, with settings that are built here. Nothing in its files is configuration: no settings
file is read from it, and ignore files and attributes of git do not apply to it.
"""

import hashlib
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coderag.config.sections import IngestionSettings, LLMSettings, RerankerSettings, SearchSettings
from coderag.config.settings import Settings
from coderag.engine.open_index import OpenIndex
from coderag.errors import IndexLockedError, StoreError
from coderag.models.dense import DenseModel
from coderag.models.llms.language_models import LanguageModels
from coderag.schema.indexing import IndexProgress, IndexReport
from coderag.stores.index_store import IndexStore
from coderag.system.atomic_write import atomic_write

if TYPE_CHECKING:
    from coderag.retrieval.query_context import QueryContext

INDEX_FOLDER_NAME: Final = "index"
"""Folder of the index, beside the folder of the mirrored files."""

_STAMP_FILE: Final = "mirror-stamp"
_MAX_STAMP_BYTES: Final = 200
_MAX_FILE_BYTES: Final = 100_000_000  # the mirror has decided what an item is
_INCLUDE_EVERYTHING: Final = ("!*",)  # precedes every ignore file, and those of the user for git

_logger = logging.getLogger(__name__)


def build_item_settings(settings: Settings, directory: Path, sources: frozenset[str] | None = None) -> Settings:
    """Build the settings of the mirror from those of its repository: models that embed, privacy, and nothing else.

    Args:
        settings: Settings of the repository.
        directory: Folder of the mirror's index.
        sources: Names of the sources whose items are indexed; None for all.
    """
    only = () if sources is None else ("/*", *(f"!/{name}/" for name in sorted(sources)))
    ingestion = IngestionSettings(
        max_file_bytes=_MAX_FILE_BYTES, exclude=(*_INCLUDE_EVERYTHING, *only), workers=settings.ingestion.workers
    )
    return settings.model_copy(
        update={
            "project": "",
            "ingestion": ingestion,
            "llm": LLMSettings(),
            "reranker": RerankerSettings(),
            "search": SearchSettings(),
            "storage": settings.storage.model_copy(update={"directory": str(directory)}),
        }
    )


def _name_index_folder(sources: frozenset[str] | None) -> str:
    if sources is None:
        return INDEX_FOLDER_NAME
    digest = hashlib.sha256("\n".join(sorted(sources)).encode()).hexdigest()
    return f"{INDEX_FOLDER_NAME}-{digest[:16]}"


class ItemIndex:
    """Index of one mirror, for use by several threads.

    Readers who see only some sources have an index of those alone: no term statistics come from what they may not see.

    Args:
        files_folder: Folder of the mirrored files.
        settings: Settings of the repository.
        dense_model: Returns the embedding model of the repository, which is shared.
        sources: Names of the sources whose items are indexed; None for all.
    """

    def __init__(
        self,
        files_folder: Path,
        settings: Settings,
        dense_model: Callable[[], DenseModel],
        sources: frozenset[str] | None = None,
    ) -> None:
        self._root = files_folder
        self._directory = files_folder.parent / _name_index_folder(sources)
        self._settings = build_item_settings(settings, self._directory, sources)
        self._dense_model = dense_model
        self._store = IndexStore(self._directory)
        self._open_index = OpenIndex(
            files_folder, self._settings, self._store, dense_model, LanguageModels(self._settings)
        )
        self._lock = threading.Lock()
        self._stamp = ""

    def open(self, stamp: str) -> "QueryContext":
        """Open the query context of the items as they are mirrored; what has changed is indexed first.

        While another process indexes, changed items are read over the generation that there is.

        Args:
            stamp: Stamp of the mirror's content.

        Raises:
            IndexNotFoundError: Another process builds the first index.
            ModelError: The embedding model failed.
            StoreError: The index cannot be read or written.
        """
        with self._lock:
            if not self._is_current(stamp):
                try:
                    self._index(stamp)
                except IndexLockedError:
                    if self._store.read_pointer() is None:
                        raise
                    _logger.info("Another process indexes the mirrored items")
        return self._open_index.open_context(self._settings.search)

    def update(self, stamp: str, progress: Callable[[IndexProgress], None] | None = None) -> IndexReport:
        """Index what has changed in the mirror.

        Raises:
            IndexLockedError: Another process indexes it.
            ModelError: The embedding model failed; the last generation is intact.
            StoreError: The index cannot be written; the last generation is intact.
        """
        with self._lock:
            return self._index(stamp, progress)

    def close(self) -> None:
        """Release the overlay of changed files; the index can be used again."""
        self._open_index.close()

    def _is_current(self, stamp: str) -> bool:
        try:
            is_indexed = self._store.read_pointer() is not None
        except StoreError as error:  # a run repairs it, or tells why it cannot
            _logger.warning("The index of the mirrored items is built again: %s", error)
            is_indexed = False
        if not is_indexed:
            return False
        if self._stamp != stamp:  # another process may have indexed it
            self._stamp = self._read_stamp()
        return self._stamp == stamp

    def _index(self, stamp: str, progress: Callable[[IndexProgress], None] | None = None) -> IndexReport:
        from coderag.codegraph.code_graph_builder import CodeGraphBuilder  # noqa: PLC0415  # only writers need it
        from coderag.ingestion.indexer import Indexer  # noqa: PLC0415
        from coderag.ingestion.workers.worker_pool import build_helpers  # noqa: PLC0415

        builder = CodeGraphBuilder(None, build_helpers(self._settings.ingestion.workers))
        model = self._dense_model()
        report = Indexer(self._root, self._settings, self._store, model, progress, graph_builder=builder).run()
        atomic_write(self._directory / _STAMP_FILE, [stamp.encode()])
        self._stamp = stamp
        return report

    def _read_stamp(self) -> str:
        with suppress(OSError):
            return (self._directory / _STAMP_FILE).read_bytes()[:_MAX_STAMP_BYTES].decode("utf-8", "replace")
        return ""
