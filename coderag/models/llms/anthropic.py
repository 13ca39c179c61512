"""Models of Anthropic, through LlamaIndex's class."""

from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from contextlib import aclosing
from typing import Any

from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ChatResponseAsyncGen, LLMMetadata, MessageRole
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms.callbacks import llm_chat_callback
from llama_index.llms.anthropic import Anthropic

from coderag.models.llms.base import FinishReason, ReplyChunk, to_chat_messages
from coderag.models.llms.remote import ChatRequest
from coderag.models.llms.servers import build_client_options, get_explicit_temperature
from coderag.models.providers import PLACEHOLDER_KEY

_FINISHES: dict[str, FinishReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


class AnthropicChat(Anthropic):
    """LlamaIndex's class with an injected client: its own two clients are never closed and read the environment.

    It also sends requests itself: llama-index-llms-anthropic 0.12.3 fails with anthropic 1 and 2, where ``MessageParam`` is
    a union and ``create`` takes no temperature.

    Args:
        client: Client, which the caller closes.
        context_window: Context window in tokens; LlamaIndex knows only that of some models, and fails for others.
        fields: Fields of LlamaIndex's class.
    """

    _context_window: int = PrivateAttr()

    def __init__(self, client: AsyncAnthropic, context_window: int, **fields: Any) -> None:  # noqa: ANN401
        super(Anthropic, self).__init__(**fields)
        self._aclient = client
        self._context_window = context_window

    @property
    def metadata(self) -> LLMMetadata:
        """Metadata of the model for LlamaIndex's callbacks."""
        return LLMMetadata(
            context_window=self._context_window,
            num_output=self.max_tokens,
            is_chat_model=True,
            model_name=self.model,
        )

    @llm_chat_callback()
    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:  # noqa: ANN401
        """Stream the reply, each piece with its raw event."""
        rules = [message.content or "" for message in messages if message.role == MessageRole.SYSTEM]
        sent = [
            {"role": message.role.value, "content": message.content or ""}
            for message in messages
            if message.role != MessageRole.SYSTEM
        ]
        system = {"system": "\n\n".join(rules)} if rules else {}
        options = self._get_all_kwargs(**kwargs)
        options.pop("temperature", None)
        create: Any = self._aclient.messages.create  # its type hints do not cover parameters from a dict
        return _to_chat_responses(await create(messages=sent, stream=True, **system, **options))


async def stream_chat(request: ChatRequest) -> AsyncGenerator[ReplyChunk, None]:
    """Stream the reply of ``POST /v1/messages``.

    Source: https://docs.anthropic.com/en/api/messages-streaming
    """
    remote, settings = request.remote, request.settings
    async with DefaultAsyncHttpxClient(**build_client_options(remote)) as http_client:
        client = AsyncAnthropic(
            api_key=remote.secret or PLACEHOLDER_KEY,
            base_url=remote.address,
            timeout=remote.timeout_s,
            max_retries=0,  # one policy for all providers: RetryPolicy
            http_client=http_client,
        )
        model = AnthropicChat(
            client,
            settings.context_window,
            model=remote.model,
            max_tokens=settings.max_output_tokens,
            additional_kwargs={"extra_body": get_explicit_temperature(settings)},
        )
        async with aclosing(await model.astream_chat(to_chat_messages(request.prompt))) as replies:
            async for reply in replies:
                yield _to_chunk(reply.delta or "", reply.raw)


async def _to_chat_responses(events: AsyncIterable[Any]) -> ChatResponseAsyncGen:
    async for event in events:
        has_text = event.type == "content_block_delta" and event.delta.type == "text_delta"
        text = event.delta.text if has_text else ""
        yield ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=text), delta=text, raw=event)


def _to_chunk(text: str, event: Any) -> ReplyChunk:  # noqa: ANN401  # anthropic's RawMessageStreamEvent
    match event.type:
        case "message_start":
            return ReplyChunk(input_tokens=event.message.usage.input_tokens or 0)
        case "message_delta":
            reason = event.delta.stop_reason
            finish = _FINISHES.get(reason, "stop") if reason else ""
            return ReplyChunk(finish=finish, output_tokens=event.usage.output_tokens or 0)
        case _:
            return ReplyChunk(text)
