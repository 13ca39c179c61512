"""Tools for LlamaIndex."""

import asyncio
from typing import Any

from llama_index.core.tools import FunctionTool, ToolOutput

from coderag.integrations.calls import ToolCall
from coderag.integrations.repository import Repository, hints_told


def llama_index_tool(repository: Repository, call: ToolCall) -> FunctionTool:
    """Return a tool whose output is text for the model and, as ``raw_output``, plain data for the program.

    It raises every error, with the hint in its text: LlamaIndex's agents tell the model what a tool has raised.
    """

    def reply(**given: Any) -> ToolOutput:  # noqa: ANN401  # checked against the schema
        with hints_told():
            said = call.reply(repository.ready(), given)
        return ToolOutput(call.name, repository.for_model(said.text), raw_input=given, raw_output=said.artifact)

    async def areply(**given: Any) -> ToolOutput:  # noqa: ANN401
        return await asyncio.to_thread(reply, **given)

    # What a function returns is made into text, unless a callback returns an output.
    def output(made: ToolOutput) -> ToolOutput:
        return made

    async def aoutput(made: ToolOutput) -> ToolOutput:
        return made

    return FunctionTool.from_defaults(
        reply,
        name=call.name,
        description=call.description,
        fn_schema=call.arguments,
        async_fn=areply,
        callback=output,
        async_callback=aoutput,
    )
