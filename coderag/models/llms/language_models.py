"""Language model of a repository: an injected model, or the model of the settings."""

from functools import cached_property
from typing import TYPE_CHECKING

from coderag.config.settings import Settings
from coderag.models.protocols import LanguageModel
from coderag.models.redaction.redacting_llm import RedactingModel

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


class LanguageModels:
    """Creates the language model on first use, and keeps it.

    Args:
        settings: Settings of the repository.
        override: Model to use in place of the one in section ``llm``.
    """

    def __init__(self, settings: Settings, override: "LanguageModel | LLM | None" = None) -> None:
        self._settings = settings
        self._override = override

    @cached_property
    def model(self) -> LanguageModel | None:
        """The language model, or None. It receives no secrets unless the settings allow it.

        Raises:
            ConfigurationError: A setting cannot be used.
        """
        model = self._make_model()
        return RedactingModel(model) if model and self._settings.privacy.redact_secrets else model

    def _make_model(self) -> LanguageModel | None:
        override = self._override
        if override is None:
            if self._settings.llm.provider == "none":  # avoids importing HTTP clients
                return None
            from coderag.models.llms.providers import make_language_model  # noqa: PLC0415

            return make_language_model(self._settings.llm)
        if isinstance(override, LanguageModel):
            return override
        from coderag.models.llms.llama_index import LlamaIndexModel  # noqa: PLC0415  # takes seconds

        return LlamaIndexModel(override)
