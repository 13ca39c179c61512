"""The open index: each part of the current generation is opened when first asked for, and again only after a commit.

After a commit that brought summaries alone, searches go on with the generation before until the new one is open.
"""

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from coderag.collector import collector_paused
from coderag.errors import CodeRAGError, IndexNotFoundError
from coderag.models.dense import DenseModel, MaskedQueries, ProviderDense, check_embedding
from coderag.models.llms.chosen import LanguageModels
from coderag.models.redacting import RedactingReranker
from coderag.models.rerankers.providers import make_reranker
from coderag.privacy import MaskedPaths, PathMask
from coderag.prompting import Prompts
from coderag.settings import SearchSettings, Settings
from coderag.state import QueryContext, QueryEmbedder
from coderag.stores.index_store import IndexStore
from coderag.stores.path_key import path_mask
from coderag.stores.pointer import Pointer
from coderag.stores.snapshot import Snapshot

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph
    from coderag.retrieval.exact import TextSearch

_TURN_S: Final = 0.0005
_GRAPH: Final = ("nodes", "edges")  # the tables of the code graph that queries read

_logger = logging.getLogger(__name__)

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class _Opened(Generic[Part]):
    """A part of the index, and which generation it is of."""

    pointer: Pointer
    part: Part


def _is_same_generation(one: Pointer, other: Pointer) -> bool:
    """Whether two pointers are of one generation: a new index counts from 1 again."""
    return (one.generation, one.created) == (other.generation, other.created)


def _has_same_files(one: Pointer, other: Pointer) -> bool:
    """Whether two generations are of the same files, in the same words: then only their summaries can differ."""
    return bool(one.root_hash) and one.root_hash == other.root_hash


def _has_same_graph(one: Pointer, other: Pointer) -> bool:
    """Whether two generations have one code graph, in one place."""
    return _has_same_files(one, other) and all(one.tables.get(name) == other.tables.get(name) for name in _GRAPH)


def _serves_until_renewed(opened: Pointer, current: Pointer) -> bool:
    """Whether searches may go on with a generation for the moment that it takes to open the one that replaced it.

    What they find is not stale, as both are of the same files; and what they have not read yet is still there.
    """
    is_kept = any((one.generation, one.tables) == (opened.generation, opened.tables) for one in current.retained)
    return is_kept and _has_same_files(opened, current) and opened.embedding == current.embedding


@contextmanager
def _giving_way() -> Iterator[None]:
    """Have other threads get their turn sooner than usual, for work that nobody waits for.

    With the usual five milliseconds at each of its turns, a search beside it takes three times as long.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(min(usual, _TURN_S))
    try:
        yield
    finally:
        if usual > _TURN_S:  # else somebody else sets it back
            sys.setswitchinterval(usual)


class OpenIndex:
    """What queries need of one repository's index. It may be asked by several threads.

    Args:
        root: Folder of the repository.
        settings: Its settings.
        store: Where the index is.
        dense_model: Returns the configured embedding model.
        language_models: Has the one that writes answers, if there is one.
    """

    def __init__(
        self,
        root: Path,
        settings: Settings,
        store: IndexStore,
        dense_model: Callable[[], DenseModel],
        language_models: LanguageModels,
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

    def context(self, search: SearchSettings) -> QueryContext:
        """Return what the query graph works with, to search with some settings.

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
            return replace(opened.part, settings=search)

    def graph(self) -> "CodeGraph":
        """Return the code graph. Raises `IndexNotFoundError`."""
        with self._lock:
            self._graph = self._current(self._pointer(), self._graph, _open_graph, _has_same_graph)
            return self._graph.part

    def text_search(self) -> "TextSearch":
        """Return what searches the indexed files as they are on disk. Raises `IndexNotFoundError`."""
        with self._lock:
            self._texts = self._current(self._pointer(), self._texts, self._open_texts)
            return self._texts.part

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
        is_same: Callable[[Pointer, Pointer], bool] = _is_same_generation,
    ) -> _Opened[Part]:
        """Return a part of the current generation, the one that is open if it is the same there."""
        if opened is not None and is_same(opened.pointer, pointer):
            return opened
        with collector_paused():
            snapshot = self._store.open()
            return _Opened(snapshot.pointer, make(snapshot))

    def _begin_renewal(self, opened: _Opened[QueryContext]) -> threading.Thread:
        """Have the current generation opened in place of an earlier one, unless that is under way."""
        if self._renewal is None:
            self._renewal = threading.Thread(target=self._renew, args=(opened,), name="open index")
            self._renewal.start()
        return self._renewal

    def _renew(self, before: _Opened[QueryContext]) -> None:
        renewed = None
        try:
            with collector_paused(), _giving_way():
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

    def _open_context(self, stored: Snapshot) -> QueryContext:
        from coderag.codegraph.neighbours import Neighbours  # noqa: PLC0415  # only queries need it
        from coderag.stores.corpus import Corpus  # noqa: PLC0415

        model = self._dense_model()
        corpus = Corpus(_with_vectors_of(model, stored))
        opened = self._graph
        if opened is None or not _has_same_graph(opened.pointer, stored.pointer):
            opened = self._graph = _Opened(stored.pointer, _open_graph(stored))
        graph = opened.part
        language_model = self._language_models.model
        prompts = Prompts(self._store.directory / "prompts")
        reranker = make_reranker(self._settings.reranker, prompts)
        if reranker and reranker.remote and self._settings.privacy.redact_secrets:
            reranker = RedactingReranker(reranker)
        embedder: QueryEmbedder = model
        paths = None
        remote = language_model or isinstance(model, ProviderDense) or (reranker and reranker.remote)
        if remote and (mask := self.path_mask):
            paths = MaskedPaths(mask, (record.path for record in stored.files()))
            if isinstance(model, ProviderDense):
                embedder = MaskedQueries(model, paths)
        return QueryContext(
            corpus=corpus,
            graph=graph,
            neighbours=Neighbours(corpus, graph),
            root=str(self._root),
            project=self._settings.project or self._root.name,
            embedder=embedder,
            settings=self._settings.search,
            language_model=language_model,
            reranker=reranker,
            masked_paths=paths,
            prompts=prompts,
        )

    def _open_texts(self, snapshot: Snapshot) -> "TextSearch":
        from coderag.retrieval.exact import TextSearch  # noqa: PLC0415  # only `search_text` needs it

        return TextSearch(self._root, snapshot, max_file_bytes=self._settings.ingestion.max_file_bytes)


def _open_graph(snapshot: Snapshot) -> "CodeGraph":
    from coderag.codegraph.graph import CodeGraph  # noqa: PLC0415  # only queries need it
    from coderag.codegraph.symbol_graph import SymbolGraph  # noqa: PLC0415

    return CodeGraph(SymbolGraph(snapshot.graph))


def _with_vectors_of(model: DenseModel, stored: Snapshot) -> Snapshot:
    """Return a generation with vectors of the configured model.

    Whoever has updated the package has chosen no other model, and the old version of the embedded one is gone. The new
    one's vectors are made of what is stored, in memory, so a search is as good as after `index`, but takes longer to start.

    Raises:
        IndexModelError: The index was made with a model that is not another version of the configured one.
    """
    recorded, configured = stored.pointer.embedding, model.info
    if recorded == configured or not recorded.provider == configured.provider == "embedded":
        check_embedding(recorded, model)
        return stored
    from coderag.ingestion.reembedding import ReembeddedSnapshot  # noqa: PLC0415  # only after an update of the package

    _logger.warning(
        "The index has vectors of %s, and CodeRAG has %s now: they are made anew in memory. "
        "`coderag index` stores them, so that searching starts faster.",
        recorded.name,
        configured.name,
    )
    return ReembeddedSnapshot(stored, model)
