"""The models of the examples: scripted ones that need no key, or real ones by ``--model provider:name``."""

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage
    from llama_index.core.llms.function_calling import FunctionCallingLLM

ChatScript = Callable[[Sequence[BaseMessage]], AIMessage]
LLMScript = Callable[[Sequence["ChatMessage"]], "ChatMessage"]

LLMS = {
    "anthropic": ("llama_index.llms.anthropic", "Anthropic"),
    "ollama": ("llama_index.llms.ollama", "Ollama"),
    "openai": ("llama_index.llms.openai", "OpenAI"),
}


def arguments(description: str, question: str) -> argparse.Namespace:
    """Return what the command line says: ``repository``, ``question`` and ``model``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "repository", nargs="?", default=".", help="its folder; it is indexed first (default: this one)"
    )
    parser.add_argument("question", nargs="?", default=question, help=f"default: {question}")
    parser.add_argument(
        "--model", default="", help="such as ollama:qwen2.5-coder; without it a script stands in for one"
    )
    return parser.parse_args()


class ScriptedChat(BaseChatModel):
    """A chat model of LangChain whose replies a function makes of the conversation."""

    script: Any

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  # the signature is LangChain's
        run_manager: Any = None,  # noqa: ANN401, ARG002
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.script(messages))])

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, AIMessage]:  # noqa: ANN401, ARG002
        """Return the model: its script knows the tools."""
        return self

    @property
    def _llm_type(self) -> str:
        return "scripted"


def chat_model(name: str, script: ChatScript) -> BaseChatModel:
    """Return a chat model of LangChain; a real one needs ``pip install langchain langchain-<provider>``."""
    if not name:
        return ScriptedChat(script=script)
    model: BaseChatModel = import_module("langchain.chat_models").init_chat_model(name)
    return model


def llm(name: str, script: LLMScript) -> "FunctionCallingLLM":
    """Return a language model of LlamaIndex that follows a script, or a real one."""
    if name:
        return real_llm(name)
    from llama_index.core.llms.mock import MockFunctionCallingLLM  # noqa: PLC0415  # takes seconds

    return MockFunctionCallingLLM(response_generator=lambda messages, **_: script(messages), is_chat_model=True)


def real_llm(name: str) -> "FunctionCallingLLM":
    """Return a language model of LlamaIndex; any but Ollama's needs CodeRAG's extra of that name."""
    provider, _, model = name.partition(":")
    if provider not in LLMS or not model:
        raise SystemExit(f"--model is {name!r}; it must be provider:name with one of the providers {', '.join(LLMS)}")
    module, kind = LLMS[provider]
    made: FunctionCallingLLM = getattr(import_module(module), kind)(model=model)
    return made
