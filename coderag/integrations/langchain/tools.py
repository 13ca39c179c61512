"""Tools for LangChain and LangGraph."""

import asyncio
from typing import Any

from langchain_core.tools import StructuredTool, ToolException
from pydantic import ValidationError

from coderag.errors import InvalidQueryError
from coderag.integrations.agent_tools import AgentTool
from coderag.integrations.repository import AgentRepository, append_hints


def make_langchain_tool(repository: AgentRepository, tool: AgentTool) -> StructuredTool:
    """Return a tool whose reply is text for the model and, as its artifact, plain data for the program.

    What the model can mend, such as a name that is not there, it is told as the tool's reply with the status ``error``;
    all else, such as a missing index, is raised.
    """

    def reply(**arguments: Any) -> tuple[str, dict[str, Any]]:  # noqa: ANN401  # checked against the schema
        try:
            with append_hints():
                tool_reply = tool.reply(repository.prepare(), arguments)
        except InvalidQueryError as error:
            raise ToolException(str(error)) from error
        return repository.redact(tool_reply.text), tool_reply.artifact

    async def reply_async(**arguments: Any) -> tuple[str, dict[str, Any]]:  # noqa: ANN401
        return await asyncio.to_thread(reply, **arguments)

    return StructuredTool.from_function(
        reply,
        reply_async,
        name=tool.name,
        description=tool.description,
        args_schema=tool.arguments,
        response_format="content_and_artifact",
        handle_tool_error=True,
        handle_validation_error=_format_validation_error,
    )


def _format_validation_error(error: Any) -> str:  # noqa: ANN401  # LangChain also names the class of pydantic 1, which has the same text
    """Return what is wrong with a model's arguments, a line each."""
    details = error.errors() if isinstance(error, ValidationError) else ()
    return "\n".join(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details) or str(error)
