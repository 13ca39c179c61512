"""The open index: each part of the current generation is opened when first asked for, and again only after a commit.

After a commit that brought summaries alone, searches go on with the generation before until the new one is open.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from coderag.config.sections import SearchSettings
from coderag.config.settings import Settings
from coderag.engine.context_builder import make_context_over, make_query_context
from coderag.errors import CodeRAGError, IndexNotFoundError, InvalidQueryError
from coderag.ingestion.live.live_index import LiveIndex, OnEdited, Sweep
from coderag.models.dense import DenseModel
from coderag.models.llms.chosen import LanguageModels
from coderag.retrieval.query_context import QueryContext
from coderag.stores.index_store import IndexStore
from coderag.stores.path_key import path_mask
from coderag.stores.pointer import Pointer
from coderag.stores.snapshot import Snapshot
from coderag.system.gc_tuning import collector_paused
from coderag.system.gil import giving_way
from coderag.text.path_masking import PathMask

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph
    from coderag.retrieval.exact import TextSearch
    from coderag.stores.overlaid import OverlaidSnapshot
    from coderag.stores.protocols import GraphBuilder, IndexSnapshot


_logger = logging.getLogger(__name__)

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class _Opened(Generic[Part]):
    """A part of the index, and which generation it is of."""

    pointer: Pointer
    part: Part


def _opened_snapshot(context: QueryContext) -> "Snapshot | OverlaidSnapshot":
    """Return the snapshot of a context that was opened here; a corpus of others may stand on another `IndexSnapshot`."""
    return cast("Snapshot | OverlaidSnapshot", context.corpus.snapshot)


def _serves_until_renewed(opened: Pointer, current: Pointer) -> bool:
    """Whether searches may go on with a generation for the moment that it takes to open the one that replaced it.

    What they find is not stale, as both are of the same files; and what they have not read yet is still there.
    """
    return current.retains(opened) and opened.has_same_files(current) and opened.embedding == current.embedding


class _Overlaid:
    """What is open of a generation with files as they are now. It may be asked by several threads."""

    def __init__(self, snapshot: "OverlaidSnapshot") -> None:
        self.snapshot = snapshot
        self._lock = threading.Lock()
        self._context: QueryContext | None = None

    @cached_property
    def graph(self) -> "CodeGraph":
        """Its code graph, linked when it is first asked for."""
        return _open_graph(self.snapshot)

    def context_over(self, below: QueryContext) -> QueryContext:
        """Return what the query graph works with, made from that of the generation itself."""
        with self._lock:
            if self._context is None:
                with collector_paused():
                    self._context = make_context_over(below, self.snapshot, self.graph)
            return self._context


class OpenIndex:
    """What queries need of one repository's index. It may be asked by several threads.

    Args:
        root: Folder of the repository.
        settings: Its settings.
        store: Where the index is.
        dense_model: Returns the configured embedding model.
        language_models: Has the one that writes answers, if there is one.
        on_edited: Called with the paths of files that were found to differ from the index.

    Attributes:
        live: Knows which files were edited since they were indexed.
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
        self._context: _Opened[QueryContext] | None = None
        self._graph: _Opened[CodeGraph] | None = None
        self._texts: _Opened[TextSearch] | None = None
        self._renewal: threading.Thread | None = None
        self._stored: _Opened[Snapshot] | None = None
        self._overlaid: _Overlaid | None = None
        self.live = LiveIndex(root, settings, store.directory, dense_model, self._graph_builder, on_edited)

    def context(
        self,
        search: SearchSettings,
        *,
        wanted: Sequence[str] = (),
        hidden: Sequence[str] = (),
        sweep: Sweep = "when due",
    ) -> QueryContext:
        """Return what the query graph works with, to search with some settings; files known to be edited are as they are now.

        Args:
            search: The settings.
            wanted, hidden, sweep: See `LiveIndex.over`.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
            IndexModelError: The index was made with another embedding model than the configured one.
        """
        with self._lock:
            pointer, opened = self._pointer(), self._context
            if opened is not None and _serves_until_renewed(opened.pointer, pointer):
                self._begin_renewal(opened)
            else:
                opened = self._context = self._current(pointer, opened, self._open_context)
        below: QueryContext = opened.part
        overlaid = self.live.over(cast("Snapshot", below.corpus.snapshot), wanted=wanted, hidden=hidden, sweep=sweep)
        if overlaid is None:
            self._overlaid = None  # not to keep an old generation in memory
            return replace(below, settings=search)
        return replace(self._parts_of(overlaid).context_over(below), settings=search)

    def refreshed(
        self, context: QueryContext, paths: Iterable[str], *, sweep: bool = False, hide: bool = False
    ) -> QueryContext | None:
        """Return a context in which some files are as they are now; None if in this one they are.

        Args:
            context: What an answer was made with.
            paths: The files that it stands on.
            sweep: Whether to look at all files.
            hide: Whether to leave out those that have changed, rather than to take them as they are now.
        """
        stale = self.live.stale(_opened_snapshot(context), paths)
        if not (stale or sweep):
            return None
        wanted, hidden = ((), stale) if hide else (stale, ())
        fresh = self.context(context.settings, wanted=wanted, hidden=hidden, sweep="now" if sweep else "when due")
        if fresh.corpus is context.corpus:
            return None
        return replace(fresh, language_model=context.language_model)

    def with_files(self, context: QueryContext, paths: Sequence[str]) -> QueryContext:
        """Return a context in which files that are to be read are as they are now, new ones among them.

        Raises:
            InvalidQueryError: One of them was indexed and is gone.
        """
        inside = [path for path in paths if path and ".." not in Path(path).parts and not Path(path).is_absolute()]
        indexed = set(context.corpus.paths)
        known = [path for path in inside if path in indexed]
        new = [path for path in inside if path not in indexed and (self._root / path).is_file()]
        for path in inside:
            if self.live.is_gone(_opened_snapshot(context), path):
                raise InvalidQueryError(f"{path} is gone", hint="It was deleted or moved since it was indexed.")
        if not new and not self.live.stale(_opened_snapshot(context), known):
            return context
        return self.context(context.settings, wanted=inside)

    def reopened(self, context: QueryContext) -> QueryContext | None:
        """Return a context of the current generation; None if this one is, so that what failed is not that it is gone."""
        was = context.corpus.snapshot.pointer
        if was.is_same_generation(self._pointer()):
            return None
        return replace(self.context(context.settings), language_model=context.language_model)

    def graph(self) -> "CodeGraph":
        """Return the code graph of all indexed files as they are now. Raises `IndexNotFoundError`."""
        with self._lock:
            pointer = self._pointer()
            self._graph = opened = self._current(pointer, self._graph, _open_graph, Pointer.has_same_graph)
            stored = self._snapshot(pointer)
        overlaid = self.live.over(stored, sweep="unless watched")
        return opened.part if overlaid is None else self._parts_of(overlaid).graph

    def text_search(self) -> "TextSearch":
        """Return what searches the indexed files as they are on disk. Raises `IndexNotFoundError`."""
        with self._lock:
            pointer = self._pointer()
            self._texts = opened = self._current(pointer, self._texts, self._open_texts)
            stored = self._snapshot(pointer)
        overlaid = self.live.over(stored, sweep="unless watched")
        return opened.part if overlaid is None else self._open_texts(overlaid)

    def edited(self) -> list[str]:
        """Return the paths of the files that are known to differ from the index; none if there is no index."""
        with self._lock:
            pointer = self._store.pointer()
            stored = None if pointer is None else self._snapshot(pointer)
        return [] if stored is None else self.live.edited(stored)

    def close(self) -> None:
        """End what follows the edits; the index can be used again."""
        self.live.close()

    def renew(self) -> None:
        """Return when searches see the generation that is current now, if there were searches at all."""
        while True:
            with self._lock:
                pointer, opened = self._store.pointer(), self._context
                if opened is None or pointer is None or not _serves_until_renewed(opened.pointer, pointer):
                    return
                renewal = self._begin_renewal(opened)
            renewal.join()

    @cached_property
    def path_mask(self) -> PathMask | None:
        """What paths are masked with before they are sent to a server."""
        return path_mask(self._settings.privacy, self._store.directory)

    def _pointer(self) -> Pointer:
        pointer = self._store.pointer()
        if pointer is None:
            raise IndexNotFoundError(f"{self._root} is not indexed yet", hint="Run `coderag index` in it first.")
        return pointer

    def _current(
        self,
        pointer: Pointer,
        opened: _Opened[Part] | None,
        make: Callable[[Snapshot], Part],
        is_same: Callable[[Pointer, Pointer], bool] = Pointer.is_same_generation,
    ) -> _Opened[Part]:
        """Return a part of the current generation, the one that is open if it is the same there."""
        if opened is not None and is_same(opened.pointer, pointer):
            return opened
        with collector_paused():
            snapshot = self._snapshot(pointer)
            return _Opened(snapshot.pointer, make(snapshot))

    def _snapshot(self, pointer: Pointer) -> Snapshot:
        """Return the current generation, the one that is open if it is the same."""
        opened = self._stored
        if opened is None or not opened.pointer.is_same_generation(pointer):
            snapshot = self._store.open()
            self._stored = opened = _Opened(snapshot.pointer, snapshot)
        return opened.part

    def _parts_of(self, snapshot: "OverlaidSnapshot") -> "_Overlaid":
        """Return what is open of a generation with files as they are now."""
        with self._lock:
            if self._overlaid is None or self._overlaid.snapshot is not snapshot:
                self._overlaid = _Overlaid(snapshot)
            return self._overlaid

    def _graph_builder(self) -> "GraphBuilder":
        from coderag.codegraph.build import GraphBuilder, read_imported  # noqa: PLC0415  # only edited files need it

        return GraphBuilder(read_imported(self._store.directory))

    def _begin_renewal(self, opened: _Opened[QueryContext]) -> threading.Thread:
        """Have the current generation opened in place of an earlier one, unless that is under way."""
        if self._renewal is None:
            self._renewal = threading.Thread(target=self._renew, args=(opened,), name="open index")
            self._renewal.start()
        return self._renewal

    def _renew(self, before: _Opened[QueryContext]) -> None:
        renewed = None
        try:
            with collector_paused(), giving_way():
                snapshot = self._store.open()
                context = self._open_context(snapshot)
                context.corpus.load_as(before.part.corpus)
                renewed = _Opened(snapshot.pointer, context)
        except CodeRAGError as error:
            _logger.warning("The index was not opened again beside the searches: %s", error)  # the next one tries it
        finally:
            with self._lock:
                self._renewal = None
                if self._context is before:
                    self._context = renewed
                    stored = None if renewed is None else cast("Snapshot", renewed.part.corpus.snapshot)
                    self._stored = None if renewed is None or stored is None else _Opened(renewed.pointer, stored)

    def _open_context(self, stored: Snapshot) -> QueryContext:
        model = self._dense_model()  # first, so that what is wrong with it is said before the graph is linked
        opened = self._graph
        if opened is None or not opened.pointer.has_same_graph(stored.pointer):
            opened = self._graph = _Opened(stored.pointer, _open_graph(stored))
        language_model = self._language_models.model
        return make_query_context(
            self._root, self._settings, stored, opened.part, model, language_model, lambda: self.path_mask
        )

    def _open_texts(self, snapshot: "IndexSnapshot") -> "TextSearch":
        from coderag.retrieval.exact import TextSearch  # noqa: PLC0415  # only `search_text` needs it

        return TextSearch(self._root, snapshot, max_file_bytes=self._settings.ingestion.max_file_bytes)


def _open_graph(snapshot: "IndexSnapshot") -> "CodeGraph":
    from coderag.codegraph.graph import CodeGraph  # noqa: PLC0415  # only queries need it
    from coderag.codegraph.symbol_graph import SymbolGraph  # noqa: PLC0415

    return CodeGraph(SymbolGraph(snapshot.graph))
