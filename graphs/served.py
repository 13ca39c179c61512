"""The query graph as LangGraph's own server and Studio run it: it opens the repository that the input names.

`coderag.graphs.query` needs an open index in its context, which a server cannot take from a request.
"""

import asyncio
from functools import lru_cache
from typing import Annotated, Any, NotRequired, cast

from langgraph.channels import EphemeralValue
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from coderag.app import CodeRAG
from coderag.config.sections import MAX_RESULTS, MAX_TOKENS, MIN_TOKENS
from coderag.errors import CodeRAGError, InvalidQueryError
from coderag.integrations.repository import append_hints
from coderag.retrieval.filters import NO_FILTERS
from coderag.schema.query import Goal, QueryInput, QueryOutput
from coderag.schema.vocabulary import ContextFormat

_OPEN_REPOSITORIES = 8


class ServedError(RuntimeError):
    """An error of CodeRAG as a client may see it: of classes that it does not know, the server hides the text."""


class ServedFilters(TypedDict, total=False):
    """What may be a result, as `coderag.schema.query.FilterValues`; what is left out is any."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]  # how pydantic says it of a TypedDict

    languages: list[str]
    kinds: list[str]
    paths: list[str]
    roles: list[str]
    complexity: list[int]
    changed: list[str]


class ServedInput(TypedDict):
    """What a client gives; only ``query`` is required. A thread keeps none of it for its next run.

    Attributes:
        repository: Its folder; by default the one that the server runs in.
        goal: By default ``answer``. The others are as of `coderag.schema.query.QueryInput`.
    """

    query: Annotated[str, Field(min_length=1), EphemeralValue]
    repository: NotRequired[Annotated[str, EphemeralValue]]
    goal: NotRequired[Annotated[Goal, EphemeralValue]]
    top_k: NotRequired[Annotated[int, Field(ge=1, le=MAX_RESULTS), EphemeralValue]]
    token_budget: NotRequired[Annotated[int, Field(ge=MIN_TOKENS, le=MAX_TOKENS), EphemeralValue]]
    filters: NotRequired[Annotated[ServedFilters, EphemeralValue]]
    history: NotRequired[Annotated[str, EphemeralValue]]
    explain: NotRequired[Annotated[bool, EphemeralValue]]
    shown: NotRequired[Annotated[list[str], EphemeralValue]]
    format: NotRequired[Annotated[ContextFormat, EphemeralValue]]


_CHECK = TypeAdapter(ServedInput)


@lru_cache(_OPEN_REPOSITORIES)
def open_repository(path: str) -> CodeRAG:
    """Return the repository at a path, opened once."""
    return CodeRAG(path)


async def query(state: ServedInput) -> dict[str, Any]:
    """Run the query graph on the repository's index; its steps reach who streams those of subgraphs.

    A thread's next run begins afresh: what this goal has not is empty, and the trace is this run's.

    Raises:
        ServedError: Whatever CodeRAG raised.
    """
    try:
        with append_hints(unindexed_hint=""):
            asked = checked(state)
            repository = await asyncio.to_thread(open_repository, asked.pop("repository", "."))
            output = await repository.aquery(cast("QueryInput", {"goal": "answer", **asked}))
    except CodeRAGError as error:
        raise ServedError(f"{type(error).__name__}: {error}") from error
    return {"related": [], "context": {}, "answer": {}, **output, "trace": Overwrite(output["trace"])}


def checked(state: ServedInput) -> dict[str, Any]:
    """Return the input, which came over the wire, with whole filters.

    It is checked here because a schema that checks it as LangGraph reads it leaves the thread unusable after a mistake.

    Raises:
        InvalidQueryError: A value is none that the query graph takes.
    """
    try:
        asked: dict[str, Any] = dict(_CHECK.validate_python(state))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise InvalidQueryError(f"the input cannot be used: {wrong}") from error
    if "filters" in asked:
        asked["filters"] = {**NO_FILTERS, **asked["filters"]}
    return asked


def build() -> CompiledStateGraph[QueryOutput, None, ServedInput, QueryOutput]:
    """Return the compiled graph."""
    builder = StateGraph(QueryOutput, input_schema=ServedInput, output_schema=QueryOutput)
    builder.add_node("query", query)
    builder.add_edge(START, "query")
    builder.add_edge("query", END)
    return builder.compile(name="coderag")


graph = build()
