"""Tools for LangChain and LangGraph."""

import asyncio
from typing import Any

from langchain_core.tools import StructuredTool, ToolException
from pydantic import ValidationError

from coderag.errors import InvalidQueryError
from coderag.integrations.calls import ToolCall
from coderag.integrations.repository import Repository, hints_told


def langchain_tool(repository: Repository, call: ToolCall) -> StructuredTool:
    """Return a tool whose reply is text for the model and, as its artifact, plain data for the program.

    What the model can mend, such as a name that is not there, it is told as the tool's reply with the status ``error``;
    all else, such as a missing index, is raised.
    """

    def reply(**given: Any) -> tuple[str, dict[str, Any]]:  # noqa: ANN401  # checked against the schema
        try:
            with hints_told():
                said = call.reply(repository.ready(), given)
        except InvalidQueryError as error:
            raise ToolException(str(error)) from error
        return repository.for_model(said.text), said.artifact

    async def areply(**given: Any) -> tuple[str, dict[str, Any]]:  # noqa: ANN401
        return await asyncio.to_thread(reply, **given)

    return StructuredTool.from_function(
        reply,
        areply,
        name=call.name,
        description=call.description,
        args_schema=call.arguments,
        response_format="content_and_artifact",
        handle_tool_error=True,
        handle_validation_error=_invalid,
    )


def _invalid(error: Any) -> str:  # noqa: ANN401  # LangChain also names the class of pydantic 1, which has the same text
    """Return what is wrong with a model's arguments, a line each."""
    found = error.errors() if isinstance(error, ValidationError) else ()
    return "\n".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found) or str(error)
