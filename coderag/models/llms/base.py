"""Base of language models: length check of prompts, and completeness check of replies."""

import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from coderag.errors import ModelError
from coderag.schema.prompts import Completion, CutOff, ModelPrompt
from coderag.text.token_counts import count_tokens

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage

FinishReason = Literal["", "stop", "length", "refused"]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReplyChunk:
    """A part of a reply, as received.

    Attributes:
        text: Text of the reply; empty for metadata and for reasoning.
        finish: Reason for the end of the reply; empty before the end.
        refusal: The model's reason to refuse.
        input_tokens, output_tokens: The server's counts so far; 0 if it sends none.
    """

    text: str = ""
    finish: FinishReason = ""
    refusal: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class _ReplyState:
    """State of a reply beside its text."""

    finish: FinishReason = ""
    refusals: list[str] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, chunk: ReplyChunk) -> None:
        if self.finish != "refused":  # the end of a refusal has an ordinary finish reason
            self.finish = chunk.finish or self.finish
        self.refusals.append(chunk.refusal)
        self.input_tokens = chunk.input_tokens or self.input_tokens
        self.output_tokens = chunk.output_tokens or self.output_tokens


class StreamingModel(ABC):
    """Base class of a `coderag.models.protocols.LanguageModel`; subclasses provide the stream.

    Attributes:
        name: Name such as ``ollama/qwen2.5-coder``.
        context_window: Maximum number of tokens of a prompt and its reply together.
        max_output_tokens: Maximum number of tokens of a reply; 0 if unknown.
    """

    def __init__(self, name: str, context_window: int, max_output_tokens: int) -> None:
        self.name = name
        self.context_window = context_window
        self.max_output_tokens = max_output_tokens

    @abstractmethod
    def _stream_chunks(self, prompt: ModelPrompt) -> AsyncGenerator[ReplyChunk, None]:
        """Stream the reply; one of the chunks has its finish reason. Raises `ModelError`."""

    async def stream(self, prompt: ModelPrompt) -> AsyncGenerator[str, None]:
        """Stream the reply in pieces; the first is not blank.

        A reply that reached ``llm.max_output_tokens`` ends with a `CutOff`, and a warning is logged.

        Raises:
            ModelError: The prompt is too long, the model failed or refused, or the reply broke off or is empty.
        """
        reply = _ReplyState()
        async with aclosing(self._stream_pieces(prompt, reply)) as pieces:
            async for piece in pieces:
                yield piece
        if reply.finish == "length":
            yield CutOff()

    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Return the whole reply, which is not blank. Raises as `stream`."""
        reply = _ReplyState()
        async with aclosing(self._stream_pieces(prompt, reply)) as pieces:
            text = "".join([piece async for piece in pieces]).rstrip()
        prompt_tokens = reply.input_tokens or count_tokens(prompt.text)
        reply_tokens = reply.output_tokens or count_tokens(text)
        return Completion(text, prompt_tokens, reply_tokens, cut=reply.finish == "length")

    async def _stream_pieces(self, prompt: ModelPrompt, reply: _ReplyState) -> AsyncGenerator[str, None]:
        self._check_length(prompt.text)
        has_begun = False
        async with aclosing(self._stream_chunks(prompt)) as chunks:
            async for chunk in chunks:
                reply.add(chunk)
                if piece := chunk.text if has_begun else chunk.text.lstrip():
                    has_begun = True
                    yield piece
        self._check_end(reply, has_begun)

    def _check_length(self, prompt: str) -> None:
        """Reject a prompt whose beginning some servers would silently drop."""
        max_tokens = self.context_window - self.max_output_tokens
        if len(prompt.encode("utf-8", "replace")) <= max_tokens:
            return  # a token has at least one byte
        tokens = count_tokens(prompt)
        if tokens > max_tokens:
            reply = f", with {self.max_output_tokens} for its reply," if self.max_output_tokens else ""
            message = (
                f"a prompt of {tokens} tokens{reply} is too long for {self.name}, which reads {self.context_window}"
            )
            raise ModelError(message, hint="Lower search.token_budget, or raise llm.context_window if the model can.")

    def _check_end(self, reply: _ReplyState, has_begun: bool) -> None:
        if reply.finish == "refused":
            refusal = "".join(reply.refusals).strip()
            message = f"{self.name} refuses to answer{f': {refusal}' if refusal else ''}"
            raise ModelError(message, hint="Rephrase the question, or set llm.model to another model.")
        if reply.finish == "length" and not has_begun:
            message = f"{self.name} used up its {self.max_output_tokens} tokens before the answer began"
            raise ModelError(message, hint="Raise llm.max_output_tokens: a reasoning model needs more.")
        if not has_begun:
            message = f"{self.name} sent an empty answer"
            raise ModelError(message, hint="Try again, or set llm.model to another model.")
        if reply.finish == "length":
            _logger.warning("%s was cut off at %d tokens (llm.max_output_tokens)", self.name, self.max_output_tokens)


def to_chat_messages(prompt: ModelPrompt) -> "list[ChatMessage]":
    """Convert a prompt to LlamaIndex messages."""
    from llama_index.core.base.llms.types import ChatMessage, MessageRole  # noqa: PLC0415  # takes seconds

    rules = [ChatMessage(role=MessageRole.SYSTEM, content=prompt.system)] if prompt.system else []
    return [*rules, ChatMessage(role=MessageRole.USER, content=prompt.user)]
