"""Queries of the facade that the embedding map needs: the committed generation, and similarities to a query."""

from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from coderag.config.settings import Settings
from coderag.engine.open_index import OpenIndex
from coderag.engine.query_input import build_query_input

if TYPE_CHECKING:
    from coderag.stores.overlay import OverlaySnapshot
    from coderag.stores.snapshot import Snapshot


class ProjectionQueries:
    """Base class of the facade: queries over the chunks of the committed generation, without edits since."""

    settings: Settings
    _open_index: OpenIndex

    def open_generation(self) -> "Snapshot":
        """Open the committed generation.

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
