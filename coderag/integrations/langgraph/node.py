"""LangGraph node for foreign graphs."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, Literal, TypedDict

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig

from coderag.errors import ConfigurationError
from coderag.integrations.langgraph.questions import read_budget, read_question
from coderag.integrations.langgraph.state import CodeState, collect_answer_citations, collect_context_citations
from coderag.integrations.repository import AgentRepository, RepositoryLike, append_hints
from coderag.schema.answers import Answer
from coderag.schema.context import AssembledContext
from coderag.schema.search import Filters
from coderag.text.token_counts import count_tokens

NodeGoal = Literal["context", "answer"]
_OUTPUT_KEYS: Final = ("messages", *CodeState.__annotations__)


class _Limits(TypedDict):
    token_budget: int | None
    filters: Filters | None


class CodeNode(Runnable[Any, dict[str, Any]]):
    """Node made by `as_node`. A graph may run it by ``invoke`` or ``ainvoke``."""

    def __init__(
        self,
        repository: AgentRepository,
        *,
        goal: NodeGoal,
        question_key: str,
        budget_key: str,
        keys: Mapping[str, str | None],
        token_budget: int | None,
        filters: Filters | None,
    ) -> None:
        self.name = "coderag"
        self._repository = repository
        self._goal = goal
        self._question_key = question_key
        self._budget_key = budget_key
        self._keys = {key: keys.get(key, key) for key in _OUTPUT_KEYS}
        self._token_budget = token_budget
        self._filters = filters

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:  # noqa: A002, ANN401, ARG002
        """Return the update of the parent's state."""
        with append_hints():
            query, limits = self._read_request(input)
            rag = self._repository.prepare()
            if self._goal == "answer":
                return self._update(rag.ask(query, **limits))
            return self._update(rag.context(query, **limits))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:  # noqa: A002, ANN401, ARG002
        """Return the update of the parent's state without blocking the event loop."""
        with append_hints():
            query, limits = self._read_request(input)
            rag = await self._repository.prepare_async()
            if self._goal == "answer":
                return await asyncio.to_thread(self._update, await rag.aask(query, **limits))
            return await asyncio.to_thread(lambda: self._update(rag.context(query, **limits)))

    def _read_request(self, state: Any) -> tuple[str, _Limits]:  # noqa: ANN401
        budget = read_budget(state, self._budget_key)
        limits = _Limits(token_budget=self._token_budget if budget is None else budget, filters=self._filters)
        return read_question(state, self._question_key), limits

    def _update(self, result: AssembledContext | Answer) -> dict[str, Any]:
        text = self._repository.redact(result.text)
        if isinstance(result, AssembledContext):
            citations, tokens = (
                collect_context_citations(result),
                result.tokens if text == result.text else count_tokens(text),
            )
        else:
            citations, tokens = collect_answer_citations(result), count_tokens(text)
        state_update = CodeState(
            code_context=text, citations=citations, coderag_tokens=tokens, coderag_evidence=result.evidence
        )
        values = {"messages": [AIMessage(text, name=self.name)], **state_update}
        return {name: values[key] for key, name in self._keys.items() if name}


def as_node(  # noqa: PLR0913  # one parameter per option
    repository: RepositoryLike,
    *,
    goal: NodeGoal = "context",
    question_key: str = "messages",
    budget_key: str = "token_budget",
    keys: Mapping[str, str | None] | None = None,
    token_budget: int | None = None,
    filters: Filters | None = None,
    index: bool = False,
) -> CodeNode:
    """Make a node that reads a question from the parent's state and writes code or an answer into it.

    It writes ``messages`` (one ``AIMessage``) and the keys of `CodeState`; LangGraph drops keys that the parent lacks.
    Streaming the parent with ``subgraphs=True`` yields its steps and parts of the answer.

    Args:
        repository: The repository, or the path of its folder.
        goal: ``context`` for code within the budget, ``answer`` for an answer with checked citations.
        question_key: Key of the question: a text, or messages, of which the last human one is used.
        budget_key: Key of an optional token budget in the state, which overrides `token_budget`.
        keys: New names of written keys; None omits a key.
        token_budget: Maximum tokens of the context; by default ``search.token_budget``.
        filters: Filters of the code.
        index: Whether the first call updates the index; otherwise a missing index is an error.

    Raises:
        IngestionError: The folder cannot be indexed.
        ConfigurationError: Its settings are invalid, or `keys` names an unknown key.

    Example:
        >>> builder.add_node("coderag", coderag.as_node("path/to/repo", token_budget=4000))
    """
    if unknown := sorted((keys or {}).keys() - set(_OUTPUT_KEYS)):
        raise ConfigurationError(f"unknown keys {', '.join(unknown)}; known keys: {', '.join(_OUTPUT_KEYS)}")
    return CodeNode(
        AgentRepository(repository, index=index),
        goal=goal,
        question_key=question_key,
        budget_key=budget_key,
        keys=keys or {},
        token_budget=token_budget,
        filters=filters,
    )
