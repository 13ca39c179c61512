"""Embedding models in this process, from a folder. Nothing is downloaded, and no code of a folder is run."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from coderag.config.sections import EmbeddingSettings
from coderag.errors import ModelError
from coderag.models.batched_embedding import BatchedEmbedding, ModelIdentity, RequestLimits, Vectors, to_valid_unicode
from coderag.models.model_folders import read_folder_prefixes, resolve_model_folder
from coderag.models.prefixes import Prefixes, resolve_prefixes

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding

MAX_TEXTS = 2_048  # per call of LlamaIndex

_TRANSFORMER_BATCH, _STATIC_BATCH = 32, 1_024
_BATCHES_PER_CALL = 8  # sentence-transformers sorts the texts of a call by length


class LocalEmbedding(BatchedEmbedding):
    """An embedding model in this process, loaded on first use.

    Args:
        load: Loads the LlamaIndex model.
        folder: Folder of the model.
        identity: Identity of the model in the index.
        limits: Maximum number of texts per call.
        prefixes: Prefixes that the loaded model adds itself.
    """

    has_vocabulary = True

    def __init__(
        self,
        load: Callable[[], "BaseEmbedding"],
        folder: Path,
        identity: ModelIdentity,
        limits: RequestLimits,
        *,
        prefixes: Prefixes,
    ) -> None:
        super().__init__(identity, limits)
        self._load = load
        self._folder = folder
        self._prefixes = prefixes

    def prepare_text(self, text: str) -> str:
        """Return a text as the model sees it; the model truncates it with its own tokenizer."""
        return self._prefixes.text + to_valid_unicode(text)

    @cached_property
    def _model(self) -> "BaseEmbedding":
        try:
            return self._load()
        except Exception as error:  # the libraries raise arbitrary exceptions
            message = f"{self._folder} cannot be loaded as an embedding model: {type(error).__name__}: {error}"
            hint = "Check that the folder is complete and that the installed package is recent enough for it."
            raise ModelError(message, hint=hint) from error

    def _embed_batch(self, texts: Sequence[str], stopped: Event) -> Vectors:
        del stopped
        return self._run_model(lambda: self._model.get_text_embedding_batch([to_valid_unicode(text) for text in texts]))

    def _embed_query(self, query: str) -> Sequence[float]:
        return self._run_model(lambda: [self._model.get_query_embedding(to_valid_unicode(query))])[0]

    def _run_model(self, compute: Callable[[], Vectors]) -> Vectors:
        try:
            return compute()
        except (RuntimeError, ValueError, TypeError, LookupError) as error:
            message = f"the model {self.name} failed: {type(error).__name__}: {error}"
            raise ModelError(
                message, hint="Lower embedding.batch_size or embedding.max_tokens if memory ran out."
            ) from error

    def _describe_source(self) -> str:
        return str(self._folder)


def build_sentence_transformers_model(settings: EmbeddingSettings, identity: ModelIdentity) -> LocalEmbedding:
    """Build the model of a sentence-transformers folder, not loaded yet.

    Raises:
        ConfigurationError: The setting does not name a folder of such a model.
    """
    folder = resolve_model_folder("sentence-transformers", settings.model)
    prefixes = resolve_prefixes(settings, read_folder_prefixes(folder))
    batch_size = settings.batch_size or _TRANSFORMER_BATCH

    def load() -> "BaseEmbedding":
        from coderag.models.embeddings.sentence_transformers import SentenceTransformersEmbedding  # noqa: PLC0415

        return SentenceTransformersEmbedding(
            folder, device=settings.device, inner_batch=batch_size, **_build_options(settings, folder, prefixes)
        )

    limits = RequestLimits(min(_BATCHES_PER_CALL * batch_size, MAX_TEXTS))
    return LocalEmbedding(load, folder, identity, limits, prefixes=prefixes)


def build_model2vec_model(settings: EmbeddingSettings, identity: ModelIdentity) -> LocalEmbedding:
    """Build the model of a Model2Vec folder, not loaded yet.

    Raises:
        ConfigurationError: The setting does not name a folder of such a model.
    """
    folder = resolve_model_folder("model2vec", settings.model)
    prefixes = resolve_prefixes(settings, Prefixes())

    def load() -> "BaseEmbedding":
        from coderag.models.embeddings.model2vec import Model2VecEmbedding  # noqa: PLC0415  # an extra

        return Model2VecEmbedding(folder, **_build_options(settings, folder, prefixes))

    return LocalEmbedding(
        load, folder, identity, RequestLimits(settings.batch_size or _STATIC_BATCH), prefixes=prefixes
    )


def _build_options(settings: EmbeddingSettings, folder: Path, prefixes: Prefixes) -> dict[str, Any]:
    """Build the arguments that both model classes take."""
    return {
        "prompts": {"query": prefixes.query, "document": prefixes.text},
        "dimension": settings.dimension,
        "max_tokens": settings.max_tokens,
        "model_name": folder.name,
        "embed_batch_size": MAX_TEXTS,
    }
