"""Any language model of LlamaIndex's, for programs that have one already."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager

from llama_index.core.llms import LLM, ChatResponse

from coderag.errors import CodeRAGError, ConfigurationError, ModelAuthenticationError, ModelError, ModelUnavailableError
from coderag.models.llms.base import ReplyChunk, StreamingModel, to_chat_messages
from coderag.models.remote_errors import find_fault, to_single_line
from coderag.schema.prompts import ModelPrompt


class LlamaIndexModel(StreamingModel):
    """An ``LLM`` of LlamaIndex's as CodeRAG's. Time-outs, repeated requests and the size of a reply are as it was made.

    Args:
        llm: The model.
        name: Part of the keys of what is cached; by default the names of the class and of the model.
        context_window: In tokens; by default what the model says of itself.

    Raises:
        ConfigurationError: The model does not say how much it reads.
    """

    def __init__(self, llm: LLM, name: str | None = None, context_window: int | None = None) -> None:
        try:
            metadata = llm.metadata
            window = context_window or metadata.context_window
            model, reply = metadata.model_name, metadata.num_output
        except ValueError as error:  # some look it up by the model's name, and do not know all
            if context_window is None:
                message = (
                    f"{llm.class_name()} does not say how many tokens its model reads: {to_single_line(str(error))}"
                )
                raise ConfigurationError(message, hint="Give it: LlamaIndexModel(llm, context_window=...).") from error
            window, model, reply = context_window, str(getattr(llm, "model", "")), 0
        default_name = f"{llm.class_name()}/{model}".rstrip("/")
        super().__init__(name or default_name, window, reply if 0 < reply < window else 0)
        self._llm = llm

    async def _stream_chunks(self, prompt: ModelPrompt) -> AsyncGenerator[ReplyChunk, None]:
        with self._translate_errors():
            async with aclosing(await self._llm.astream_chat(to_chat_messages(prompt))) as replies:
                async for reply in replies:
                    yield _to_chunk(reply)
            yield ReplyChunk(finish="stop")  # LlamaIndex has no common way to tell how a reply ended

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn whatever the model raises into a `ModelError`: what it may be is not known."""
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
