"""Warming of an open index: the parts that only some searches need are built before the first of them."""

from typing import Final

from coderag.retrieval.query_context import QueryContext
from coderag.system.gil import yield_gil_sooner

_UNKNOWN_NAME: Final = "qzxjqvw"


def warm_context(context: QueryContext) -> None:
    """Build the indexes of spellings and of the names of the code graph, by looking up a name that nothing has.

    With 200,000 chunks, the first searches that need them would take 1 to 3 seconds more.

    Raises:
        StoreError: The generation was deleted meanwhile.
    """
    corpus, graph = context.corpus, context.graph
    with yield_gil_sooner():
        corpus.symbols.suggest_names(_UNKNOWN_NAME)
        corpus.suggest_terms(_UNKNOWN_NAME)
        graph.permissive.callers(_UNKNOWN_NAME)
        if graph.symbols.n_nodes:
            graph.declaration_groups.find_namesakes(0)
