"""The language model that the settings name (docs/models.md)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from coderag.config.sections import LLMSettings
from coderag.config.server_addresses import is_this_machine
from coderag.errors import ConfigurationError
from coderag.models.extras import require_extra
from coderag.models.llms.remote import Ask, RemoteModel
from coderag.models.llms.servers import address_of
from coderag.models.protocols import LanguageModel
from coderag.models.providers import SIDE_BY_SIDE

EXTRAS: Final = {
    "openai": "llama_index.llms.openai_like",
    "anthropic": "llama_index.llms.anthropic",
    "gemini": "llama_index.llms.google_genai",
}
"""Providers that are extras, and a module of each."""

_HOTTEST = {"anthropic": 1.0}
"""Providers that take less than the settings allow. Source: https://docs.anthropic.com/en/api/messages"""


def make_language_model(
    settings: LLMSettings, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> LanguageModel | None:
    """Return the model that writes answers, or None if answers are to be extracted.

    No request is sent and no key is read yet: what needs no language model works without its key.

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
    if settings.temperature > (hottest := _HOTTEST.get(provider, settings.temperature)):
        message = f"llm.temperature is {settings.temperature:g}, and the provider '{provider}' takes 0 to {hottest:g}"
        raise ConfigurationError(message, hint="Lower it.")
    return RemoteModel(settings, _ASK[provider], sleep)


def side_by_side(settings: LLMSettings) -> int:
    """Return how many requests may run at once: a server on this machine computes one after the other.

    Raises:
        ConfigurationError: The address is none.
    """
    if settings.concurrency or settings.provider == "none":
        return settings.concurrency or 1
    return 1 if is_this_machine(address_of(settings)) else SIDE_BY_SIDE


def _ask_ollama() -> Ask:
    from coderag.models.llms.ollama import ask  # noqa: PLC0415  # takes seconds

    return ask


def _ask_openai() -> Ask:
    from coderag.models.llms.openai import ask  # noqa: PLC0415  # an extra

    return ask


def _ask_anthropic() -> Ask:
    from coderag.models.llms.anthropic import ask  # noqa: PLC0415  # an extra

    return ask


def _ask_gemini() -> Ask:
    from coderag.models.llms.gemini import ask  # noqa: PLC0415  # an extra

    return ask


_ASK = {"ollama": _ask_ollama, "openai": _ask_openai, "anthropic": _ask_anthropic, "gemini": _ask_gemini}
