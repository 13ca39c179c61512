"""The dense model that the settings name: the embedded one, Ollama's, or any behind an OpenAI-compatible endpoint.

Texts go through LlamaIndex's embedding models. `RemoteEmbedding` adds what those leave open: the prefixes that a model
was trained with, texts cut to what servers take, repeated requests, errors of CodeRAG, and a check of each reply.
"""

import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from coderag.errors import ConfigurationError, ModelAuthenticationError, ModelError
from coderag.models.dense import DenseModel, EmbeddedDense, FloatArray, ProviderDense
from coderag.models.remote_errors import Remote, RetryPolicy, remote_errors
from coderag.models.word_vectors import WordVectors
from coderag.settings import EmbeddingSettings
from coderag.token_counts import count_tokens

if TYPE_CHECKING:
    import httpx
    from llama_index.core.base.embeddings.base import BaseEmbedding

OLLAMA_MODEL = "nomic-embed-text"
OLLAMA_ADDRESS = "http://localhost:11434"
OPENAI_ADDRESS = "https://api.openai.com/v1"
MAX_TEXT_TOKENS = 8_000
"""Longer texts are cut: 8,192 is the most that nomic-embed-text and OpenAI's models read, special tokens included."""

_MAX_TEXT_CHARACTERS = 16 * MAX_TEXT_TOKENS  # more than that many tokens ever have in text worth embedding
_NO_KEY = "none"  # OpenAI's client insists on a key, and would take one from the environment


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What a model was trained to see before a question and before a text to be found."""

    query: str = ""
    text: str = ""


_PASSAGES = Prefixes("Represent this sentence for searching relevant passages: ")
_NOMIC = Prefixes("search_query: ", "search_document: ")
_GEMMA = Prefixes("task: code retrieval | query: ", "title: none | text: ")
_QWEN = Prefixes("Instruct: Given a question about a code base, retrieve the code that answers it\nQuery:")

KNOWN_PREFIXES: dict[str, Prefixes] = {
    "nomic-embed-text": _NOMIC,  # Source: huggingface.co/nomic-ai/nomic-embed-text-v1.5
    "nomic-embed-code": Prefixes("Represent this query for searching relevant code: "),  # …/nomic-ai/nomic-embed-code
    "mxbai-embed-large": _PASSAGES,  # Source: mixedbread.ai/docs/embeddings/mxbai-embed-large-v1
    "snowflake-arctic-embed": _PASSAGES,  # Source: huggingface.co/Snowflake/snowflake-arctic-embed-l
    "snowflake-arctic-embed-l": _PASSAGES,
    "snowflake-arctic-embed-m": _PASSAGES,
    "snowflake-arctic-embed2": Prefixes("query: "),  # Source: huggingface.co/Snowflake/snowflake-arctic-embed-l-v2.0
    "snowflake-arctic-embed-l-v2.0": Prefixes("query: "),
    "snowflake-arctic-embed-m-v2.0": Prefixes("query: "),
    "bge-large": _PASSAGES,  # Ollama's name of bge-large-en-v1.5. Source: huggingface.co/BAAI/bge-large-en-v1.5
    "bge-large-en": _PASSAGES,
    "bge-base-en": _PASSAGES,
    "bge-small-en": _PASSAGES,
    "embeddinggemma": _GEMMA,  # Source: ai.google.dev/gemma/docs/embeddinggemma/model_card
    "embeddinggemma-300m": _GEMMA,
    "qwen3-embedding": _QWEN,  # The task in own words. Source: huggingface.co/Qwen/Qwen3-Embedding-0.6B
    "qwen3-embedding-0.6b": _QWEN,
    "qwen3-embedding-4b": _QWEN,
    "qwen3-embedding-8b": _QWEN,
    "multilingual-e5-large": Prefixes("query: ", "passage: "),  # Source: huggingface.co/intfloat/multilingual-e5-large
    "multilingual-e5-base": Prefixes("query: ", "passage: "),
    "multilingual-e5-small": Prefixes("query: ", "passage: "),
}
"""By the model's name without owner, tag and version. A model that is not here gets no prefix."""


def make_dense_model(settings: EmbeddingSettings, *, sleep: Callable[[float], None] = time.sleep) -> DenseModel:
    """Return the dense model that the settings name. No request is sent yet.

    Args:
        settings: The section ``embedding``.
        sleep: Waits between repeated requests, given seconds.

    Raises:
        ConfigurationError: A setting is missing or cannot be used, or the extra ``openai`` is not installed.
        ModelAuthenticationError: OpenAI's own address without a key.
        ModelError: The embedded model cannot be loaded.
    """
    match settings.provider:
        case "embedded":
            return _embedded(settings)
        case "ollama":
            return ProviderDense(_ollama(settings, sleep), settings.provider)
        case "openai":
            return ProviderDense(_openai(settings, sleep), settings.provider)


def prefixes_of(model: str) -> Prefixes:
    """Return the prefixes of a model by a name such as ``nomic-ai/nomic-embed-text-v1.5`` or ``bge-large:335m``."""
    name = model.rpartition("/")[2].partition(":")[0].lower()
    return KNOWN_PREFIXES.get(name) or KNOWN_PREFIXES.get(name.rpartition("-v")[0]) or Prefixes()


class RemoteEmbedding:
    """An embedding model on a server.

    Args:
        model: LlamaIndex's side of it.
        remote: What messages name.
        batch_size: Texts a request.
        sleep: Waits between repeated requests, given seconds.
    """

    def __init__(
        self,
        model: "BaseEmbedding",
        remote: Remote,
        *,
        batch_size: int,
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._model = model
        self._remote = remote
        self._prefixes = prefixes_of(remote.model)
        self._batch_size = batch_size
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        self._dimension = 0

    @property
    def name(self) -> str:
        """The model's name."""
        return self._remote.model

    @property
    def dimension(self) -> int:
        """Number of components of a vector; asked of the model once, unless it has embedded something already."""
        if not self._dimension:
            self._request(partial(self._model.get_text_embedding_batch, ["dimension"]), 1)
        return self._dimension

    def as_sent(self, text: str) -> str:
        """Return what the server is sent for a text that is to be found: with the model's prefix, cut where too long."""
        return self._prefixes.text + sendable(text)

    def embed_texts(self, texts: Sequence[str]) -> FloatArray:
        """Embed texts that are to be found.

        Returns:
            float32 array, shape (len(texts), dimension), as the model gives them; zeros for a blank text.

        Raises:
            ModelError: A request failed, or its reply is not one vector a text, all of one dimension.
        """
        sent = [position for position, text in enumerate(texts) if text.strip()]
        parts = []
        for start in range(0, len(sent), self._batch_size):
            batch = [self.as_sent(texts[i]) for i in sent[start : start + self._batch_size]]
            parts.append(self._request(partial(self._model.get_text_embedding_batch, batch), len(batch)))
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        if parts:
            vectors[sent] = np.concatenate(parts)
        return vectors

    def embed_query(self, query: str) -> FloatArray:
        """Embed a question.

        Returns:
            float32 array, shape (dimension,), as the model gives it; zeros for a blank question.

        Raises:
            ModelError: The request failed, or its reply is not one vector of the dimension of the others.
        """
        if not query.strip():
            return np.zeros(self.dimension, np.float32)
        prepared = self._prefixes.query + sendable(query)
        return self._request(lambda: [self._model.get_query_embedding(prepared)], 1).reshape(-1)

    def _request(self, call: Callable[[], Sequence[Sequence[float]]], expected: int) -> FloatArray:
        with remote_errors(self._remote):
            return self._checked(self._policy.call(call, self._sleep), expected)

    def _checked(self, vectors: Sequence[Sequence[float]], expected: int) -> FloatArray:
        """Return the vectors as an array, having made sure that they can be used."""
        sizes = {len(vector) for vector in vectors}
        if len(vectors) != expected or len(sizes) != 1 or 0 in sizes:
            found = f"{len(vectors)} vectors of {', '.join(map(str, sorted(sizes))) or 'no'} components"
            raise self._unusable(f"{found}, not {expected} of one size,")
        dimension = sizes.pop()
        if self._dimension not in {0, dimension}:
            raise self._unusable(f"vectors of {dimension} components after vectors of {self._dimension}")
        with np.errstate(over="ignore"):
            array = np.asarray(vectors, np.float64).astype(np.float32)
        if not np.isfinite(array).all():
            raise self._unusable("vectors with components that are no numbers")
        self._dimension = dimension
        return array

    def _unusable(self, what: str) -> ModelError:
        message = f"{self._remote.provider} at {self._remote.address} sent {what} for the model {self._remote.model}"
        return ModelError(message, hint="Check that the model is one for embeddings and was not exchanged meanwhile.")


def sendable(text: str) -> str:
    """Return a text as a server can take it: valid Unicode, and at most `MAX_TEXT_TOKENS` tokens from its beginning."""
    encoded = text[:_MAX_TEXT_CHARACTERS].encode("utf-8", "replace")
    text = encoded.decode("utf-8")
    if len(encoded) <= MAX_TEXT_TOKENS:
        return text  # a token is at least a byte
    while (tokens := count_tokens(text)) > MAX_TEXT_TOKENS:
        text = text[: int(0.98 * len(text) * MAX_TEXT_TOKENS / tokens)]
    return text


def server_address(base_url: str, setting: str) -> str:
    """Return an address, checked.

    Raises:
        ConfigurationError: It is none, or holds a password; `setting` is named, the address is not repeated then.
    """
    hint = "Write it as http://localhost:11434 or https://example.org/v1."
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        message = f"{setting} is not the address of a server"
        raise ConfigurationError(message, hint=hint)
    if "@" in parts.netloc or parts.query or parts.fragment:
        message = f"{setting} may not hold a user name, a password or a query"
        raise ConfigurationError(message, hint=hint)
    return base_url.rstrip("/")


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

    local = _is_this_machine(address)
    return {"timeout": timeout_s, "auth": authorise, "headers": _connection_headers(address), "trust_env": not local}


@cache
def _word_vectors() -> WordVectors:
    """Return the shipped word vectors, read once a process however many repositories are open."""
    return WordVectors.load()


def _embedded(settings: EmbeddingSettings) -> EmbeddedDense:
    words = _word_vectors()
    if settings.model not in {"", words.name}:
        message = f"embedding.model is {settings.model}, which the provider 'embedded' does not have"
        raise ConfigurationError(message, hint="Set embedding.provider to the model's, or remove embedding.model.")
    return EmbeddedDense(words)


def _ollama(settings: EmbeddingSettings, sleep: Callable[[float], None]) -> RemoteEmbedding:
    from llama_index.embeddings.ollama import OllamaEmbedding  # noqa: PLC0415  # takes seconds

    remote = _remote(settings, settings.model or OLLAMA_MODEL, OLLAMA_ADDRESS)
    model = OllamaEmbedding(
        model_name=remote.model,
        base_url=remote.address,
        embed_batch_size=settings.batch_size,
        client_kwargs=ollama_options(remote.address, settings.timeout_s, remote.secret),
    )
    return RemoteEmbedding(model, remote, batch_size=settings.batch_size, sleep=sleep)


def _openai(settings: EmbeddingSettings, sleep: Callable[[float], None]) -> RemoteEmbedding:
    if not settings.model:
        message = "embedding.model is not set, and the provider 'openai' has no default"
        raise ConfigurationError(message, hint="Set it, for example to text-embedding-3-small.")
    remote = _remote(settings, settings.model, OPENAI_ADDRESS)
    if not remote.secret and remote.address == OPENAI_ADDRESS:
        message = f"openai at {remote.address} needs a key, and embedding.api_key is not set"
        hint = "Set embedding.api_key, for example to ${OPENAI_API_KEY}, or embedding.base_url to another server."
        raise ModelAuthenticationError(message, hint=hint)
    try:
        extra = importlib.import_module("llama_index.embeddings.openai_like")
    except ImportError as error:
        message = f"the provider 'openai' is an extra that is not installed: {error}"
        hint = 'Install the extra "openai" of coderag-engine; from a checkout: pip install ".[openai]"'
        raise ConfigurationError(message, hint=hint) from error
    model = extra.OpenAILikeEmbedding(
        model_name=remote.model,
        api_base=remote.address,
        api_key=remote.secret or _NO_KEY,
        embed_batch_size=settings.batch_size,
        timeout=settings.timeout_s,
        default_headers=_connection_headers(remote.address),
        max_retries=0,  # one policy for all providers: RetryPolicy
    )
    return RemoteEmbedding(model, remote, batch_size=settings.batch_size, sleep=sleep)


def _remote(settings: EmbeddingSettings, model: str, default_address: str) -> Remote:
    key = settings.api_key.get_secret_value().strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError("embedding.api_key holds characters that no key has", hint="Copy the key again.")
    return Remote(
        provider=settings.provider,
        model=model,
        address=server_address(settings.base_url or default_address, "embedding.base_url"),
        section="embedding",
        timeout_s=settings.timeout_s,
        secret=key,
    )


def _connection_headers(address: str) -> dict[str, str]:
    """Have connections on this machine closed at once: LlamaIndex's models cannot be, and a new one costs nothing."""
    return {"Connection": "close"} if _is_this_machine(address) else {}


def _is_this_machine(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
