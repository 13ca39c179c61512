"""The open index: each part of the current generation is opened when first asked for, and again only after a commit."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from coderag.collector import collector_paused
from coderag.errors import IndexNotFoundError
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

_logger = logging.getLogger(__name__)

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class _Opened(Generic[Part]):
    """A part of the index, and which generation it is of."""

    generation: tuple[int, str]
    part: Part


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

    def context(self, search: SearchSettings) -> QueryContext:
        """Return what the query graph works with, to search with some settings.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
            IndexModelError: The index was made with another embedding model than the configured one.
        """
        with self._lock:
            self._context = self._current(self._context, self._open_context)
            return replace(self._context.part, settings=search)

    def graph(self) -> "CodeGraph":
        """Return the code graph. Raises `IndexNotFoundError`."""
        with self._lock:
            self._graph = self._current(self._graph, _open_graph)
            return self._graph.part

    def text_search(self) -> "TextSearch":
        """Return what searches the indexed files as they are on disk. Raises `IndexNotFoundError`."""
        with self._lock:
            self._texts = self._current(self._texts, self._open_texts)
            return self._texts.part

    @cached_property
    def path_mask(self) -> PathMask | None:
        """What paths are masked with before they are sent to a server."""
        return path_mask(self._settings.privacy, self._store.directory)

    def _current(self, opened: _Opened[Part] | None, make: Callable[[Snapshot], Part]) -> _Opened[Part]:
        """Return a part of the current generation, the one that is open unless there was a commit since."""
        pointer = self._store.pointer()
        if pointer is None:
            raise IndexNotFoundError(f"{self._root} is not indexed yet", hint="Run `coderag index` in it first.")
        if opened is not None and opened.generation == _generation(pointer):
            return opened
        with collector_paused():
            return _part_of(self._store.open(), opened, make)

    def _open_context(self, stored: Snapshot) -> QueryContext:
        from coderag.codegraph.neighbours import Neighbours  # noqa: PLC0415  # only queries need it
        from coderag.stores.corpus import Corpus  # noqa: PLC0415

        model = self._dense_model()
        corpus = Corpus(_with_vectors_of(model, stored))
        self._graph = _part_of(stored, self._graph, _open_graph)
        graph = self._graph.part
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


def _generation(pointer: Pointer) -> tuple[int, str]:
    """Return what tells a generation from all others: a new index counts from 1 again."""
    return pointer.generation, pointer.created


def _part_of(snapshot: Snapshot, opened: _Opened[Part] | None, make: Callable[[Snapshot], Part]) -> _Opened[Part]:
    """Return a part of a generation, the one that is open already if it is its."""
    generation = _generation(snapshot.pointer)
    if opened is not None and opened.generation == generation:
        return opened
    return _Opened(generation, make(snapshot))


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
