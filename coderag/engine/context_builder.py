"""Make what the query graph works with: from a generation of the index, or from one with files as they are now."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from coderag.config.settings import Settings
from coderag.models.dense import DenseModel, MaskedQueries, ProviderDense, check_embedding
from coderag.models.protocols import LanguageModel, QueryEmbedder, Reranker
from coderag.models.redacting import RedactingReranker
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
    """Return what the query graph works with on a generation.

    Args:
        root: Folder of the repository.
        settings: Its settings.
        stored: The generation.
        graph: Its code graph.
        model: The configured embedding model.
        language_model: Writes answers, if there is one.
        path_mask: Returns what paths are masked with; called only if anything is sent to a server.

    Raises:
        IndexModelError: The index was made with another embedding model than the configured one.
    """
    from coderag.codegraph.neighbours import Neighbours  # noqa: PLC0415  # only queries need it
    from coderag.stores.corpus import Corpus  # noqa: PLC0415

    corpus = Corpus(_match_embedding_model(model, stored))
    prompts = Prompts(find_prompts_folder(root, settings))
    reranker = _build_reranker(settings, prompts)
    uses_remote_model = language_model or isinstance(model, ProviderDense) or (reranker and reranker.remote)
    mask = path_mask() if uses_remote_model else None
    context = QueryContext(
        corpus=corpus,
        graph=graph,
        neighbours=Neighbours(corpus, graph),
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
    """Return what the query graph works with on a generation with files as they are now.

    Args:
        below: That of the generation itself.
        snapshot: The generation with the files.
        graph: Its code graph.
    """
    from coderag.codegraph.neighbours import Neighbours  # noqa: PLC0415  # only queries need it
    from coderag.stores.overlay_corpus import OverlayCorpus  # noqa: PLC0415

    corpus = OverlayCorpus(snapshot, base.corpus)
    context = replace(base, corpus=corpus, graph=graph, neighbours=Neighbours(corpus, graph))
    if base.masked_paths is None:
        return context
    return _mask_context(context, base.embedder, base.masked_paths.mask, snapshot.read_files())


def _mask_context(
    context: QueryContext, embedder: QueryEmbedder, mask: PathMask, files: Iterable[FileRecord]
) -> QueryContext:
    """Return a context in which models on servers see the paths of these files masked."""
    paths = MaskedPaths(mask, (record.path for record in files))
    if isinstance(embedder, MaskedQueries):
        embedder = embedder.with_paths(paths)
    elif isinstance(embedder, ProviderDense):
        embedder = MaskedQueries(embedder, paths)
    return replace(context, masked_paths=paths, embedder=embedder)


def _build_reranker(settings: Settings, prompts: Prompts) -> Reranker | None:
    reranker = make_reranker(settings.reranker, prompts)
    if reranker and reranker.remote and settings.privacy.redact_secrets:
        return RedactingReranker(reranker)
    return reranker


def _match_embedding_model(model: DenseModel, stored: Snapshot) -> Snapshot:
    """Return a generation with vectors of the configured model.

    Whoever has updated the package has chosen no other model, and the old version of the embedded one is gone. The new
    one's vectors are made of what is stored, in memory, so a search is as good as after `index`, but takes longer to start.

    Raises:
        IndexModelError: The index was made with a model that is not another version of the configured one.
    """
    recorded, configured = stored.pointer.embedding, model.info
    if recorded == configured or not recorded.provider == configured.provider == "embedded":
        check_embedding(recorded, model)
        return stored
    from coderag.ingestion.reembedding import ReembeddedSnapshot  # noqa: PLC0415  # only after an update of the package

    _logger.warning(
        "The index has vectors of %s, and CodeRAG has %s now: they are made anew in memory. "
        "`coderag index` stores them, so that searching starts faster.",
        recorded.name,
        configured.name,
    )
    return ReembeddedSnapshot(stored, model)
