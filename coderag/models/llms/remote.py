"""A language model on a server: repeated requests, time-outs, and errors of CodeRAG around what LlamaIndex's class does."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from coderag.config.sections import LLMSettings
from coderag.models.llms.base import Chunk, StreamingModel
from coderag.models.llms.servers import address_of, model_of, remote_of
from coderag.models.remote_errors import CutReplyError, Remote, RetryPolicy, remote_errors
from coderag.schema.prompts import ModelPrompt

_POLICY = RetryPolicy(after_timeout=False)  # the server would still be writing the answer that came too late


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a provider is to send where."""

    remote: Remote
    settings: LLMSettings
    prompt: ModelPrompt


Ask = Callable[[ChatRequest], AsyncGenerator[Chunk, None]]
"""Sends a request and yields the reply as it comes. Its exceptions are those of the provider's library."""


class RemoteModel(StreamingModel):
    """A language model on a server.

    Args:
        settings: The section ``llm``.
        ask: What the provider's module has; called when it is first needed, for it takes seconds to import.
        sleep: Waits between repeated requests, given seconds.

    Raises:
        ConfigurationError: The settings name no model or no address.
    """

    def __init__(
        self,
        settings: LLMSettings,
        ask: Callable[[], Ask],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._model = model_of(settings)
        super().__init__(f"{settings.provider}/{self._model}", settings.context_window, settings.max_output_tokens)
        address_of(settings)  # so that a wrong one is told now
        self._settings = settings
        self._ask = ask
        self._sleep = sleep

    async def _chunks(self, prompt: ModelPrompt) -> AsyncGenerator[Chunk, None]:
        request = ChatRequest(remote_of(self._settings, self._model), self._settings, prompt)
        with remote_errors(request.remote):
            begun, rest = await _POLICY.acall(partial(self._begin, request), self._sleep)
            async with aclosing(rest):
                for chunk in begun:
                    yield chunk
                ended = any(chunk.finish for chunk in begun)
                while following := await self._next_in_time(rest):
                    ended = ended or bool(following.finish)
                    yield following
            if not ended:
                raise CutReplyError("it stops without the mark of its end")

    async def _begin(self, request: ChatRequest) -> tuple[list[Chunk], AsyncGenerator[Chunk, None]]:
        """Send a request; return the chunks up to the first with text or of the end, and those that follow."""
        ask = await asyncio.to_thread(self._ask)  # an import of seconds, in which the event loop is to go on
        chunks = ask(request)
        begun = []
        while chunk := await self._next(chunks):
            begun.append(chunk)
            if chunk.text.strip() or chunk.finish:
                return begun, chunks
        raise CutReplyError("it stops before it began")

    async def _next_in_time(self, chunks: AsyncGenerator[Chunk, None]) -> Chunk | None:
        try:
            return await self._next(chunks)
        except TimeoutError as error:
            raise CutReplyError(f"nothing more came within {self._settings.timeout_s:g} s") from error

    async def _next(self, chunks: AsyncGenerator[Chunk, None]) -> Chunk | None:
        """Return the next chunk, or None at the end. Not only httpx's time-out: a server may send signs of life for ever."""
        async with asyncio.timeout(self._settings.timeout_s):
            return await anext(chunks, None)
