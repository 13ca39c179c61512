"""Language model on a server: retries, timeouts and CodeRAG errors around LlamaIndex's class."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from coderag.config.sections import LLMSettings
from coderag.models.llms.base import ReplyChunk, StreamingModel
from coderag.models.llms.servers import get_address, get_model_name, resolve_llm_remote
from coderag.models.remote_errors import CutReplyError, Remote, RetryPolicy, translate_remote_errors
from coderag.schema.prompts import ModelPrompt

_RETRY_POLICY = RetryPolicy(retries_timeouts=False)  # the server would still be generating the late reply


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to a provider."""

    remote: Remote
    settings: LLMSettings
    prompt: ModelPrompt


ChatStreamer = Callable[[ChatRequest], AsyncGenerator[ReplyChunk, None]]
"""Sends a request and streams the reply. Raises exceptions of the provider's library."""


class RemoteModel(StreamingModel):
    """A language model on a server.

    Args:
        settings: The section ``llm``.
        load_streamer: Imports the provider's module, which takes seconds, and returns its streamer.
        sleep: Waits between repeated requests, given seconds.

    Raises:
        ConfigurationError: The settings have no valid model or address.
    """

    def __init__(
        self,
        settings: LLMSettings,
        load_streamer: Callable[[], ChatStreamer],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._model = get_model_name(settings)
        super().__init__(f"{settings.provider}/{self._model}", settings.context_window, settings.max_output_tokens)
        get_address(settings)  # raises early if it is invalid
        self._settings = settings
        self._load_streamer = load_streamer
        self._sleep = sleep

    async def _stream_chunks(self, prompt: ModelPrompt) -> AsyncGenerator[ReplyChunk, None]:
        request = ChatRequest(resolve_llm_remote(self._settings, self._model), self._settings, prompt)
        with translate_remote_errors(request.remote):
            first_chunks, remaining = await _RETRY_POLICY.acall(partial(self._start_reply, request), self._sleep)
            async with aclosing(remaining):
                for chunk in first_chunks:
                    yield chunk
                has_ended = any(chunk.finish for chunk in first_chunks)
                while next_chunk := await self._read_next_in_time(remaining):
                    has_ended = has_ended or bool(next_chunk.finish)
                    yield next_chunk
            if not has_ended:
                raise CutReplyError("it has no end marker")

    async def _start_reply(self, request: ChatRequest) -> tuple[list[ReplyChunk], AsyncGenerator[ReplyChunk, None]]:
        """Send a request; return the chunks up to the first with text or a finish reason, and the rest."""
        stream_chat = await asyncio.to_thread(
            self._load_streamer
        )  # the import takes seconds and must not block the event loop
        chunks = stream_chat(request)
        first_chunks = []
        while chunk := await self._read_next(chunks):
            first_chunks.append(chunk)
            if chunk.text.strip() or chunk.finish:
                return first_chunks, chunks
        raise CutReplyError("it ended without text")

    async def _read_next_in_time(self, chunks: AsyncGenerator[ReplyChunk, None]) -> ReplyChunk | None:
        try:
            return await self._read_next(chunks)
        except TimeoutError as error:
            raise CutReplyError(f"no data within {self._settings.timeout_s:g} s") from error

    async def _read_next(self, chunks: AsyncGenerator[ReplyChunk, None]) -> ReplyChunk | None:
        """Return the next chunk, or None at the end. httpx's timeout is not enough: a server may send keep-alives forever."""
        async with asyncio.timeout(self._settings.timeout_s):
            return await anext(chunks, None)
