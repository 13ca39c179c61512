import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ChatResponseAsyncGen, LLMMetadata
from llama_index.core.llms import MockLLM
from llama_index.core.llms.mock import MockLLMWithNonyieldingChatStream

from coderag.errors import ConfigurationError, ModelAuthenticationError, ModelError, ModelUnavailableError
from coderag.models.llms.llama_index import LlamaIndexModel
from coderag.models.protocols import LanguageModel
from coderag.schema.prompts import ModelPrompt
from tests.loopback import Reply
from tests.loopback.ollama_server import OllamaServer

PROMPT = ModelPrompt(user="Where?", system="Rules.")


class Failing(MockLLM):
    """A model that raises what it is given."""

    error: Any = None

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        del messages, kwargs

        async def replies() -> ChatResponseAsyncGen:
            yield ChatResponse(message=ChatMessage(content="The "), delta="The ")
            raise self.error

        return replies()


def failing(error: BaseException) -> LlamaIndexModel:
    llm = Failing()
    llm.error = error
    return LlamaIndexModel(llm)


class Nameless(MockLLM):
    """A model whose class knows the windows of other models only."""

    @property
    def metadata(self) -> LLMMetadata:
        raise ValueError("Unknown model: m")


def test_any_model_of_llama_index_is_a_language_model():
    model = LlamaIndexModel(MockLLM(max_tokens=5))
    assert isinstance(model, LanguageModel)
    assert model.name.startswith("MockLLM")
    assert model.context_window > 0


def test_name_and_window_can_be_overridden():
    model = LlamaIndexModel(MockLLM(), "mine/1", 9_000)
    assert (model.name, model.context_window) == ("mine/1", 9_000)


async def test_replies_are_streamed():
    pieces = [piece async for piece in LlamaIndexModel(MockLLM()).stream(ModelPrompt("Where is it?"))]
    assert len(pieces) > 1
    assert "Where is it?" in "".join(pieces)


async def test_whole_reply_has_its_tokens_counted():
    completion = await LlamaIndexModel(MockLLM()).complete(PROMPT)
    assert completion.input_tokens > 0
    assert completion.output_tokens > 0


async def test_real_model_sends_rules_and_task_separately():
    from llama_index.llms.ollama import Ollama
    from ollama import AsyncClient

    with OllamaServer() as server:
        async with AsyncClient(server.url, trust_env=False) as client:
            llm = Ollama(model="qwen2.5-coder", base_url=server.url, context_window=4_096, async_client=client)
            model = LlamaIndexModel(llm)
            assert (await model.complete(PROMPT)).text == server.answer
            assert model.name == "Ollama_llm/qwen2.5-coder"
            server.next(Reply({"error": "unauthorized"}, 401))
            with pytest.raises(ModelAuthenticationError):
                await model.complete(PROMPT)
            server.next(Reply({"error": "overloaded"}, 503))
            with pytest.raises(ModelUnavailableError, match="overloaded"):
                await model.complete(PROMPT)
    assert [message["role"] for message in server.bodies[0]["messages"]] == ["system", "user"]


async def test_any_exception_is_a_model_error():
    with pytest.raises(ModelError, match=r"MockLLM.* failed: KeyError: 'choices.*of the reply'"):
        await failing(KeyError("choices\nof the reply")).complete(PROMPT)


async def test_cancelled_answer_stays_cancelled():
    with pytest.raises(asyncio.CancelledError):
        await failing(asyncio.CancelledError()).complete(PROMPT)


async def test_empty_reply_is_an_error():
    with pytest.raises(ModelError, match="sent an empty answer"):
        await LlamaIndexModel(MockLLMWithNonyieldingChatStream()).complete(PROMPT)


async def test_prompt_beyond_the_window_is_refused():
    model = LlamaIndexModel(MockLLM(), context_window=1_024)
    with pytest.raises(ModelError, match="too long for MockLLM"):
        await model.complete(ModelPrompt("a fairly ordinary word " * 400))


def test_model_without_context_window_needs_an_explicit_one():
    with pytest.raises(ConfigurationError, match="Unknown model: m") as caught:
        LlamaIndexModel(Nameless())
    assert "context_window=" in caught.value.hint
    assert LlamaIndexModel(Nameless(), context_window=8_000).context_window == 8_000
