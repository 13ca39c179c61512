"""Models of Google's Gemini API, through LlamaIndex's class."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import httpx
from google.genai import Client, types
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ChatResponseAsyncGen, MessageRole
from llama_index.llms.google_genai import GoogleGenAI
from llama_index.llms.google_genai.utils import prepare_chat_params

from coderag.models.llms.base import FinishReason, ReplyChunk, to_chat_messages
from coderag.models.llms.remote import ChatRequest
from coderag.models.llms.servers import build_client_options, get_explicit_temperature, load_certificates
from coderag.models.providers import PLACEHOLDER_KEY

_FINISHES: dict[str, FinishReason] = {"STOP": "stop", "MAX_TOKENS": "length"}


class GeminiChat(GoogleGenAI):
    """LlamaIndex's class with an injected client: its own reads address and credentials from the environment.

    Its replies include chunks that LlamaIndex drops or rejects: those without text, which hold the finish reason, and the
    last one of a reply that became too long.

    Args:
        client: Client, which the caller closes.
        config: Configuration of the generation.
        fields: Fields of LlamaIndex's class.
    """

    def __init__(self, client: Client, config: types.GenerateContentConfigDict, **fields: Any) -> None:  # noqa: ANN401
        super(GoogleGenAI, self).__init__(**fields)
        self._client = client
        self._generation_config = config
        self._max_tokens = config["max_output_tokens"] or 0

    async def _astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:  # noqa: ANN401
        config = {**self._generation_config, **kwargs}
        message, chat, _ = await prepare_chat_params(self.model, messages, "inline", generation_config=config)
        return self._stream_replies([*chat["history"], message], chat["config"])

    async def _stream_replies(self, contents: list[types.Content], config: Any) -> ChatResponseAsyncGen:  # noqa: ANN401
        stream = await self._client.aio.models.generate_content_stream(
            model=self.model, contents=contents, config=config
        )
        async for reply in stream:
            text = _extract_text(reply)
            yield ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=text), delta=text, raw=reply)


async def stream_chat(request: ChatRequest) -> AsyncGenerator[ReplyChunk, None]:
    """Stream the reply of ``:streamGenerateContent``.

    Source: https://ai.google.dev/api/generate-content
    """
    remote, settings = request.remote, request.settings
    async with httpx.AsyncClient(**build_client_options(remote)) as http_client:
        unused = {
            "verify": load_certificates(),
            "ssl": load_certificates(),
        }  # for additional clients that it creates anyway
        client = Client(
            vertexai=False,  # None would read the environment
            api_key=remote.secret or PLACEHOLDER_KEY,
            http_options=types.HttpOptions(
                base_url=remote.address, httpx_async_client=http_client, client_args=unused, async_client_args=unused
            ),
        )
        config: types.GenerateContentConfigDict = {
            "max_output_tokens": settings.max_output_tokens,
            "temperature": get_explicit_temperature(settings).get("temperature"),
        }
        model = GeminiChat(client, config, model=remote.model, context_window=settings.context_window)
        try:
            async with aclosing(await model.astream_chat(to_chat_messages(request.prompt))) as replies:
                async for reply in replies:
                    yield _to_chunk(reply.delta or "", reply.raw)
        finally:
            client.close()


def _extract_text(reply: types.GenerateContentResponse) -> str:
    content = reply.candidates[0].content if reply.candidates else None
    parts = (content.parts if content else None) or []
    return "".join(part.text for part in parts if part.text and not part.thought)


def _to_chunk(text: str, raw: Any) -> ReplyChunk:  # noqa: ANN401  # GenerateContentResponse
    finish: FinishReason = ""
    refusal = ""
    if raw.candidates:
        reason = raw.candidates[0].finish_reason
        finish = _FINISHES.get(reason.name, "refused") if reason else ""
        refusal = reason.name if finish == "refused" else ""
    elif raw.prompt_feedback and raw.prompt_feedback.block_reason:
        finish, refusal = "refused", f"the prompt is blocked: {raw.prompt_feedback.block_reason.name}"
    usage = raw.usage_metadata
    thought_tokens = (usage.thoughts_token_count or 0) if usage else 0
    return ReplyChunk(
        text,
        finish,
        refusal,
        input_tokens=(usage.prompt_token_count or 0) if usage else 0,
        output_tokens=(usage.candidates_token_count or 0) + thought_tokens if usage else 0,
    )
