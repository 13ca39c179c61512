"""Results of workers through the LlamaIndex pipeline, where users put transformations of their own into it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from llama_index.core.schema import Document

from coderag.ingestion.embedded_chunks import EmbeddedChunks
from coderag.ingestion.pipeline import ChunkPipeline
from coderag.ingestion.workers.jobs import JobResult
from coderag.models.dense import DenseModel
from coderag.settings import IngestionSettings


class ExtendedPipeline:
    """Embeds results that have parsed files.

    Args:
        settings: How files are cut, and the transformations.
        model: The dense model.
        terms: Vocabulary of the index that is updated; empty for a new one.
        repository: Part of every chunk's id.
    """

    def __init__(self, settings: IngestionSettings, model: DenseModel, terms: Sequence[str], repository: str) -> None:
        self._pipeline = ChunkPipeline(settings, model, terms, repository)

    def embed(self, result: JobResult) -> EmbeddedChunks:
        """Return the chunks of a job, embedded; what the transformations changed shows in the result's records too."""
        records = {record.path: record for record in result.records}
        documents = [
            Document(
                text=text,
                metadata={"path": parsed.path, "language": parsed.language, "role": records[parsed.path].role},
                id_=parsed.path,
            )
            for parsed, text in result.parsed
        ]
        chunks = self._pipeline.run(documents, {parsed.path: parsed for parsed, _ in result.parsed})
        n_chunks = Counter(chunks.columns["path"].to_pylist())
        n_symbols: Counter[str] = Counter()
        for path, symbols in zip(
            chunks.columns["path"].to_pylist(), chunks.columns["symbols"].to_pylist(), strict=True
        ):
            n_symbols[path] += len(symbols)
        result.records = [
            replace(record, chunks=n_chunks[record.path], symbols=n_symbols[record.path])
            if record.outcome == "indexed"
            else record
            for record in result.records
        ]
        return chunks
