"""Builders of the query graph's context, for a generation of the index or an overlay over it."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from coderag.config.settings import Settings
from coderag.models.dense import DenseModel, MaskedQueries, ProviderDense, check_embedding
from coderag.models.protocols import LanguageModel, QueryEmbedder, Reranker
from coderag.models.redaction.redacting_models import RedactingReranker
from coderag.models.rerankers.providers import make_reranker
from coderag.prompting import Prompts
from coderag.retrieval.query_context import QueryContext
from coderag.schema.chunks import FileRecord
from coderag.stores.index_locations import find_prompts_folder
from coderag.stores.snapshot import Snapshot
from coderag.text.path_masking import MaskedPaths, PathMask

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph
    from coderag.stores.overlay import OverlaySnapshot

_logger = logging.getLogger(__name__)


def build_query_context(
    root: Path,
    settings: Settings,
    stored: Snapshot,
    graph: "CodeGraph",
    model: DenseModel,
    language_model: LanguageModel | None,
    path_mask: Callable[[], PathMask | None],
) -> QueryContext:
    """Build the query context of a generation.

    Args:
        root: Folder of the repository.
        settings: Settings of the repository.
        stored: The generation.
        graph: Code graph of the generation.
        model: The configured embedding model.
        language_model: Model that writes answers, if any.
        path_mask: Returns the mask of paths; called only if something is sent to a server.

    Raises:
        IndexModelError: The index was built with another embedding model.
    """
    from coderag.codegraph.chunk_neighbours import ChunkNeighbours  # noqa: PLC0415  # only queries need it
    from coderag.stores.corpus import Corpus  # noqa: PLC0415

    corpus = Corpus(_match_embedding_model(model, stored))
    prompts = Prompts(find_prompts_folder(root, settings))
    reranker = _build_reranker(settings, prompts)
    uses_remote_model = language_model or isinstance(model, ProviderDense) or (reranker and reranker.remote)
    mask = path_mask() if uses_remote_model else None
    context = QueryContext(
        corpus=corpus,
        graph=graph,
        neighbours=ChunkNeighbours(corpus, graph),
        root=str(root),
        project=settings.project or root.name,
        embedder=model,
        settings=settings.search,
        language_model=language_model,
        reranker=reranker,
        prompts=prompts,
    )
    return context if mask is None else _mask_context(context, model, mask, stored.read_files())


def build_overlay_context(base: QueryContext, snapshot: "OverlaySnapshot", graph: "CodeGraph") -> QueryContext:
    """Build the query context of an overlay.

    Args:
        base: Context of the generation.
        snapshot: The overlay.
        graph: Code graph of the overlay.
    """
    from coderag.codegraph.chunk_neighbours import ChunkNeighbours  # noqa: PLC0415  # only queries need it
    from coderag.stores.overlay_corpus import OverlayCorpus  # noqa: PLC0415

    corpus = OverlayCorpus(snapshot, base.corpus)
    context = replace(base, corpus=corpus, graph=graph, neighbours=ChunkNeighbours(corpus, graph))
    if base.masked_paths is None:
        return context
    return _mask_context(context, base.embedder, base.masked_paths.mask, snapshot.read_files())


def _mask_context(
    context: QueryContext, embedder: QueryEmbedder, mask: PathMask, files: Iterable[FileRecord]
) -> QueryContext:
    """Mask these files' paths for models on servers."""
    paths = MaskedPaths(mask, (record.path for record in files))
    if isinstance(embedder, MaskedQueries):
        embedder = embedder.replace_paths(paths)
    elif isinstance(embedder, ProviderDense):
        embedder = MaskedQueries(embedder, paths)
    return replace(context, masked_paths=paths, embedder=embedder)


def _build_reranker(settings: Settings, prompts: Prompts) -> Reranker | None:
    reranker = make_reranker(settings.reranker, prompts)
    if reranker and reranker.remote and settings.privacy.redact_secrets:
        return RedactingReranker(reranker)
    return reranker


def _match_embedding_model(model: DenseModel, stored: Snapshot) -> Snapshot:
    """Return the generation with vectors of the configured model.

    After an update of the package, the old version of the embedded model is gone. The new version's vectors are then
    computed in memory from stored data: search quality is the same, but opening takes longer.

    Raises:
        IndexModelError: The index's model is not another version of the configured one.
    """
    recorded, configured = stored.pointer.embedding, model.info
    if recorded == configured or not recorded.provider == configured.provider == "embedded":
        check_embedding(recorded, model)
        return stored
    from coderag.ingestion.reembedding import ReembeddedSnapshot  # noqa: PLC0415  # only after an update of the package

    _logger.warning(
        "The index has vectors of %s, but CodeRAG now uses %s: computing them in memory. "
        "Run `coderag index` to store them and open the index faster.",
        recorded.name,
        configured.name,
    )
    return ReembeddedSnapshot(stored, model)
