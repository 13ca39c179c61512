"""The dense model that the settings name: the embedded one, one on a server, or one in a folder (docs/models.md).

Texts go through LlamaIndex's embedding models (`coderag.models.embeddings`). What those leave open is added around them:
prefixes and windows, batches and progress, repeated requests, errors of CodeRAG, and a check of each reply.
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
from coderag.models.dense import DenseModel, EmbeddedDense, ProviderDense
from coderag.models.extras import require_extra
from coderag.models.keys import remote_with_key
from coderag.models.local_models import MOST_TEXTS, model2vec_model, sentence_transformers_model
from coderag.models.model_folders import fingerprint, model_folder, model_title
from coderag.models.prefixes import configured_prefixes, prefixes_of
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
"""Providers that are extras, and a module of each."""

_DEFAULT_MODELS = {"ollama": OLLAMA_MODEL, "voyage": VOYAGE_MODEL}
_BATCH_SIZES = {"ollama": 32, "openai": 32, "voyage": 128}
_VOYAGE_TEXTS, _VOYAGE_TOKENS = 1_000, 120_000  # a request. Source: docs.voyageai.com/docs/embeddings
_VOYAGE_WINDOW = 32_000  # tokens that it reads of a text; it cuts longer ones itself
_OPENAI_TOKENS = 300_000  # a request. Source: platform.openai.com/docs/api-reference/embeddings/create
SIDE_BY_SIDE: Final = 4
"""Requests at once to a server elsewhere."""
NO_KEY: Final = "none"  # OpenAI's client insists on a key, and would take one from the environment


def make_dense_model(settings: EmbeddingSettings, *, sleep: Callable[[float], None] = time.sleep) -> DenseModel:
    """Return the dense model that the settings name. No request is sent and no folder's weights are read yet.

    Args:
        settings: The section ``embedding``.
        sleep: Waits between repeated requests, given seconds.

    Raises:
        ConfigurationError: A setting is missing or cannot be used, or the provider's extra is not installed.
        ModelAuthenticationError: OpenAI's or Voyage's own address without a key.
        ModelError: The embedded model cannot be loaded.
    """
    if module := EXTRAS.get(settings.provider):
        require_extra(module, settings.provider, f"the provider '{settings.provider}'")
    match settings.provider:
        case "embedded":
            return _embedded(settings)
        case "ollama":
            return ProviderDense(_ollama(settings, sleep), settings.provider)
        case "openai":
            return ProviderDense(_openai(settings, sleep), settings.provider)
        case "voyage":
            return ProviderDense(_voyage(settings, sleep), settings.provider)
        case "sentence-transformers":
            return ProviderDense(sentence_transformers_model(settings, _identity(settings)), settings.provider)
        case "model2vec":
            return ProviderDense(model2vec_model(settings, _identity(settings)), settings.provider)


def model_name(settings: EmbeddingSettings) -> str:
    """Return what an index records of the model that the settings name; empty if they leave it to the embedded one.

    It ends in a hash where vectors depend on more than the model's name: on a folder's files, or on settings.

    Raises:
        ConfigurationError: There is no folder of such a model.
    """
    provider = settings.provider
    options = (settings.text_prefix, settings.max_tokens)
    if provider == "sentence-transformers" or provider == "model2vec":  # noqa: PLR1714  # so that mypy sees which
        folder = model_folder(provider, settings.model)
        return f"{model_title(folder)}@{_short_hash(fingerprint(folder), *options)}"
    model = settings.model or _DEFAULT_MODELS.get(provider, "")
    return model if options == (None, None) else f"{model}@{_short_hash(*options)}"


def configured_embedding(settings: EmbeddingSettings, recorded: EmbeddingInfo) -> str:
    """Return the model that the settings name as ``provider/model``, without asking a server.

    Args:
        settings: The section ``embedding``.
        recorded: The model of an index; where only the dimension differs, it is told too.
    """
    if settings.provider == "embedded":
        return make_dense_model(settings).info.name
    name = f"{settings.provider}/{model_name(settings)}"
    return name if settings.dimension in (None, recorded.dimension) else f"{name} ({settings.dimension} dimensions)"


def embedding_remote(settings: EmbeddingSettings) -> Remote:
    """Return the server of the embedding model, with its key.

    Raises:
        ConfigurationError: There is no model's name; or as `remote_with_key`.
        ModelAuthenticationError: As there.
    """
    model = settings.model or _DEFAULT_MODELS.get(settings.provider, "")
    if not model:
        message = f"embedding.model is not set, and the provider '{settings.provider}' has no default"
        raise ConfigurationError(message, hint="Set it, for example to text-embedding-3-small.")
    return remote_with_key("embedding", settings, model)


def ollama_options(address: str, timeout_s: float, key: str = "") -> dict[str, Any]:
    """Return how Ollama's client is to connect.

    An address comes from a repository's settings, so Ollama's own key in the environment is sent to ollama.com only;
    and what goes to this machine goes there directly, not through a proxy.
    """
    host = urlsplit(address).hostname or ""

    def authorise(request: "httpx.Request") -> "httpx.Request":
        if key:
            request.headers["Authorization"] = f"Bearer {key}"
        elif host != "ollama.com":
            request.headers.pop("Authorization", None)
        return request

    local = is_this_machine(address)
    return {"timeout": timeout_s, "auth": authorise, "headers": _connection_headers(address), "trust_env": not local}


@cache
def word_vectors() -> WordVectors:
    """Return the shipped word vectors, read once a process however many repositories are open."""
    return WordVectors.load()


def _embedded(settings: EmbeddingSettings) -> EmbeddedDense:
    words = word_vectors()
    if settings.model not in {"", words.name}:
        message = f"embedding.model is {settings.model}, which the provider 'embedded' does not have"
        raise ConfigurationError(message, hint="Set embedding.provider to the model's, or remove embedding.model.")
    return EmbeddedDense(words)


def _ollama(settings: EmbeddingSettings, sleep: Callable[[float], None]) -> RemoteEmbedding:
    from coderag.models.embeddings.ollama import OllamaEmbedding  # noqa: PLC0415  # takes seconds

    remote = embedding_remote(settings)
    model = OllamaEmbedding(
        model_name=remote.model,
        base_url=remote.address,
        embed_batch_size=MOST_TEXTS,
        ollama_additional_kwargs={} if settings.max_tokens is None else {"num_ctx": settings.max_tokens},
        client_kwargs=ollama_options(remote.address, settings.timeout_s, remote.secret),
        dimensions=settings.dimension,
    )
    limits = RequestLimits(_batch_size(settings), side_by_side=settings.concurrency or 1)
    return _remote_embedding(settings, model, remote, limits, sleep)


def _openai(settings: EmbeddingSettings, sleep: Callable[[float], None]) -> RemoteEmbedding:
    remote = embedding_remote(settings)
    own = is_same_server(remote.address, DEFAULT_ADDRESSES["openai"])
    from coderag.models.embeddings.openai import OpenAICompatibleEmbedding  # noqa: PLC0415  # an extra

    model = OpenAICompatibleEmbedding(
        model_name=remote.model,
        api_base=remote.address,
        api_key=remote.secret or NO_KEY,
        embed_batch_size=MOST_TEXTS,
        timeout=settings.timeout_s,
        default_headers=_connection_headers(remote.address),
        dimensions=settings.dimension,
        max_retries=0,  # one policy for all providers: RetryPolicy
    )
    limits = RequestLimits(_batch_size(settings), _OPENAI_TOKENS if own else 0, _side_by_side(settings, remote))
    return _remote_embedding(settings, model, remote, limits, sleep)


def _voyage(settings: EmbeddingSettings, sleep: Callable[[float], None]) -> RemoteEmbedding:
    import httpx  # noqa: PLC0415  # 0.2 s that the embedded model need not spend

    from coderag.models.embeddings.voyage import VoyageEmbedding  # noqa: PLC0415  # takes seconds

    remote = embedding_remote(settings)
    key = {"Authorization": f"Bearer {remote.secret}"} if remote.secret else {}
    client = httpx.Client(
        base_url=remote.address,
        timeout=settings.timeout_s,
        headers={**key, **_connection_headers(remote.address)},
        trust_env=not is_this_machine(remote.address),
    )
    model = VoyageEmbedding(
        client, model_name=remote.model, embed_batch_size=MOST_TEXTS, output_dimension=settings.dimension
    )
    texts = min(_batch_size(settings), _VOYAGE_TEXTS)
    limits = RequestLimits(texts, _VOYAGE_TOKENS, _side_by_side(settings, remote))
    return _remote_embedding(settings, model, remote, limits, sleep)


def _remote_embedding(
    settings: EmbeddingSettings,
    model: "BaseEmbedding",
    remote: Remote,
    limits: RequestLimits,
    sleep: Callable[[float], None],
) -> RemoteEmbedding:
    return RemoteEmbedding(
        model,
        remote,
        _identity(settings),
        limits,
        prefixes=configured_prefixes(settings, prefixes_of(remote.model)),
        window=_window(settings),
        sleep=sleep,
    )


def _identity(settings: EmbeddingSettings) -> ModelIdentity:
    return ModelIdentity(model_name(settings), settings.dimension)


def _window(settings: EmbeddingSettings) -> TextWindow:
    """Return what is sent of a text. Ollama and Voyage cut the rest themselves, with the model's own tokenizer."""
    match settings.provider:
        case "openai" if settings.tokenizer:
            return TokenizerWindow(Path(settings.tokenizer).expanduser(), settings.max_tokens or MAX_TEXT_TOKENS)
        case "openai":
            return CountedWindow(settings.max_tokens or MAX_TEXT_TOKENS)
        case "voyage":
            return CountedWindow(settings.max_tokens or _VOYAGE_WINDOW)
        case _:
            return CountedWindow(max(settings.max_tokens or 0, MAX_TEXT_TOKENS))


def _batch_size(settings: EmbeddingSettings) -> int:
    return settings.batch_size or _BATCH_SIZES[settings.provider]


def _side_by_side(settings: EmbeddingSettings, remote: Remote) -> int:
    return settings.concurrency or (1 if is_this_machine(remote.address) else SIDE_BY_SIDE)


def _connection_headers(address: str) -> dict[str, str]:
    """Have connections on this machine closed at once: LlamaIndex's models cannot be, and a new one costs nothing."""
    return {"Connection": "close"} if is_this_machine(address) else {}


def _short_hash(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()[:8]
