"""Reranker of the settings (docs/reranking.md)."""

from coderag.config.sections import RerankerSettings
from coderag.models.extras import require_extra
from coderag.models.model_folders import resolve_model_folder
from coderag.models.protocols import Reranker
from coderag.prompting import PACKAGED, Prompts


def make_reranker(settings: RerankerSettings, prompts: Prompts = PACKAGED) -> Reranker | None:
    """Create the configured reranker, or return None if only ranking signals are used. Nothing is loaded or sent yet.

    Args:
        settings: The section ``reranker``.
        prompts: Prompts of the repository.

    Raises:
        ConfigurationError: A setting is missing or cannot be used, or the extra is not installed.
    """
    match settings.provider:
        case "none":
            return None
        case "ollama":
            from coderag.models.rerankers.ollama import OllamaReranker  # noqa: PLC0415  # importing httpx is slow

            return OllamaReranker(settings, prompts=prompts)
        case "cross-encoder":
            require_extra("sentence_transformers", "sentence-transformers", "the reranker 'cross-encoder'")
            from coderag.models.rerankers.cross_encoder import CrossEncoderReranker  # noqa: PLC0415  # an extra

            return CrossEncoderReranker(
                settings, resolve_model_folder("cross-encoder", settings.model, "reranker.model")
            )
