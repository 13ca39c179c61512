"""Interfaces of models: query embedder, language model, reranker."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from coderag.schema.prompts import Completion, ModelPrompt

if TYPE_CHECKING:
    import numpy as np


class QueryEmbedder(Protocol):
    """Turns a question into a vector of the index's space."""

    def embed_query(self, query: str, terms: Sequence[str]) -> "np.ndarray":
        """Return a normalised float32 vector, shape (dimension,); zeros where nothing is known of the question."""
        ...


@runtime_checkable
class LanguageModel(Protocol):
    """A language model, wherever it runs. It may be used from several event loops.

    Attributes:
        name: Such as ``ollama/qwen2.5-coder``.
        context_window: Tokens of a prompt and its reply together, at most.
    """

    name: str
    context_window: int

    def stream(self, prompt: ModelPrompt) -> AsyncIterator[str]:
        """Yield the reply in pieces as they come; at least one is not blank.

        A reply that reached the limit of its length ends with a `CutOff`, from models that can tell.

        Raises:
            ModelError: The prompt is too long, the model failed, or the reply broke off or is empty.
        """
        ...

    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Return the whole reply, which is not blank. Raises as `stream`."""
        ...


@dataclass(frozen=True, slots=True)
class RerankScores:
    """What a reranker made of some texts.

    Attributes:
        scores: One a text, higher is better; None leaves their order.
        note: Why the order stands.
    """

    scores: Sequence[float] | None
    note: str = ""


class Reranker(Protocol):
    """A model that scores texts against a question within a time budget of its own.

    Attributes:
        name: For the trace.
        candidates: Number of texts that it is to see, at most.
        remote: Whether the texts leave this machine's process, so that paths are masked if the settings say so.
    """

    name: str
    candidates: int
    remote: bool

    def rerank(self, query: str, texts: Sequence[str]) -> RerankScores:
        """Return one score a text, or none if the budget is spent before all have one.

        Raises:
            ModelError: The model cannot be reached or loaded.
        """
        ...
