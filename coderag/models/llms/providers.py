"""The language model that the settings name, such as Ollama."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

from coderag.errors import ModelError
from coderag.models.providers import OLLAMA_ADDRESS, ollama_options, server_address
from coderag.models.remote_errors import Remote, RetryPolicy, remote_errors
from coderag.schema import Completion, ModelPrompt
from coderag.settings import LLMSettings
from coderag.state import LanguageModel
from coderag.token_counts import count_tokens

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatResponse

_TEMPERATURE = 0.1  # an answer keeps to its evidence; not 0, at which some models repeat themselves
_POLICY = RetryPolicy(after_timeout=False)  # the server would still be writing the answer that came too late


def make_language_model(
    settings: LLMSettings, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> LanguageModel | None:
    """Return the model that writes answers, or None if answers are to be extracted. No request is sent yet.

    Args:
        settings: The section ``llm``.
        sleep: Waits between repeated requests, given seconds.

    Raises:
        ConfigurationError: A setting cannot be used.
    """
    match settings.provider:
        case "none":
            return None
        case "ollama":
            return OllamaModel(settings, sleep)
        case _:
            raise NotImplementedError


class OllamaModel:
    """Writes answers with a model of Ollama's.

    Attributes:
        name: Such as ``ollama/qwen2.5-coder``.
    """

    def __init__(self, settings: LLMSettings, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        model = settings.model or "qwen2.5-coder"
        self.name = f"{settings.provider}/{model}"
        self.context_window = settings.context_window
        self._sleep = sleep
        self._remote = Remote(
            provider=settings.provider,
            model=model,
            address=server_address(settings.base_url or OLLAMA_ADDRESS, "llm.base_url"),
            section="llm",
            timeout_s=settings.timeout_s,
        )

    async def stream(self, prompt: ModelPrompt) -> AsyncIterator[str]:
        """Yield the model's reply. Raises as `complete`."""
        yield (await self.complete(prompt)).text

    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Return the model's reply.

        Raises:
            ModelError: The prompt is too long for the model, the request failed, or the reply is empty.
        """
        self._check_length(prompt.text)
        with remote_errors(self._remote):
            response = await _POLICY.acall(lambda: self._chat(prompt.text), self._sleep)
        reply = (response.message.content or "").strip()
        if not reply:
            message = f"ollama at {self._remote.address} sent an empty answer of the model {self._remote.model}"
            raise ModelError(message, hint="Ask again, or set llm.model to another model.")
        return Completion(reply, count_tokens(prompt.text), count_tokens(reply))

    def _check_length(self, prompt: str) -> None:
        """Refuse a prompt of which Ollama would drop the beginning without a word."""
        if len(prompt.encode("utf-8", "replace")) <= self.context_window:
            return  # a token is at least a byte
        tokens = count_tokens(prompt)
        if tokens > self.context_window:
            message = f"a prompt of {tokens} tokens is too long for {self.name}, which reads {self.context_window}"
            raise ModelError(message, hint="Lower search.token_budget, or raise llm.context_window if the model can.")

    async def _chat(self, prompt: str) -> "ChatResponse":
        from llama_index.core.base.llms.types import ChatMessage  # noqa: PLC0415  # takes seconds
        from llama_index.llms.ollama import Ollama  # noqa: PLC0415  # as above
        from ollama import AsyncClient  # noqa: PLC0415  # as above

        # A client belongs to the event loop that it first ran in, and a writer may be used from several.
        options = ollama_options(self._remote.address, self._remote.timeout_s)
        async with AsyncClient(self._remote.address, **options) as client:
            model = Ollama(
                model=self._remote.model,
                base_url=self._remote.address,
                context_window=self.context_window,
                temperature=_TEMPERATURE,
                request_timeout=self._remote.timeout_s,
                async_client=client,
            )
            response: ChatResponse = await model.achat([ChatMessage(role="user", content=prompt)])
            return response
