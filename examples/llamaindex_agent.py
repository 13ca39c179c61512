"""A LlamaIndex agent with CodeRAG's tools: it searches, looks a symbol up, and says what it found.

Run it with ``python examples/llamaindex_agent.py [repository] [question] [--model provider:name]``.
"""

import asyncio
import re
from collections.abc import Sequence

from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.llms.function_calling import FunctionCallingLLM
from models import arguments, llm

from coderag import as_tools

RULES = "You answer questions about one repository. Use the tools; name each place as path:line. Do not guess."
_RESULT = re.compile(r"^1\. (?P<place>\S+) \w+ `(?P<name>[^`]+)`", re.MULTILINE)
_CALLERS = re.compile(r"^called by:\n(?P<callers>(?:- .*\n?)+)", re.MULTILINE)


def agent(repository: str, model: FunctionCallingLLM) -> FunctionAgent:
    """Return the agent."""
    return FunctionAgent(
        tools=as_tools(repository, "llama_index", index=True), llm=model, system_prompt=RULES, streaming=False
    )


def script(messages: Sequence[ChatMessage]) -> ChatMessage:
    """Reply as a model would: search for the question, look the best result up, then say who calls it."""
    said = [message.content or "" for message in messages if message.role == MessageRole.TOOL]
    question = next(message.content or "" for message in reversed(messages) if message.role == MessageRole.USER)
    if not said:
        return call("search_code", {"query": question, "top_k": 5})
    best = _RESULT.search(said[0])
    if best is None:
        return ChatMessage(role="assistant", content="I found nothing about that.")
    if len(said) == 1:
        return call("get_symbol", {"name": best["name"]})
    callers = _CALLERS.search(said[1])
    used = f"It is called by:\n{callers['callers']}" if callers else "Nothing in the repository calls it."
    return ChatMessage(role="assistant", content=f"The best match is `{best['name']}` at {best['place']}. {used}")


def call(tool: str, given: dict[str, object]) -> ChatMessage:
    """Return the message by which a model calls a tool."""
    return ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_call_id=tool, tool_name=tool, tool_kwargs=given)])


async def main() -> None:
    """Ask the agent one question, and show what it calls."""
    given = arguments("A LlamaIndex agent with CodeRAG's tools.", "which function fuses the channels of a search")
    run = agent(given.repository, llm(given.model, script)).run(given.question)
    async for event in run.stream_events():
        if isinstance(event, ToolCallResult):
            lines = event.tool_output.content.splitlines()
            print(f"{event.tool_name} {event.tool_kwargs}: {len(lines)} lines, such as")
            print("\n".join(f"    {line}" for line in lines[:4]))
    print(f"\n{await run}")


if __name__ == "__main__":
    asyncio.run(main())
