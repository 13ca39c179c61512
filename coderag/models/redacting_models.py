"""Embedding models and rerankers on servers that are sent no secrets: `coderag.models.redaction` around them."""

from collections.abc import Iterator, Sequence

from coderag.models.dense import FloatArray, TextEmbedder
from coderag.models.protocols import Reranker, RerankScores
from coderag.models.redaction import get_redactor
from coderag.models.remote_embedding import RemoteEmbedding


class RedactingEmbedder:
    """An embedding model on a server, which gets texts and questions without their secrets.

    A vector is kept by what was sent for it (`as_sent`), so that one made with a secret is never taken for one without.

    Args:
        model: The model.
    """

    def __init__(self, model: TextEmbedder) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def dimension(self) -> int:
        """Number of components of a vector; may cost a request."""
        return self._model.dimension

    def prepare_text(self, text: str) -> str:
        """Return what the server is sent for a text that is to be found."""
        return self._model.prepare_text(_redact_text(text))

    def embed_requests(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[int], FloatArray]]:
        """Yield positions of texts and their vectors, as each request brings them."""
        yield from self._model.embed_requests([_redact_text(text) for text in texts])

    def embed_query(self, query: str) -> FloatArray:
        """Return the vector of a question, shape (dimension,)."""
        return self._model.embed_query(_redact_text(query))


class RedactingReranker:
    """A reranker on a server, which gets the question and the texts without their secrets.

    Args:
        model: The reranker.
    """

    def __init__(self, model: Reranker) -> None:
        self.name = model.name
        self.candidates = model.candidates
        self.remote = model.remote
        self._model = model

    def rerank(self, query: str, texts: Sequence[str]) -> RerankScores:
        """Return one score a text. Raises as the reranker."""
        return self._model.rerank(_redact_text(query), [_redact_text(text) for text in texts])


def redact_remote(model: TextEmbedder) -> TextEmbedder:
    """Return a model that gets no secrets, if it is on a server; one in this process may see them."""
    return RedactingEmbedder(model) if isinstance(model, RemoteEmbedding) else model


def _redact_text(text: str) -> str:
    return get_redactor().redact(text).text
