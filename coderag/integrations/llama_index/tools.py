"""Tools for LlamaIndex."""

import asyncio
from typing import Any

from llama_index.core.tools import FunctionTool, ToolOutput

from coderag.integrations.agent_tools import AgentTool
from coderag.integrations.repository import AgentRepository, append_hints


def make_llama_index_tool(repository: AgentRepository, tool: AgentTool) -> FunctionTool:
    """Return a tool whose output is text for the model and, as ``raw_output``, plain data for the program.

    It raises every error, with the hint in its text: LlamaIndex's agents tell the model what a tool has raised.
    """

    def reply(**arguments: Any) -> ToolOutput:  # noqa: ANN401  # checked against the schema
        with append_hints():
            tool_reply = tool.reply(repository.prepare(), arguments)
        return ToolOutput(
            tool.name, repository.redact(tool_reply.text), raw_input=arguments, raw_output=tool_reply.artifact
        )

    async def reply_async(**arguments: Any) -> ToolOutput:  # noqa: ANN401
        return await asyncio.to_thread(reply, **arguments)

    # What a function returns is made into text, unless a callback returns an output.
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
