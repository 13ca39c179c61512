"""Language model of the settings (docs/models.md)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from coderag.config.sections import LLMSettings
from coderag.config.server_addresses import is_this_machine
from coderag.errors import ConfigurationError
from coderag.models.extras import require_extra
from coderag.models.llms.remote import ChatStreamer, RemoteModel
from coderag.models.llms.servers import get_address
from coderag.models.protocols import LanguageModel
from coderag.models.providers import DEFAULT_CONCURRENCY

EXTRAS: Final = {
    "openai": "llama_index.llms.openai_like",
    "anthropic": "llama_index.llms.anthropic",
    "gemini": "llama_index.llms.google_genai",
}
"""Providers that need an extra, with a module of each."""

_MAX_TEMPERATURES = {"anthropic": 1.0}
"""Providers with a lower limit than the settings. Source: https://docs.anthropic.com/en/api/messages"""


def make_language_model(
    settings: LLMSettings, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> LanguageModel | None:
    """Create the model that generates answers, or return None if answers are extractive.

    No request is sent and no key is read yet, so commands that need no language model work without a key.

    Args:
        settings: The section ``llm``.
        sleep: Waits between repeated requests, given seconds.

    Raises:
        ConfigurationError: A setting is missing or cannot be used, or the provider's extra is not installed.
    """
    provider = settings.provider
    if provider == "none":
        return None
    if module := EXTRAS.get(provider):
        require_extra(module, provider, f"the provider '{provider}'")
    if settings.temperature > (max_temperature := _MAX_TEMPERATURES.get(provider, settings.temperature)):
        message = f"llm.temperature is {settings.temperature:g}, but the provider '{provider}' accepts 0 to {max_temperature:g}"
        raise ConfigurationError(message, hint="Lower it.")
    return RemoteModel(settings, _STREAMER_LOADERS[provider], sleep)


def get_max_concurrency(settings: LLMSettings) -> int:
    """Return the maximum number of concurrent requests: one for a local server, which computes sequentially.

    Raises:
        ConfigurationError: The address is invalid.
    """
    if settings.concurrency or settings.provider == "none":
        return settings.concurrency or 1
    return 1 if is_this_machine(get_address(settings)) else DEFAULT_CONCURRENCY


def _import_ollama() -> ChatStreamer:
    from coderag.models.llms.ollama import stream_chat  # noqa: PLC0415  # takes seconds

    return stream_chat


def _import_openai() -> ChatStreamer:
    from coderag.models.llms.openai import stream_chat  # noqa: PLC0415  # an extra

    return stream_chat


def _import_anthropic() -> ChatStreamer:
    from coderag.models.llms.anthropic import stream_chat  # noqa: PLC0415  # an extra

    return stream_chat


def _import_gemini() -> ChatStreamer:
    from coderag.models.llms.gemini import stream_chat  # noqa: PLC0415  # an extra

    return stream_chat


_STREAMER_LOADERS = {
    "ollama": _import_ollama,
    "openai": _import_openai,
    "anthropic": _import_anthropic,
    "gemini": _import_gemini,
}
