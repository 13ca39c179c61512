"""Dense models by provider: embedded, on a server, or in a folder (docs/models.md).

Texts go through LlamaIndex's embedding models (`coderag.models.embeddings`). This package adds prefixes and windows,
batches and progress, retries, CodeRAG errors, and a check of each reply.
"""

import time
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from coderag.config.sections import EmbeddingSettings
from coderag.config.server_addresses import DEFAULT_ADDRESSES, is_same_server, is_this_machine
from coderag.errors import ConfigurationError
from coderag.models.batched_embedding import ModelIdentity, RequestLimits
from coderag.models.dense import DenseModel, ProviderDense
from coderag.models.embedded_dense import EmbeddedDense
from coderag.models.extras import require_extra
from coderag.models.keys import resolve_remote
from coderag.models.local_models import MAX_TEXTS, build_model2vec_model, build_sentence_transformers_model
from coderag.models.model_folders import get_model_title, hash_model_files, resolve_model_folder
from coderag.models.prefixes import find_prefixes, resolve_prefixes
from coderag.models.remote_embedding import RemoteEmbedding
from coderag.models.remote_errors import Remote
from coderag.models.text_window import MAX_TEXT_TOKENS, CountedWindow, TextWindow, TokenizerWindow
from coderag.models.word_vectors import WordVectors
from coderag.stores.pointer import EmbeddingInfo

if TYPE_CHECKING:
    import httpx
    from llama_index.core.base.embeddings.base import BaseEmbedding

OLLAMA_MODEL: Final = "nomic-embed-text"
VOYAGE_MODEL: Final = "voyage-code-3"

EXTRAS: Final = {
    "openai": "llama_index.embeddings.openai_like",
    "sentence-transformers": "sentence_transformers",
    "model2vec": "model2vec",
}
"""Providers that need an extra, with a module of each."""

_DEFAULT_MODELS = {"ollama": OLLAMA_MODEL, "voyage": VOYAGE_MODEL}
_BATCH_SIZES = {"ollama": 32, "openai": 32, "voyage": 128}
_MAX_VOYAGE_TEXTS, _MAX_VOYAGE_TOKENS = 1_000, 120_000  # per request. Source: docs.voyageai.com/docs/embeddings
_VOYAGE_WINDOW_TOKENS = 32_000  # per text; Voyage truncates longer ones itself
_MAX_OPENAI_TOKENS = 300_000  # per request. Source: platform.openai.com/docs/api-reference/embeddings/create
DEFAULT_CONCURRENCY: Final = 4
"""Concurrent requests to a server on another machine."""
PLACEHOLDER_KEY: Final = "none"  # OpenAI's client requires a key, and would read one from the environment


def make_dense_model(settings: EmbeddingSettings, *, sleep: Callable[[float], None] = time.sleep) -> DenseModel:
    """Create the dense model of the settings. No request is sent and no weights are read yet.

    Args:
        settings: The section ``embedding``.
        sleep: Waits between repeated requests, given seconds.

    Raises:
        ConfigurationError: A setting is missing or cannot be used, or the provider's extra is not installed.
        ModelAuthenticationError: The address is OpenAI's or Voyage's own, and there is no key.
        ModelError: The embedded model cannot be loaded.
    """
    if module := EXTRAS.get(settings.provider):
        require_extra(module, settings.provider, f"the provider '{settings.provider}'")
    match settings.provider:
        case "embedded":
            return _make_embedded(settings)
        case "ollama":
            return ProviderDense(_make_ollama(settings, sleep), settings.provider)
        case "openai":
            return ProviderDense(_make_openai(settings, sleep), settings.provider)
        case "voyage":
            return ProviderDense(_make_voyage(settings, sleep), settings.provider)
        case "sentence-transformers":
            return ProviderDense(
                build_sentence_transformers_model(settings, _build_identity(settings)), settings.provider
            )
        case "model2vec":
            return ProviderDense(build_model2vec_model(settings, _build_identity(settings)), settings.provider)


def get_model_name(settings: EmbeddingSettings) -> str:
    """Return the model name that an index records; empty if the embedded model is configured.

    It ends in a hash if vectors depend on more than the name: on a folder's files, or on settings.

    Raises:
        ConfigurationError: The setting does not name a folder of such a model.
    """
    provider = settings.provider
    options = (settings.text_prefix, settings.max_tokens)
    if provider == "sentence-transformers" or provider == "model2vec":  # noqa: PLR1714  # so that mypy sees which
        folder = resolve_model_folder(provider, settings.model)
        return f"{get_model_title(folder)}@{_compute_short_hash(hash_model_files(folder), *options)}"
    model = settings.model or _DEFAULT_MODELS.get(provider, "")
    return model if options == (None, None) else f"{model}@{_compute_short_hash(*options)}"


def describe_configured_embedding(settings: EmbeddingSettings, recorded: EmbeddingInfo) -> str:
    """Return the configured model as ``provider/model``, without sending a request.

    Args:
        settings: The section ``embedding``.
        recorded: The model of an index. A different configured dimension is part of the result.
    """
    if settings.provider == "embedded":
        return make_dense_model(settings).info.name
    name = f"{settings.provider}/{get_model_name(settings)}"
    return name if settings.dimension in (None, recorded.dimension) else f"{name} ({settings.dimension} dimensions)"


def resolve_embedding_remote(settings: EmbeddingSettings) -> Remote:
    """Resolve the server of the embedding model, with its key.

    Raises:
        ConfigurationError: There is no model name; or as `resolve_remote`.
        ModelAuthenticationError: As `resolve_remote`.
    """
    model = settings.model or _DEFAULT_MODELS.get(settings.provider, "")
    if not model:
        message = f"embedding.model is not set, but the provider '{settings.provider}' has no default"
        raise ConfigurationError(message, hint="Set it, for example to text-embedding-3-small.")
    return resolve_remote("embedding", settings, model)


def build_ollama_options(address: str, timeout_s: float, key: str = "") -> dict[str, Any]:
    """Build the connection options of Ollama's client.

    A repository's settings may set the address, so Ollama's key from the environment is sent only to ollama.com. Requests
    to this machine bypass proxies.
    """
    host = urlsplit(address).hostname or ""

    def authorize(request: "httpx.Request") -> "httpx.Request":
        if key:
            request.headers["Authorization"] = f"Bearer {key}"
        elif host != "ollama.com":
            request.headers.pop("Authorization", None)
        return request

    local = is_this_machine(address)
    return {
        "timeout": timeout_s,
        "auth": authorize,
        "headers": _build_connection_headers(address),
        "trust_env": not local,
    }


@cache
def load_word_vectors() -> WordVectors:
    """Load the packaged word vectors, once per process."""
    return WordVectors.load()


def _make_embedded(settings: EmbeddingSettings) -> EmbeddedDense:
    words = load_word_vectors()
    if settings.model not in {"", words.name}:
        message = f"embedding.model is {settings.model}, which the provider 'embedded' does not have"
        raise ConfigurationError(message, hint="Set embedding.provider to the model's, or remove embedding.model.")
    return EmbeddedDense(words)


def _make_ollama(settings: EmbeddingSettings, sleep: Callable[[float], None]) -> RemoteEmbedding:
    from coderag.models.embeddings.ollama import OllamaEmbedding  # noqa: PLC0415  # takes seconds

    remote = resolve_embedding_remote(settings)
    model = OllamaEmbedding(
        model_name=remote.model,
        base_url=remote.address,
        embed_batch_size=MAX_TEXTS,
        ollama_additional_kwargs={} if settings.max_tokens is None else {"num_ctx": settings.max_tokens},
        client_kwargs=build_ollama_options(remote.address, settings.timeout_s, remote.secret),
        dimensions=settings.dimension,
    )
    limits = RequestLimits(_get_batch_size(settings), max_concurrency=settings.concurrency or 1)
    return _make_remote_embedding(settings, model, remote, limits, sleep)


def _make_openai(settings: EmbeddingSettings, sleep: Callable[[float], None]) -> RemoteEmbedding:
    remote = resolve_embedding_remote(settings)
    is_own_server = is_same_server(remote.address, DEFAULT_ADDRESSES["openai"])
    from coderag.models.embeddings.openai import OpenAICompatibleEmbedding  # noqa: PLC0415  # an extra

    model = OpenAICompatibleEmbedding(
        model_name=remote.model,
        api_base=remote.address,
        api_key=remote.secret or PLACEHOLDER_KEY,
        embed_batch_size=MAX_TEXTS,
        timeout=settings.timeout_s,
        default_headers=_build_connection_headers(remote.address),
        dimensions=settings.dimension,
        max_retries=0,  # one policy for all providers: RetryPolicy
    )
    limits = RequestLimits(
        _get_batch_size(settings), _MAX_OPENAI_TOKENS if is_own_server else 0, _get_max_concurrency(settings, remote)
    )
    return _make_remote_embedding(settings, model, remote, limits, sleep)


def _make_voyage(settings: EmbeddingSettings, sleep: Callable[[float], None]) -> RemoteEmbedding:
    import httpx  # noqa: PLC0415  # 0.2 s

    from coderag.models.embeddings.voyage import VoyageEmbedding  # noqa: PLC0415  # takes seconds

    remote = resolve_embedding_remote(settings)
    key = {"Authorization": f"Bearer {remote.secret}"} if remote.secret else {}
    client = httpx.Client(
        base_url=remote.address,
        timeout=settings.timeout_s,
        headers={**key, **_build_connection_headers(remote.address)},
        trust_env=not is_this_machine(remote.address),
    )
    model = VoyageEmbedding(
        client, model_name=remote.model, embed_batch_size=MAX_TEXTS, output_dimension=settings.dimension
    )
    texts = min(_get_batch_size(settings), _MAX_VOYAGE_TEXTS)
    limits = RequestLimits(texts, _MAX_VOYAGE_TOKENS, _get_max_concurrency(settings, remote))
    return _make_remote_embedding(settings, model, remote, limits, sleep)


def _make_remote_embedding(
    settings: EmbeddingSettings,
    model: "BaseEmbedding",
    remote: Remote,
    limits: RequestLimits,
    sleep: Callable[[float], None],
) -> RemoteEmbedding:
    return RemoteEmbedding(
        model,
        remote,
        _build_identity(settings),
        limits,
        prefixes=resolve_prefixes(settings, find_prefixes(remote.model)),
        window=_build_window(settings),
        sleep=sleep,
    )


def _build_identity(settings: EmbeddingSettings) -> ModelIdentity:
    return ModelIdentity(get_model_name(settings), settings.dimension)


def _build_window(settings: EmbeddingSettings) -> TextWindow:
    """Build the window of sent texts. Ollama and Voyage truncate the rest with the model's own tokenizer."""
    match settings.provider:
        case "openai" if settings.tokenizer:
            return TokenizerWindow(Path(settings.tokenizer).expanduser(), settings.max_tokens or MAX_TEXT_TOKENS)
        case "openai":
            return CountedWindow(settings.max_tokens or MAX_TEXT_TOKENS)
        case "voyage":
            return CountedWindow(settings.max_tokens or _VOYAGE_WINDOW_TOKENS)
        case _:
            return CountedWindow(max(settings.max_tokens or 0, MAX_TEXT_TOKENS))


def _get_batch_size(settings: EmbeddingSettings) -> int:
    return settings.batch_size or _BATCH_SIZES[settings.provider]


def _get_max_concurrency(settings: EmbeddingSettings, remote: Remote) -> int:
    return settings.concurrency or (1 if is_this_machine(remote.address) else DEFAULT_CONCURRENCY)


def _build_connection_headers(address: str) -> dict[str, str]:
    """Close local connections at once: LlamaIndex's models cannot be closed, and a new local connection is cheap."""
    return {"Connection": "close"} if is_this_machine(address) else {}


def _compute_short_hash(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()[:8]
