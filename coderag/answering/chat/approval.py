"""Approval of long prompts before they are sent."""

from collections.abc import AsyncIterator

from coderag.models.protocols import LanguageModel
from coderag.models.redaction.redacting_llm import RedactingModel
from coderag.schema.prompts import Completion, ModelPrompt
from coderag.text.token_counts import count_tokens


class PromptTooLongError(Exception):
    """A prompt needs approval; it was not sent.

    Attributes:
        tokens: Size of the prompt.
    """

    def __init__(self, tokens: int) -> None:
        super().__init__(f"a prompt of {tokens} tokens needs approval")
        self.tokens = tokens


def limit_prompts(model: LanguageModel, limit: int) -> LanguageModel:
    """Wrap a model to raise `PromptTooLongError` for prompts over a limit."""
    limited_model = _LimitedModel(model, limit)
    return (
        RedactingModel(limited_model) if isinstance(model, RedactingModel) else limited_model
    )  # keeps the count of redacted secrets


class _LimitedModel:
    def __init__(self, model: LanguageModel, limit: int) -> None:
        self.name = model.name
        self.context_window = model.context_window
        self.max_output_tokens: int = getattr(model, "max_output_tokens", 0)
        self._model = model
        self._limit = limit

    async def stream(self, prompt: ModelPrompt) -> AsyncIterator[str]:
        """Yield the reply.

        Raises:
            PromptTooLongError: The prompt needs approval.
            ModelError: As the model.
        """
        self._check_size(prompt)
        async for delta in self._model.stream(prompt):
            yield delta

    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Return the complete reply. Raises as `stream`."""
        self._check_size(prompt)
        return await self._model.complete(prompt)

    def _check_size(self, prompt: ModelPrompt) -> None:
        tokens = count_tokens(prompt.text)
        if tokens > self._limit:
            raise PromptTooLongError(tokens)
