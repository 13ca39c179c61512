"""Wrappers that redact secrets from texts for remote embedding models and rerankers."""

from collections.abc import Iterator, Sequence

from coderag.models.dense import FloatArray, TextEmbedder
from coderag.models.protocols import Reranker, RerankScores
from coderag.models.redaction.redactor import get_redactor
from coderag.models.remote_embedding import RemoteEmbedding


class RedactingEmbedder:
    """A remote embedding model that receives texts and queries without secrets.

    Vectors are cached by the redacted text (`prepare_text`), so a vector of a text with its secrets is never reused.

    Args:
        model: The model.
    """

    def __init__(self, model: TextEmbedder) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._model.name

    @property
    def dimension(self) -> int:
        """Number of components of a vector; may send a request."""
        return self._model.dimension

    def prepare_text(self, text: str) -> str:
        """Return a text as the server receives it."""
        return self._model.prepare_text(_redact_text(text))

    def embed_requests(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[int], FloatArray]]:
        """Yield positions of texts and their vectors, as requests complete."""
        yield from self._model.embed_requests([_redact_text(text) for text in texts])

    def embed_query(self, query: str) -> FloatArray:
        """Return the vector of a query, shape (dimension,)."""
        return self._model.embed_query(_redact_text(query))


class RedactingReranker:
    """A remote reranker that receives the query and the texts without secrets.

    Args:
        model: The reranker.
    """

    def __init__(self, model: Reranker) -> None:
        self.name = model.name
        self.candidates = model.candidates
        self.remote = model.remote
        self._model = model

    def rerank(self, query: str, texts: Sequence[str]) -> RerankScores:
        """Return one score per text. Raises as the reranker."""
        return self._model.rerank(_redact_text(query), [_redact_text(text) for text in texts])


def redact_remote(model: TextEmbedder) -> TextEmbedder:
    """Wrap a remote model so that it receives no secrets; return a local model unchanged."""
    return RedactingEmbedder(model) if isinstance(model, RemoteEmbedding) else model


def _redact_text(text: str) -> str:
    return get_redactor().redact(text).text
