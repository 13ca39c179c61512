"""Queries of the facade that only the web interface needs: options, pictures of the graph, similarities to a query."""

from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from coderag.config.settings import Settings
from coderag.engine.open_index import OpenIndex
from coderag.engine.query_input import build_query_input
from coderag.schema.graph_view import ALL_EDGES, DEFAULT_VIEW_EDGES, DEFAULT_VIEW_NODES, ViewFilter
from coderag.stores.index_store import IndexStore

if TYPE_CHECKING:
    from coderag.engine.graph_views import GraphViews
    from coderag.engine.search_options import SearchOptions
    from coderag.schema.graph_view import GraphView
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

    def build_graph_overview(
        self,
        opened: Collection[str] | None = None,
        view_filter: ViewFilter = ALL_EDGES,
        *,
        max_nodes: int = DEFAULT_VIEW_NODES,
        max_edges: int = DEFAULT_VIEW_EDGES,
    ) -> "GraphView":
        """Build an overview of the code graph, as `GraphViews.build_overview`.

        One with automatically opened folders is stored with the generation. While no file is edited, it is read without
        the graph.

        Args:
            opened: Keys of the opened nodes; None opens the largest folders.
            view_filter: Filter of edges and nodes.
            max_nodes: Maximum number of nodes.
            max_edges: Maximum number of edges.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
        """
        from coderag.engine.stored_overviews import OverviewRequest, StoredOverviews  # noqa: PLC0415  # only this method needs it
        from coderag.stores.view_files import ViewFiles  # noqa: PLC0415

        request = OverviewRequest(view_filter, max_nodes, max_edges)
        unedited = self._open_index.open_unedited_generation() if opened is None else None
        stored = None if unedited is None else StoredOverviews(ViewFiles(unedited.directory, unedited.pointer))
        if stored is not None and (view := stored.find(request)) is not None:
            self._open_index.prefetch_graph()
            return view
        view = self.open_graph_views().build_overview(opened, view_filter, max_nodes=max_nodes, max_edges=max_edges)
        still_unedited = self._open_index.open_unedited_generation() if stored is not None else None
        if stored is not None and still_unedited is unedited:
            with suppress(OSError):  # a full or read-only disk costs only the time of drawing it again
                stored.add(request, view)
        return view

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
