"""Adapter for any LlamaIndex language model."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager

from llama_index.core.llms import LLM, ChatResponse

from coderag.errors import CodeRAGError, ConfigurationError, ModelAuthenticationError, ModelError, ModelUnavailableError
from coderag.models.llms.base import ReplyChunk, StreamingModel, to_chat_messages
from coderag.models.remote_errors import find_fault, to_single_line
from coderag.schema.prompts import ModelPrompt


class LlamaIndexModel(StreamingModel):
    """A LlamaIndex ``LLM`` as a CodeRAG model. Its own timeouts, retries and reply size apply.

    Args:
        llm: The model.
        name: Part of cache keys; by default the names of the class and of the model.
        context_window: Context window in tokens; by default the model's own value.

    Raises:
        ConfigurationError: The context window is unknown.
    """

    def __init__(self, llm: LLM, name: str | None = None, context_window: int | None = None) -> None:
        try:
            metadata = llm.metadata
            window = context_window or metadata.context_window
            model, reply = metadata.model_name, metadata.num_output
        except ValueError as error:  # some look it up by the model's name, which may be unknown
            if context_window is None:
                message = (
                    f"{llm.class_name()} does not know the context window of its model: {to_single_line(str(error))}"
                )
                raise ConfigurationError(message, hint="Set it: LlamaIndexModel(llm, context_window=...).") from error
            window, model, reply = context_window, str(getattr(llm, "model", "")), 0
        default_name = f"{llm.class_name()}/{model}".rstrip("/")
        super().__init__(name or default_name, window, reply if 0 < reply < window else 0)
        self._llm = llm

    async def _stream_chunks(self, prompt: ModelPrompt) -> AsyncGenerator[ReplyChunk, None]:
        with self._translate_errors():
            async with aclosing(await self._llm.astream_chat(to_chat_messages(prompt))) as replies:
                async for reply in replies:
                    yield _to_chunk(reply)
            yield ReplyChunk(finish="stop")  # LlamaIndex has no common finish reason

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn any exception of the model into a `ModelError`."""
        try:
            yield
        except CodeRAGError:
            raise
        except Exception as error:
            fault = find_fault(error)
            if fault and fault.status in {401, 403}:
                raise ModelAuthenticationError(f"the server of {self.name} refuses its key") from None
            kind = (
                ModelUnavailableError if fault and (fault.is_transient or fault.kind == "unreachable") else ModelError
            )
            raise kind(f"{self.name} failed: {type(error).__name__}: {to_single_line(str(error))}") from error


def _to_chunk(reply: ChatResponse) -> ReplyChunk:
    usage = reply.additional_kwargs
    return ReplyChunk(
        reply.delta or "",
        input_tokens=usage.get("prompt_tokens") or 0,
        output_tokens=usage.get("completion_tokens") or 0,
    )
