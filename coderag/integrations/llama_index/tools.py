"""LlamaIndex tools."""

import asyncio
from typing import Any

from llama_index.core.tools import FunctionTool, ToolOutput

from coderag.integrations.agent_tools import AgentTool
from coderag.integrations.repository import AgentRepository, append_hints


def make_llama_index_tool(repository: AgentRepository, tool: AgentTool) -> FunctionTool:
    """Make a LlamaIndex tool that returns text for the model and data for the program as ``raw_output``.

    All errors are raised with their hint in the text: LlamaIndex's agents pass exceptions to the model.
    """

    def reply(**arguments: Any) -> ToolOutput:  # noqa: ANN401  # validated by the schema
        with append_hints():
            tool_reply = tool.reply(repository.prepare(), arguments)
        return ToolOutput(
            tool.name, repository.redact(tool_reply.text), raw_input=arguments, raw_output=tool_reply.artifact
        )

    async def reply_async(**arguments: Any) -> ToolOutput:  # noqa: ANN401
        return await asyncio.to_thread(reply, **arguments)

    # A plain return value would become text; a callback that returns a ToolOutput prevents that.
    def keep_output(tool_output: ToolOutput) -> ToolOutput:
        return tool_output

    async def keep_output_async(tool_output: ToolOutput) -> ToolOutput:
        return tool_output

    return FunctionTool.from_defaults(
        reply,
        name=tool.name,
        description=tool.description,
        fn_schema=tool.arguments,
        async_fn=reply_async,
        callback=keep_output,
        async_callback=keep_output_async,
    )
