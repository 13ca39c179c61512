"""The LlamaIndex pipeline that turns files into embedded chunks, and what it hands to the store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import BaseNode, Document, MetadataMode, TextNode, TransformComponent

from coderag.errors import ConfigurationError
from coderag.ingestion.node_parser import CodeNodeParser
from coderag.ingestion.summaries import ChunkSummarizer
from coderag.ingestion.term_counter import TermCounter
from coderag.models.dense import Batch, BatchVectors, DenseModel
from coderag.settings import IngestionSettings
from coderag.stores.field_counts import FieldCounts

PIPELINE_VERSION = 1
"""Raised when the same file would give other chunks or vectors; indexes of another version are built anew."""


class ChunkEmbedder(TransformComponent):
    """Count the terms of chunks and embed the chunks, from the counts or by a provider's model.

    `batch` keeps counts and vectors as matrices, for the store: 256 Python floats a chunk cost more than making them.
    ``node.embedding`` is set too, so that any LlamaIndex component may follow.
    """

    _model: DenseModel = PrivateAttr()
    _counter: TermCounter = PrivateAttr()
    _batch: "PipelineBatch | None" = PrivateAttr()

    def __init__(self, model: DenseModel, counter: TermCounter) -> None:
        super().__init__()
        self._model = model
        self._counter = counter
        self._batch = None

    @property
    def batch(self) -> "PipelineBatch":
        """What the last call made."""
        assert self._batch is not None, "no batch was embedded yet"
        return self._batch

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:  # noqa: ANN401  # LlamaIndex's
        """Return the same nodes with their embeddings."""
        del kwargs
        numbers: dict[str, int] = {}
        file_of = np.fromiter((numbers.setdefault(node.metadata["path"], len(numbers)) for node in nodes), np.intp)
        paths = list(numbers)
        counts = self._counter.count(nodes)
        terms = self._counter.terms
        vectors = self._model.embed_batch(
            Batch(
                texts=_Texts(nodes),
                counts=counts,
                terms=terms,
                paths=paths,
                file_of=file_of,
                path_counts=self._counter.path_counts(paths),
            )
        )
        self._batch = PipelineBatch(nodes, counts, terms, paths, vectors)  # type: ignore[arg-type]
        for node, vector in zip(nodes, vectors.chunks, strict=True):
            # llama-index-core 0.14 validates on assignment, component by component: 64 µs a vector instead of 0.1.
            node.__dict__["embedding"] = vector
        return nodes


class _Texts(Sequence[str]):
    """The texts that a provider's model embeds, made only when one is asked for: the embedded model needs none."""

    def __init__(self, nodes: Sequence[BaseNode]) -> None:
        self._nodes = nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401  # an index or a slice
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        return self._nodes[index].get_content(MetadataMode.EMBED)


@dataclass(frozen=True, slots=True)
class PipelineBatch:
    """Chunks of some whole files, ready for the store."""

    nodes: Sequence[TextNode]
    counts: FieldCounts
    terms: Sequence[str]
    paths: Sequence[str]
    vectors: BatchVectors
    notes: Mapping[str, str] = field(default_factory=dict)


class ChunkPipeline:
    """Files in, stored chunks out: ``CodeNodeParser → ChunkSummarizer → (yours) → ChunkEmbedder``.

    Args:
        settings: Sizes of chunks, and further transformations.
        model: The dense model.
        terms: Vocabulary of the index that is updated; empty for a new one.
        repository: Part of every chunk's id.

    Attributes:
        pipeline: The LlamaIndex `IngestionPipeline`, for those who want to look at it or run it themselves.
    """

    def __init__(
        self, settings: IngestionSettings, model: DenseModel, terms: Sequence[str] = (), repository: str = ""
    ) -> None:
        self._parser = CodeNodeParser(
            max_tokens=settings.chunk.max_tokens, min_tokens=settings.chunk.min_tokens, repository=repository
        )
        self._embedder = ChunkEmbedder(model, TermCounter(terms))
        self.pipeline = IngestionPipeline(
            transformations=[
                self._parser,
                ChunkSummarizer(),
                *(_load_transformation(name) for name in settings.transformations),
                self._embedder,
            ],
            disable_cache=True,  # its key is the whole batch: one changed file would miss for every other
        )

    def run(self, documents: Sequence[Document]) -> PipelineBatch:
        """Return the chunks of some files with their counts and vectors."""
        self.pipeline.run(documents=list(documents))
        return replace(self._embedder.batch, notes=dict(self._parser.notes))


def _load_transformation(name: str) -> TransformComponent:
    """Return the component that settings name as ``package.module:Class``; nothing but such a class is ever called."""
    module, _, attribute = name.partition(":")
    setting = f"ingestion.transformations: {name!r}"
    try:
        kind = getattr(import_module(module), attribute)
        if not (isinstance(kind, type) and issubclass(kind, TransformComponent)):
            raise ConfigurationError(f"{setting} is not a LlamaIndex TransformComponent")
        return kind()
    except ConfigurationError:
        raise
    except Exception as error:  # whatever their module or constructor raises
        raise ConfigurationError(f"{setting} cannot be loaded: {error}") from error
