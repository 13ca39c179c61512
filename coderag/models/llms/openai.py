"""Models of OpenAI and compatible servers, through LlamaIndex's class."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from llama_index.llms.openai_like import OpenAILike
from openai import NOT_GIVEN, DefaultAsyncHttpxClient

from coderag.config.sections import LLMSettings
from coderag.config.server_addresses import DEFAULT_ADDRESSES, is_same_server
from coderag.errors import ConfigurationError
from coderag.models.llms.base import FinishReason, ReplyChunk, to_chat_messages
from coderag.models.llms.remote import ChatRequest
from coderag.models.llms.servers import build_client_options, get_explicit_temperature
from coderag.models.providers import PLACEHOLDER_KEY

_FINISHES: dict[str, FinishReason] = {"length": "length", "content_filter": "refused"}


async def stream_chat(request: ChatRequest) -> AsyncGenerator[ReplyChunk, None]:
    """Stream the reply of ``POST /chat/completions``.

    Source: https://platform.openai.com/docs/api-reference/chat-streaming
    """
    async with DefaultAsyncHttpxClient(**build_client_options(request.remote)) as client:
        model = _make_model(request, client)
        async with aclosing(await model.astream_chat(to_chat_messages(request.prompt))) as replies:
            async for reply in replies:
                yield _to_chunk(reply.delta or "", reply.raw)


def _make_model(request: ChatRequest, client: DefaultAsyncHttpxClient) -> OpenAILike:
    remote, settings = request.remote, request.settings
    is_own_server = is_same_server(remote.address, DEFAULT_ADDRESSES["openai"])
    try:
        return OpenAILike(
            model=remote.model,
            api_base=remote.address,
            api_key=remote.secret or PLACEHOLDER_KEY,
            context_window=settings.context_window,
            is_chat_model=True,
            max_tokens=None if is_own_server else settings.max_output_tokens,
            temperature=settings.temperature,
            timeout=remote.timeout_s,
            max_retries=0,  # one policy for all providers: RetryPolicy
            additional_kwargs={
                "stream_options": {"include_usage": True},
                **(_build_openai_options(settings) if is_own_server else {}),
            },
            async_http_client=client,
        )
    except ValueError as error:  # the model does not support chat completions
        raise ConfigurationError(f"llm.model: {error}", hint="Set llm.model to a chat model.") from error


def _build_openai_options(settings: LLMSettings) -> dict[str, Any]:
    """Build the options of OpenAI's own models: reasoning models reject a temperature and the old token limit.

    Source: https://platform.openai.com/docs/api-reference/chat/create
    """
    sampling = {"temperature": NOT_GIVEN, **get_explicit_temperature(settings)}
    return {"max_completion_tokens": settings.max_output_tokens, **sampling}


def _to_chunk(text: str, raw: Any) -> ReplyChunk:  # noqa: ANN401  # openai's ChatCompletionChunk; servers may omit fields
    finish: FinishReason = ""
    refusal = ""
    if raw.choices:
        choice = raw.choices[0]
        refusal = getattr(choice.delta, "refusal", None) or ""
        finish = _FINISHES.get(choice.finish_reason, "stop") if choice.finish_reason else ""
    return ReplyChunk(
        text,
        "refused" if refusal else finish,
        refusal=refusal,
        input_tokens=getattr(raw.usage, "prompt_tokens", 0) or 0,
        output_tokens=getattr(raw.usage, "completion_tokens", 0) or 0,
    )
