"""Queries of the facade that only the web interface needs: options, pictures of the graph, similarities to a query."""

from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from coderag.config.settings import Settings
from coderag.engine.open_index import OpenIndex
from coderag.engine.query_input import build_query_input
from coderag.stores.index_store import IndexStore

if TYPE_CHECKING:
    from coderag.engine.graph_views import GraphViews
    from coderag.engine.search_options import SearchOptions
    from coderag.stores.overlay import OverlaySnapshot
    from coderag.stores.snapshot import Snapshot


class ViewQueries:
    """Base class of the facade: options of searches, pictures of the code graph and of the embeddings."""

    settings: Settings
    _open_index: OpenIndex
    _store: IndexStore

    def open_graph_views(self) -> "GraphViews":
        """Open the pictures of the code graph of the current files; their layouts are stored beside the generation.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
        """
        from coderag.engine.graph_views import GraphViews  # noqa: PLC0415  # only the web interface needs it
        from coderag.stores.view_files import ViewFiles  # noqa: PLC0415

        graph, snapshot = self._open_index.open_linked_index()
        return GraphViews(graph, ViewFiles(self._store.directory, snapshot.pointer))

    def list_options(self) -> "SearchOptions":
        """List what searches can be filtered and ranked by.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
            IndexModelError: The index was built with another embedding model.
        """
        from coderag.engine.search_options import list_search_options  # noqa: PLC0415  # only this method needs it

        context = self._open_index.open_context(self.settings.search)
        has_reranker = context.reranker is not None
        return list_search_options(context.corpus, self.settings.search, has_reranker=has_reranker)

    def open_generation(self) -> "Snapshot":
        """Open the committed generation, without edits since.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
        """
        return self._open_index.open_generation()

    def compute_similarities(self, query: str) -> "tuple[Snapshot, NDArray[np.float32]]":
        """Compute the cosine of each chunk of the committed generation with a query.

        Args:
            query: A name, a question or a snippet of code.

        Raises:
            InvalidQueryError: The query is empty or too long. Otherwise as `search`.
        """
        from coderag.stores.corpus import compute_dot_products  # noqa: PLC0415  # 0.3 s
        from coderag.text.tokenizer import tokenize_query  # noqa: PLC0415  # only this method needs it

        text = build_query_input(query, "search", filters=None)["query"]
        context = self._open_index.open_context(self.settings.search)
        vector = np.asarray(context.embedder.embed_query(text, tokenize_query(text)), np.float32)
        opened = cast("Snapshot | OverlaySnapshot", context.corpus.snapshot)
        base = cast("Snapshot", getattr(opened, "base", opened))
        return base, compute_dot_products(base.read_vectors(), vector)
