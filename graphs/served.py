"""Query graph for LangGraph's own server and Studio: it opens the repository that the input names.

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

_MAX_OPEN_REPOSITORIES = 8


class ServedError(RuntimeError):
    """Error of CodeRAG with a text that the client sees: the server hides the text of unknown classes."""


class ServedFilters(TypedDict, total=False):
    """Filters as in `coderag.schema.query.FilterValues`; a missing one allows everything."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]  # pydantic reads it from a TypedDict

    languages: list[str]
    kinds: list[str]
    paths: list[str]
    roles: list[str]
    complexity: list[int]
    changed: list[str]


class ServedInput(TypedDict):
    """Input of a client; only ``query`` is required. A thread keeps nothing of it for its next run.

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


@lru_cache(_MAX_OPEN_REPOSITORIES)
def open_repository(path: str) -> CodeRAG:
    """Return the repository at a path, opened once."""
    return CodeRAG(path)


async def query(state: ServedInput) -> dict[str, Any]:
    """Run the query graph on the repository's index; clients that stream subgraphs see its steps.

    The next run of a thread starts from scratch: keys without a value for this goal are empty, and the trace is its own.

    Raises:
        ServedError: CodeRAG raised an error.
    """
    try:
        with append_hints(unindexed_hint=""):
            query_input = validate_input(state)
            repository = await asyncio.to_thread(open_repository, query_input.pop("repository", "."))
            output = await repository.aquery(cast("QueryInput", {"goal": "answer", **query_input}))
    except CodeRAGError as error:
        raise ServedError(f"{type(error).__name__}: {error}") from error
    return {"related": [], "context": {}, "answer": {}, **output, "trace": Overwrite(output["trace"])}


def validate_input(state: ServedInput) -> dict[str, Any]:
    """Return the input of a client with complete filters.

    Validation happens here: a schema that LangGraph validates makes the thread unusable after an invalid input.

    Raises:
        InvalidQueryError: A value is invalid.
    """
    try:
        query_input: dict[str, Any] = dict(_CHECK.validate_python(state))
    except ValidationError as error:
        details = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise InvalidQueryError(f"invalid input: {details}") from error
    if "filters" in query_input:
        query_input["filters"] = {**NO_FILTERS, **query_input["filters"]}
    return query_input


def build() -> CompiledStateGraph[QueryOutput, None, ServedInput, QueryOutput]:
    """Return the compiled graph."""
    builder = StateGraph(QueryOutput, input_schema=ServedInput, output_schema=QueryOutput)
    builder.add_node("query", query)
    builder.add_edge(START, "query")
    builder.add_edge("query", END)
    return builder.compile(name="coderag")


graph = build()
