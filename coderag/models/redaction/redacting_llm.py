"""Language model that receives prompts without secrets."""

from collections.abc import AsyncIterator
from functools import lru_cache

from coderag.models.protocols import LanguageModel
from coderag.models.redaction.redactor import get_redactor
from coderag.schema.prompts import Completion, ModelPrompt

_MAX_CACHED_PROMPTS = 4  # counting a prompt's secrets precedes sending it


class RedactingModel:
    """A language model that receives prompts without secrets.

    Args:
        model: The model.

    Attributes:
        name, context_window, max_output_tokens: Those of the model.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.name = model.name
        self.context_window = model.context_window
        self.max_output_tokens: int = getattr(model, "max_output_tokens", 0)
        self._model = model

    def redact_prompt(self, prompt: ModelPrompt) -> tuple[ModelPrompt, int]:
        """Return a prompt as the model receives it, and the number of removed secrets."""
        return _redact_prompt(prompt)

    def stream(self, prompt: ModelPrompt) -> AsyncIterator[str]:
        """Stream the reply in pieces. Raises as the model."""
        return self._model.stream(self.redact_prompt(prompt)[0])

    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Return the whole reply. Raises as the model."""
        return await self._model.complete(self.redact_prompt(prompt)[0])


@lru_cache(_MAX_CACHED_PROMPTS)
def _redact_prompt(prompt: ModelPrompt) -> tuple[ModelPrompt, int]:
    system, user = get_redactor().redact(prompt.system), get_redactor().redact(prompt.user)
    return ModelPrompt(user=user.text, system=system.text), system.secrets + user.secrets
