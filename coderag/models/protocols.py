"""Protocols of models: query embedder, language model, reranker."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from coderag.schema.prompts import Completion, ModelPrompt

if TYPE_CHECKING:
    import numpy as np


class QueryEmbedder(Protocol):
    """Embedder of questions in the vector space of the index."""

    def embed_query(self, query: str, terms: Sequence[str]) -> "np.ndarray":
        """Return a normalised float32 vector, shape (dimension,); zeros for a question without known terms."""
        ...


@runtime_checkable
class LanguageModel(Protocol):
    """Language model, local or remote. It may be used from several event loops.

    Attributes:
        name: Name, such as ``ollama/qwen2.5-coder``.
        context_window: Maximum tokens of a prompt and its reply together.
    """

    name: str
    context_window: int

    def stream(self, prompt: ModelPrompt) -> AsyncIterator[str]:
        """Yield the reply in parts as they arrive; at least one is not blank.

        A reply that reached its length limit ends with a `CutOff`, from models that report it.

        Raises:
            ModelError: The prompt is too long, the model failed, or the reply is incomplete or empty.
        """
        ...

    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Return the complete reply, which is not blank. Raises as `stream`."""
        ...


@dataclass(frozen=True, slots=True)
class RerankScores:
    """Scores of a reranker.

    Attributes:
        scores: One score per text, higher is better; None keeps the order.
        note: Reason why the order is kept.
    """

    scores: Sequence[float] | None
    note: str = ""


class Reranker(Protocol):
    """Model that scores texts against a question within its own time budget.

    Attributes:
        name: Name in the trace.
        candidates: Maximum number of texts.
        remote: Whether texts leave this process, so that paths may have to be masked.
    """

    name: str
    candidates: int
    remote: bool

    def rerank(self, query: str, texts: Sequence[str]) -> RerankScores:
        """Score the texts; without scores if the budget runs out first.

        Raises:
            ModelError: The model cannot be reached or loaded.
        """
        ...
