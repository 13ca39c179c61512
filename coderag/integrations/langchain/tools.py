"""LangChain tools."""

import asyncio
from typing import Any

from langchain_core.tools import StructuredTool, ToolException
from pydantic import ValidationError

from coderag.errors import InvalidQueryError
from coderag.integrations.agent_tools import AgentTool
from coderag.integrations.repository import AgentRepository, append_hints


def make_langchain_tool(repository: AgentRepository, tool: AgentTool) -> StructuredTool:
    """Make a LangChain tool that replies with text for the model and an artifact for the program.

    Errors that the model can fix, such as an unknown name, become replies with the status ``error``. Others, such as a
    missing index, are raised.
    """

    def reply(**arguments: Any) -> tuple[str, dict[str, Any]]:  # noqa: ANN401  # validated by the schema
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


def _format_validation_error(error: Any) -> str:  # noqa: ANN401  # may be an error of pydantic 1
    """Format the validation errors of a model's arguments, one per line."""
    details = error.errors() if isinstance(error, ValidationError) else ()
    return "\n".join(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details) or str(error)
