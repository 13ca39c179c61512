"""Configuration of parsing and embedding for an indexing run and for edited files."""

import uuid
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Protocol

from coderag.config.settings import Settings
from coderag.ingestion.embedded_chunks import EmbeddedChunks, embed_result
from coderag.ingestion.pipeline_version import PIPELINE_VERSION
from coderag.ingestion.summaries.cached_sentences import CachedSentences, SummaryColumns
from coderag.ingestion.workers.jobs import JobResult, RunSettings
from coderag.ingestion.workers.vocabulary import Vocabulary
from coderag.models.dense import DenseModel


class JobPipeline(Protocol):
    """Pipeline with transformations of the user: `coderag.integrations.llama_index.pipeline.ChunkPipeline`."""

    def embed_job(self, result: JobResult) -> EmbeddedChunks:
        """Return the chunks of a job that has parsed files, embedded."""
        ...


def build_run_settings(
    root: Path, settings: Settings, *, isolated: bool, cache: Path | None, isolated_cache_key: bool | None = None
) -> RunSettings:
    """Build the settings that all jobs of a run share.

    Args:
        root: Folder of the repository.
        settings: Settings of the repository.
        isolated: Whether jobs run in worker processes, which a file may crash.
        cache: Folder of the content cache; None for none.
        isolated_cache_key: Whether to use the cache entries of worker processes. Default: `isolated`.
    """
    ingestion = settings.ingestion
    is_cache_isolated = (
        isolated if isolated_cache_key is None else isolated_cache_key
    )  # in-process parsing has a time limit and so may parse less
    return RunSettings(
        run=uuid.uuid4().hex,
        root=root,
        max_file_bytes=ingestion.max_file_bytes,
        generated=ingestion.generated,
        chunking=ingestion.chunk.model_dump(),
        repository=settings.project or root.name,
        cache_key=f"{PIPELINE_VERSION} {is_cache_isolated} {ingestion.chunk!r}",
        cache=cache,
        as_columns=not ingestion.transformations,
        isolated=isolated,
    )


def build_chunk_embedder(
    settings: Settings, model: DenseModel, vocabulary: Vocabulary, repository: str, sentences: CachedSentences
) -> Callable[[JobResult], EmbeddedChunks]:
    """Build the function that embeds job results.

    Args:
        settings: Settings of the repository.
        model: The dense model.
        vocabulary: Terms of the index; extended by the terms of the results.
        repository: Part of every chunk's id.
        sentences: Cached summaries by a language model.
    """
    if settings.ingestion.transformations:
        # By name, as graphs are: the pipeline is an adapter of LlamaIndex (two seconds to import), above this layer.
        pipelines = import_module("coderag.integrations.llama_index.pipeline")
        pipeline: JobPipeline = pipelines.ChunkPipeline(
            settings.ingestion, model, vocabulary.terms, repository, sentences
        )
        return pipeline.embed_job
    summaries = SummaryColumns(sentences, vocabulary) if sentences.is_available else None
    return partial(embed_result, vocabulary=vocabulary, model=model, summaries=summaries)
