"""Collaborators and limits of one query, given to the query graph as its LangGraph context."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.neighbours import Neighbours
from coderag.config.sections import SearchSettings
from coderag.models.protocols import LanguageModel, QueryEmbedder, Reranker
from coderag.prompting import PACKAGED, Prompts
from coderag.stores.corpus import Corpus
from coderag.text.path_masking import MaskedPaths


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    """The collaborators and limits of one query, given to the graph by its caller.

    Attributes:
        corpus: The open index, a `coderag.stores.corpus.Corpus`.
        graph: Its relations, a `coderag.codegraph.graph.CodeGraph`.
        neighbours: Steps between its chunks, a `coderag.codegraph.neighbours.Neighbours`.
        root: Folder of the repository, to check citations against the bytes on disk.
        project: Name of the repository.
        language_model: Writes answers; None answers from the evidence alone.
        prompts: What it is asked, and what other models are.
        masked_paths: How models on servers see paths; None shows them as they are.
    """

    corpus: Corpus
    graph: CodeGraph
    neighbours: Neighbours
    root: str
    embedder: QueryEmbedder
    settings: SearchSettings
    project: str = ""
    language_model: LanguageModel | None = None
    masked_paths: MaskedPaths | None = None
    reranker: Reranker | None = None
    prompts: Prompts = PACKAGED


class QueryRuntime(Protocol):
    """What a node of the query graph is given beside the state: LangGraph's ``Runtime``, or as much of it."""

    @property
    def context(self) -> QueryContext:
        """The collaborators and limits of the query."""
        ...


class StreamingRuntime(QueryRuntime, Protocol):
    """What a node is given that streams."""

    @property
    def stream_writer(self) -> Callable[[Any], None]:
        """Writes to the stream of the graph."""
        ...
