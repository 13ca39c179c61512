"""Open index, whose parts open on first use and reopen after a commit.

After a commit of summaries only, searches use the previous generation until the new one is open.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from coderag.config.sections import SearchSettings
from coderag.config.settings import Settings
from coderag.engine.context_builder import build_overlay_context, build_query_context
from coderag.errors import CodeRAGError, IndexLockedError, IndexNotFoundError, InvalidQueryError, StoreError
from coderag.ingestion.live.live_index import LiveIndex, OnEdited, Sweep
from coderag.models.dense import DenseModel
from coderag.models.llms.language_models import LanguageModels
from coderag.retrieval.items.item_finder import ItemFinder
from coderag.retrieval.query_context import QueryContext
from coderag.stores.index_store import IndexStore
from coderag.stores.path_key import load_path_mask
from coderag.stores.pointer import Pointer
from coderag.stores.snapshot import Snapshot
from coderag.system.file_checks import is_existing_file
from coderag.system.gc_tuning import pause_gc
from coderag.system.gil import yield_gil_sooner
from coderag.text.path_masking import PathMask

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph
    from coderag.lineage.code_history import CodeHistory
    from coderag.retrieval.text_search.search import TextSearch
    from coderag.stores.overlay import OverlaySnapshot
    from coderag.stores.protocols import GraphBuilder, IndexSnapshot


_MAX_CHECK_WAIT_S: Final = 1.0
_WARMING_DELAY_S: Final = 2.0  # the first search, and further edits, go first

_logger = logging.getLogger(__name__)

PartT = TypeVar("PartT")


@dataclass(frozen=True, slots=True)
class _OpenPart(Generic[PartT]):
    """Open part of the index, with its generation."""

    pointer: Pointer
    part: PartT


def _get_opened_snapshot(context: QueryContext) -> "Snapshot | OverlaySnapshot":
    """Return the snapshot of a context that this module opened; other corpora may have another `IndexSnapshot`."""
    return cast("Snapshot | OverlaySnapshot", context.corpus.snapshot)


def _can_serve_until_renewed(opened: Pointer, current: Pointer) -> bool:
    """Return whether searches may use a generation until the one that replaced it is open.

    Both have the same files, so results are not stale, and unread parts still exist.
    """
    return current.retains(opened) and opened.has_same_files(current) and opened.embedding == current.embedding


class _OverlayParts:
    """Open parts of an overlay, for use by several threads."""

    def __init__(self, snapshot: "OverlaySnapshot") -> None:
        self.snapshot = snapshot
        self._lock = threading.Lock()
        self._context: QueryContext | None = None

    @cached_property
    def graph(self) -> "CodeGraph":
        """Code graph, linked on first use."""
        return _build_graph(self.snapshot)

    def build_context(self, base: QueryContext) -> QueryContext:
        """Build the query context from that of the generation."""
        with self._lock:
            if self._context is None:
                with pause_gc():
                    self._context = build_overlay_context(base, self.snapshot, self.graph)
            return self._context


class OpenIndex:
    """Open index of one repository, for use by several threads.

    Args:
        root: Folder of the repository.
        settings: Settings of the repository.
        store: The index on disk.
        dense_model: Returns the configured embedding model.
        language_models: Provides the model that writes answers, if any.
        on_edited: Called with the paths of files that differ from the index.

    Attributes:
        live: Tracker of the files edited since indexing.
        is_kept_warm: Whether parts that only some searches need are built ahead of them.
    """

    def __init__(
        self,
        root: Path,
        settings: Settings,
        store: IndexStore,
        dense_model: Callable[[], DenseModel],
        language_models: LanguageModels,
        on_edited: OnEdited | None = None,
    ) -> None:
        self._root = root
        self._settings = settings
        self._store = store
        self._dense_model = dense_model
        self._language_models = language_models
        self._lock = threading.Lock()
        self._history_lock = threading.Lock()
        self._history: CodeHistory | None = None
        self._open_context_part: _OpenPart[QueryContext] | None = None
        self._open_graph_part: _OpenPart[CodeGraph] | None = None
        self._open_text_search_part: _OpenPart[TextSearch] | None = None
        self._renewal: threading.Thread | None = None
        self._open_snapshot_part: _OpenPart[Snapshot] | None = None
        self._overlay_parts: _OverlayParts | None = None
        self.is_kept_warm = False
        self.live = LiveIndex(root, settings, store.directory, dense_model, self._build_graph_builder, on_edited)

    def open_history(self) -> "CodeHistory":
        """Open the history of the code; it needs git, but no index."""
        with self._history_lock:
            if self._history is None:
                from coderag.lineage.code_history import CodeHistory  # noqa: PLC0415  # few queries need it

                settings = self._settings
                self._history = CodeHistory(self._root, settings.lineage, settings.privacy, self._store.directory)
            return self._history

    def open_context(
        self,
        search: SearchSettings,
        *,
        wanted: Sequence[str] = (),
        hidden: Sequence[str] = (),
        sweep: Sweep = "when due",
        items: ItemFinder | None = None,
    ) -> QueryContext:
        """Open the query context for some search settings, with edited files in their current state.

        Args:
            search: Search settings.
            wanted, hidden, sweep: See `LiveIndex.over`.
            items: Finder of the mirrored items that the reader may see, if there may be any.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
            IndexModelError: The index was built with another embedding model.
        """
        with self._lock:
            pointer, open_part = self._read_pointer(), self._open_context_part
            if open_part is not None and _can_serve_until_renewed(open_part.pointer, pointer):
                self._start_renewal(open_part)
            else:
                previous = open_part
                open_part = self._open_context_part = self._get_current_part(pointer, previous, self._build_context)
                if open_part is not previous:
                    self._start_warming(open_part)
        base: QueryContext = open_part.part
        overlay = self.live.build_overlay(
            cast("Snapshot", base.corpus.snapshot), required=wanted, hidden=hidden, sweep=sweep
        )
        if overlay is None:
            self._overlay_parts = None  # release an old generation
            return replace(base, settings=search, open_history=self.open_history, items=items)
        context = self._get_overlay_parts(overlay).build_context(base)
        return replace(context, settings=search, open_history=self.open_history, items=items)

    def refresh_context(
        self, context: QueryContext, paths: Iterable[str], *, sweep: bool = False, hide: bool = False
    ) -> QueryContext | None:
        """Return a context with the current state of some files; None if they are unchanged.

        Args:
            context: Context of an answer.
            paths: Files that the answer is based on.
            sweep: Whether to check all files.
            hide: Whether to hide changed files rather than to read them again.
        """
        stale_paths = self.live.find_stale(_get_opened_snapshot(context), paths)
        if not (stale_paths or sweep):
            return None
        wanted, hidden = ((), stale_paths) if hide else (stale_paths, ())
        due: Sweep = "now" if sweep else "when due"
        fresh = self.open_context(context.settings, wanted=wanted, hidden=hidden, sweep=due, items=context.items)
        if fresh.corpus is context.corpus:
            return None
        return replace(fresh, language_model=context.language_model)

    def include_files(self, context: QueryContext, paths: Sequence[str]) -> QueryContext:
        """Return a context with the current state of some files, including new ones.

        Raises:
            InvalidQueryError: An indexed file was deleted.
        """
        safe_paths = [path for path in paths if path and ".." not in Path(path).parts and not Path(path).is_absolute()]
        indexed = set(context.corpus.paths)
        indexed_paths = [path for path in safe_paths if path in indexed]
        new_paths = [path for path in safe_paths if path not in indexed and is_existing_file(self._root / path)]
        for path in safe_paths:
            if self.live.is_deleted(_get_opened_snapshot(context), path):
                raise InvalidQueryError(
                    f"{path} no longer exists", hint="It was deleted or moved after it was indexed."
                )
        if not new_paths and not self.live.find_stale(_get_opened_snapshot(context), indexed_paths):
            return context
        return self.open_context(context.settings, wanted=safe_paths, items=context.items)

    def reopen_context(self, context: QueryContext) -> QueryContext | None:
        """Return a context of the current generation; None if this context already is, so retrying is pointless."""
        previous = context.corpus.snapshot.pointer
        if previous.is_same_generation(self._read_pointer()):
            return None
        fresh = self.open_context(context.settings, items=context.items)
        return replace(fresh, language_model=context.language_model)

    def raise_damage(self, context: QueryContext) -> None:
        """Raise the error of a damaged file of a context's generation; the first query waits for the check of its content.

        Raises:
            StoreError: A file is damaged.
        """
        try:
            _get_opened_snapshot(context).raise_damage(_MAX_CHECK_WAIT_S)
        except StoreError:
            self._drop_parts()
            raise

    def _drop_parts(self) -> None:
        """Drop what is open, so that the next query opens the repaired index."""
        with self._lock:
            self._open_context_part = self._open_graph_part = self._open_text_search_part = None
            self._open_snapshot_part = None

    def open_graph(self) -> "CodeGraph":
        """Open the code graph of all indexed files in their current state.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
            IndexLockedError: A first run is still linking the graph.
        """
        return self.open_linked_index()[0]

    def prefetch_graph(self) -> None:
        """Open the code graph in the background, in a process that stays: it is wanted soon."""
        if self.is_kept_warm:
            threading.Thread(target=self._prefetch_graph, name="open graph", daemon=True).start()

    def _prefetch_graph(self) -> None:
        try:
            with yield_gil_sooner():
                self.open_graph()
        except CodeRAGError as error:  # whoever needs it reports it
            _logger.info("The code graph was not opened: %s", error)

    def open_linked_index(self) -> "tuple[CodeGraph, IndexSnapshot]":
        """Open the code graph with the snapshot that it belongs to. Raises as `open_graph`."""
        with self._lock:
            pointer = self._read_pointer()
            if not pointer.is_linked:
                hint = "Ask again in a moment. If no run is under way, `coderag index` links it."
                raise IndexLockedError("the code graph is not linked yet", hint=hint)
            self._open_graph_part = open_part = self._get_current_part(
                pointer, self._open_graph_part, _build_graph, Pointer.has_same_graph
            )
            stored = self._open_snapshot(pointer)
        try:
            stored.raise_damage(_MAX_CHECK_WAIT_S)
        except StoreError:
            self._drop_parts()
            raise
        overlay = self.live.build_overlay(stored, sweep="unless watched")
        return (open_part.part, stored) if overlay is None else (self._get_overlay_parts(overlay).graph, overlay)

    def open_generation(self) -> Snapshot:
        """Open the committed generation, without edits since. Raises `IndexNotFoundError`."""
        with self._lock:
            return self._open_snapshot(self._read_pointer())

    def open_unedited_generation(self) -> Snapshot | None:
        """Open the committed generation; None if files were edited since. Raises `IndexNotFoundError`."""
        stored = self.open_generation()
        return stored if self.live.build_overlay(stored, sweep="unless watched") is None else None

    def open_known_files(self) -> "Snapshot | OverlaySnapshot":
        """Open the current generation with the edits that earlier queries have read; nothing is read or linked here.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
        """
        with self._lock:
            stored, parts = self._open_snapshot(self._read_pointer()), self._overlay_parts
        return parts.snapshot if parts is not None and parts.snapshot.base is stored else stored

    def open_text_search(self) -> "TextSearch":
        """Open the text search over the indexed files on disk. Raises `IndexNotFoundError`."""
        with self._lock:
            pointer = self._read_pointer()
            self._open_text_search_part = open_part = self._get_current_part(
                pointer, self._open_text_search_part, self._build_text_search
            )
            stored = self._open_snapshot(pointer)
        overlay = self.live.build_overlay(stored, sweep="unless watched")
        return open_part.part if overlay is None else self._build_text_search(overlay)

    def list_edited_files(self) -> list[str]:
        """List the files known to differ from the index; empty without an index."""
        with self._lock:
            pointer = self._store.read_pointer()
            stored = None if pointer is None else self._open_snapshot(pointer)
        return [] if stored is None else self.live.list_edited(stored)

    def close(self) -> None:
        """Stop tracking edits and warming; the index can be used again."""
        self.is_kept_warm = False
        self.live.close()

    def wait_for_renewal(self) -> None:
        """Wait until searches use the current generation, if any search has been made."""
        while True:
            with self._lock:
                pointer, open_part = self._store.read_pointer(), self._open_context_part
                if open_part is None or pointer is None or not _can_serve_until_renewed(open_part.pointer, pointer):
                    return
                renewal = self._start_renewal(open_part)
            renewal.join()

    @cached_property
    def path_mask(self) -> PathMask | None:
        """Mask of paths that are sent to servers."""
        return load_path_mask(self._settings.privacy, self._store.directory)

    def _read_pointer(self) -> Pointer:
        pointer = self._store.read_pointer()
        if pointer is None:
            raise IndexNotFoundError(f"{self._root} is not indexed yet", hint="Run `coderag index` there first.")
        return pointer

    def _get_current_part(
        self,
        pointer: Pointer,
        open_part: _OpenPart[PartT] | None,
        build: Callable[[Snapshot], PartT],
        is_same: Callable[[Pointer, Pointer], bool] = Pointer.is_same_generation,
    ) -> _OpenPart[PartT]:
        """Return a part of the current generation, reusing the open one if it is still valid."""
        if open_part is not None and is_same(open_part.pointer, pointer):
            return open_part
        with pause_gc():
            snapshot = self._open_snapshot(pointer)
            return _OpenPart(snapshot.pointer, build(snapshot))

    def _open_snapshot(self, pointer: Pointer) -> Snapshot:
        """Return the current generation, reusing the open one if it is the same."""
        open_part = self._open_snapshot_part
        if open_part is None or not open_part.pointer.is_same_generation(pointer):
            snapshot = self._store.open()
            self._open_snapshot_part = open_part = _OpenPart(snapshot.pointer, snapshot)
        return open_part.part

    def _get_overlay_parts(self, snapshot: "OverlaySnapshot") -> "_OverlayParts":
        """Return the open parts of an overlay."""
        with self._lock:
            if self._overlay_parts is None or self._overlay_parts.snapshot is not snapshot:
                self._overlay_parts = _OverlayParts(snapshot)
            return self._overlay_parts

    def _build_graph_builder(self) -> "GraphBuilder":
        from coderag.codegraph.code_graph_builder import CodeGraphBuilder, load_imported_edges  # noqa: PLC0415  # only edited files need it

        return CodeGraphBuilder(load_imported_edges(self._store.directory))

    def _start_renewal(self, open_part: _OpenPart[QueryContext]) -> threading.Thread:
        """Start opening the current generation in the background, unless that is running."""
        if self._renewal is None:
            self._renewal = threading.Thread(target=self._renew, args=(open_part,), name="open index")
            self._renewal.start()
        return self._renewal

    def _renew(self, previous: _OpenPart[QueryContext]) -> None:
        renewed_part: _OpenPart[QueryContext] | None = None
        try:
            with pause_gc(), yield_gil_sooner():
                snapshot = self._store.open()
                context = self._build_context(snapshot)
                context.corpus.preload_like(previous.part.corpus)
                renewed_part = _OpenPart(snapshot.pointer, context)
        except CodeRAGError as error:
            _logger.warning("Cannot reopen the index in the background: %s", error)  # the next search retries
        finally:
            with self._lock:
                self._renewal = None
                if self._open_context_part is previous:
                    self._open_context_part = renewed_part
                    self._open_snapshot_part = (
                        _OpenPart(renewed_part.pointer, cast("Snapshot", renewed_part.part.corpus.snapshot))
                        if renewed_part is not None
                        else None
                    )
            if renewed_part is not None:
                self._start_warming(renewed_part)

    def _start_warming(self, opened: _OpenPart[QueryContext]) -> None:
        """Build what only some searches need soon, in a process that stays."""
        if self.is_kept_warm:
            timer = threading.Timer(_WARMING_DELAY_S, self._warm, (opened,))
            timer.daemon = True
            timer.name = "warm index"
            timer.start()

    def _warm(self, opened: _OpenPart[QueryContext]) -> None:
        if not self.is_kept_warm or self._open_context_part is not opened:  # a newer generation is open
            return
        from coderag.engine.index_warmer import warm_context  # noqa: PLC0415  # only a process that stays needs it

        try:
            warm_context(opened.part)
        except CodeRAGError as error:
            _logger.info("The index was not warmed: %s", error)  # the next search reads the same

    def _build_context(self, stored: Snapshot) -> QueryContext:
        model = self._dense_model()  # first, so that its errors precede the linking of the graph
        open_part = self._open_graph_part
        if open_part is None or not open_part.pointer.has_same_graph(stored.pointer):
            open_part = self._open_graph_part = _OpenPart(stored.pointer, _build_graph(stored))
        language_model = self._language_models.model
        return build_query_context(
            self._root, self._settings, stored, open_part.part, model, language_model, lambda: self.path_mask
        )

    def _build_text_search(self, snapshot: "IndexSnapshot") -> "TextSearch":
        from coderag.retrieval.text_search.search import TextSearch  # noqa: PLC0415  # only `search_text` needs it

        return TextSearch(self._root, snapshot, max_file_bytes=self._settings.ingestion.max_file_bytes)


def _build_graph(snapshot: "IndexSnapshot") -> "CodeGraph":
    from coderag.codegraph.graph import CodeGraph  # noqa: PLC0415  # only queries need it
    from coderag.codegraph.symbol_graph import SymbolGraph  # noqa: PLC0415

    return CodeGraph(SymbolGraph(snapshot.read_graph))
