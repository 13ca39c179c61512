"""Models of an Ollama server, through LlamaIndex's class."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from llama_index.llms.ollama import Ollama
from ollama import AsyncClient

from coderag.models.llms.base import FinishReason, ReplyChunk, to_chat_messages
from coderag.models.llms.remote import ChatRequest
from coderag.models.llms.servers import load_certificates
from coderag.models.providers import build_ollama_options


async def stream_chat(request: ChatRequest) -> AsyncGenerator[ReplyChunk, None]:
    """Stream the reply of ``POST /api/chat``.

    Source: https://github.com/ollama/ollama/blob/main/docs/api.md
    """
    remote, settings = request.remote, request.settings
    # A client is bound to its first event loop, and a model may be used from several.
    options = build_ollama_options(remote.address, remote.timeout_s, remote.secret)
    async with AsyncClient(remote.address, follow_redirects=False, verify=load_certificates(), **options) as client:
        model = Ollama(
            model=remote.model,
            base_url=remote.address,
            context_window=settings.context_window,
            temperature=settings.temperature,
            request_timeout=remote.timeout_s,
            additional_kwargs={"num_predict": settings.max_output_tokens},
            async_client=client,
        )
        async with aclosing(await model.astream_chat(to_chat_messages(request.prompt))) as replies:
            async for reply in replies:
                yield _to_chunk(reply.delta or "", reply.raw)


def _to_chunk(text: str, raw: Any) -> ReplyChunk:  # noqa: ANN401  # the reply's JSON
    finish: FinishReason = ""
    if raw.get("done"):
        finish = "length" if raw.get("done_reason") == "length" else "stop"
    return ReplyChunk(
        text, finish, input_tokens=raw.get("prompt_eval_count") or 0, output_tokens=raw.get("eval_count") or 0
    )
