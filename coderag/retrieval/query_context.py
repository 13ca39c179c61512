"""Collaborators and limits of one query, given to the query graph as its LangGraph context."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from coderag.codegraph.chunk_neighbours import ChunkNeighbours
from coderag.codegraph.graph import CodeGraph
from coderag.config.sections import SearchSettings
from coderag.models.protocols import LanguageModel, QueryEmbedder, Reranker
from coderag.prompting import PACKAGED, Prompts
from coderag.retrieval.items.item_finder import ItemFinder
from coderag.stores.corpus import Corpus
from coderag.text.path_masking import MaskedPaths

if TYPE_CHECKING:
    from coderag.lineage.code_history import CodeHistory


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    """Collaborators and limits of one query, given to the graph by its caller.

    Attributes:
        corpus: Corpus of the open index.
        graph: Code graph of the index.
        neighbours: Graph steps between chunks.
        root: Folder of the repository, to check citations against the bytes on disk.
        project: Name of the repository.
        language_model: Model that writes answers; None answers from the evidence alone.
        open_history: Opens the history of the code; None where none is to be read.
        prompts: Prompts of all models.
        masked_paths: Masked paths for models on servers; None does not mask.
        items: Finder of mirrored pages and tickets, which opens them when it is first asked; None has none.
    """

    corpus: Corpus
    graph: CodeGraph
    neighbours: ChunkNeighbours
    root: str
    embedder: QueryEmbedder
    settings: SearchSettings
    project: str = ""
    language_model: LanguageModel | None = None
    masked_paths: MaskedPaths | None = None
    reranker: Reranker | None = None
    open_history: "Callable[[], CodeHistory] | None" = None
    prompts: Prompts = PACKAGED
    items: ItemFinder | None = None


class QueryRuntime(Protocol):
    """Runtime of a query node: LangGraph's ``Runtime``, or a subset of it."""

    @property
    def context(self) -> QueryContext:
        """Collaborators and limits of the query."""
        ...


class StreamingRuntime(QueryRuntime, Protocol):
    """Runtime of a node that streams."""

    @property
    def stream_writer(self) -> Callable[[Any], None]:
        """Writer to the graph's stream."""
        ...
