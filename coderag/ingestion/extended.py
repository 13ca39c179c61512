"""Results of workers through the LlamaIndex pipeline, where users put transformations of their own into it."""

from collections import Counter
from dataclasses import replace

import pyarrow.compute as pc
from llama_index.core.schema import Document

from coderag.ingestion.embedded_chunks import EmbeddedChunks
from coderag.ingestion.pipeline import ChunkPipeline
from coderag.ingestion.workers.jobs import JobResult


def embed_parsed(result: JobResult, pipeline: ChunkPipeline) -> EmbeddedChunks:
    """Return the chunks of a job that has parsed files, embedded; its records then tell what the pipeline left of them."""
    roles = {record.path: record.role for record in result.records}
    documents = [
        Document(
            text=text,
            metadata={"path": parsed.path, "language": parsed.language, "role": roles[parsed.path]},
            id_=parsed.path,
        )
        for parsed, text in result.parsed
    ]
    chunks = pipeline.run(documents, {parsed.path: parsed for parsed, _ in result.parsed})
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
