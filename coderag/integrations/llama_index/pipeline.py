"""LlamaIndex pipeline from files to embedded chunks, for users who run or extend it.

``CodeNodeParser → ChunkSummarizer → (yours) → ChunkEmbedder``. Without user transformations the indexer does not run it:
`coderag.ingestion.workers` does the same steps with the same functions on columns, in worker processes, because an object
per chunk costs more than embedding. Both produce the same chunks; a test compares them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import pyarrow.compute as pc
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import BaseNode, Document, TransformComponent

from coderag.config.sections import IngestionSettings
from coderag.errors import ConfigurationError
from coderag.ingestion.embedded_chunks import EmbeddedChunks, LazyTexts, embed_columns
from coderag.ingestion.embedding_text import build_embedding_text
from coderag.ingestion.parsing.parsed_file import ParsedFile
from coderag.ingestion.summaries.overviews import SentenceLookup
from coderag.ingestion.workers.jobs import JobResult
from coderag.ingestion.workers.term_counter import TermCounter
from coderag.integrations.llama_index.node_parser import CodeNodeParser
from coderag.integrations.llama_index.summarizer import ChunkSummarizer
from coderag.models.dense import DenseModel
from coderag.stores.arrow import build_node_table


class ChunkEmbedder(TransformComponent):
    """Counts the terms of chunks and embeds the chunks, from the counts or by a provider's model.

    `batch` keeps counts and vectors as matrices, for the store. ``node.embedding`` is set too, so that any LlamaIndex
    component may follow.
    """

    _model: DenseModel = PrivateAttr()
    _counter: TermCounter = PrivateAttr()
    _batch: EmbeddedChunks | None = PrivateAttr()

    def __init__(self, model: DenseModel, counter: TermCounter) -> None:
        super().__init__()
        self._model = model
        self._counter = counter
        self._batch = None

    @property
    def batch(self) -> EmbeddedChunks:
        """Result of the last call."""
        assert self._batch is not None, "no batch was embedded yet"
        return self._batch

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:  # noqa: ANN401  # LlamaIndex's
        """Return the same nodes with their embeddings."""
        del kwargs
        counts = self._counter.count(nodes)  # type: ignore[arg-type]  # a TextNode has a text
        path_counts = self._counter.count_paths(list(dict.fromkeys(node.metadata["path"] for node in nodes)))
        texts = LazyTexts(lambda: [self._build_text(node) for node in nodes], len(nodes))
        columns = build_node_table(nodes)
        self._batch = embed_columns(columns, counts, path_counts, self._counter.terms, texts, self._model)
        for node, vector in zip(nodes, self._batch.vectors.chunks, strict=True):
            # llama-index-core 0.14 validates on assignment, component by component: 64 µs a vector instead of 0.1.
            node.__dict__["embedding"] = vector
        return nodes

    def _build_text(self, node: BaseNode) -> str:
        return build_embedding_text(node.metadata, node.get_content(), self._model.mask)  # type: ignore[arg-type]  # a ChunkMetadata


class ChunkPipeline:
    """Pipeline from files to embedded chunks.

    Args:
        settings: Chunking, and user transformations.
        model: The dense model.
        terms: Vocabulary of the index to update; empty for a new index.
        repository: Part of every chunk's id.
        sentences: Looks up cached summaries, which take precedence over derived ones.

    Attributes:
        pipeline: The LlamaIndex `IngestionPipeline`, to inspect or to run directly.
    """

    def __init__(
        self,
        settings: IngestionSettings,
        model: DenseModel,
        terms: Sequence[str] = (),
        repository: str = "",
        sentences: SentenceLookup | None = None,
    ) -> None:
        self._parser = CodeNodeParser(**settings.chunk.model_dump(), repository=repository)
        self._embedder = ChunkEmbedder(model, TermCounter(terms))
        self.pipeline = IngestionPipeline(
            transformations=[
                self._parser,
                ChunkSummarizer(sentences=sentences),
                *(_load_transformation(name) for name in settings.transformations),
                self._embedder,
            ],
            disable_cache=True,  # its key is the whole batch: one changed file would invalidate all others
        )

    @property
    def notes(self) -> Mapping[str, str]:
        """Problems of files in the last batch, such as a syntax error, by path."""
        return dict(self._parser.notes)

    def run(self, documents: Sequence[Document], parsed: Mapping[str, ParsedFile] | None = None) -> EmbeddedChunks:
        """Run the pipeline on some files and return their embedded chunks.

        Args:
            documents: The files, see `CodeNodeParser`.
            parsed: Files that a worker has already parsed, by path.
        """
        with self._parser.preload(parsed or {}):
            self.pipeline.run(documents=list(documents))
        return self._embedder.batch

    def embed_job(self, result: JobResult) -> EmbeddedChunks:
        """Return the chunks of a job that has parsed files, embedded; its records then count what the pipeline left."""
        roles = {record.path: record.role for record in result.records}
        documents = [
            Document(
                text=text,
                metadata={"path": parsed.path, "language": parsed.language, "role": roles[parsed.path]},
                id_=parsed.path,
            )
            for parsed, text in result.parsed
        ]
        chunks = self.run(documents, {parsed.path: parsed for parsed, _ in result.parsed})
        n_chunks: Counter[str] = Counter()
        n_symbols: Counter[str] = Counter()
        lengths = pc.list_value_length(chunks.columns["symbols"]).to_pylist()
        for path, n in zip(chunks.columns["path"].to_pylist(), lengths, strict=True):
            n_chunks[path] += 1
            n_symbols[path] += n
        result.records = [
            replace(record, chunks=n_chunks[record.path], symbols=n_symbols[record.path])
            if record.outcome == "indexed"
            else record
            for record in result.records
        ]
        return chunks


def _load_transformation(name: str) -> TransformComponent:
    """Load the component that settings name as ``package.module:Class``. Only such a class is ever called."""
    module, _, attribute = name.partition(":")
    setting = f"ingestion.transformations: {name!r}"
    try:
        transformation_class = getattr(import_module(module), attribute)
        if not (isinstance(transformation_class, type) and issubclass(transformation_class, TransformComponent)):
            raise ConfigurationError(f"{setting} is not a LlamaIndex TransformComponent")
        return transformation_class()
    except ConfigurationError:
        raise
    except Exception as error:  # user code may raise anything
        raise ConfigurationError(f"{setting} cannot be loaded: {error}") from error
