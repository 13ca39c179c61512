"""The types of the chat graph: input, output, state and context.

As in `coderag.schema.query`, state holds plain values. What need not be kept (the answer with its evidence) is in
channels that it never sees.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from langgraph.channels import UntrackedValue

from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import Candidate, QueryInput, QueryOutput

Approved = Literal["", "needed", "given", "declined"]
"""Whether a person agreed to send a long prompt; empty before one is needed."""

RunQuery = Callable[[QueryContext, QueryInput], Awaitable[tuple[QueryContext, QueryOutput]]]
"""Runs the query graph as a part of the one that calls it, whose stream gets its events.

It returns with the output the context that it was made with in the end: another where files turned out to be edited.
"""


class CitedPlace(TypedDict):
    """What an answer cited.

    Attributes:
        place: As ``path:10-42``, of one line as ``path:10``.
        name: Qualified name of the declaration there; that of its file for other lines.
        kind: A `coderag.schema.vocabulary.Kind`; empty where it is not known.
    """

    place: str
    name: str
    kind: str


class Exchange(TypedDict):
    """A question and its answer.

    Attributes:
        text: What the person typed.
        question: What was searched for: the question that stands alone; empty if lines were shown instead.
        answer: In Markdown.
        cited: In the order of their numbers, 1 first.
        focus: Names of what the exchange was about, for "it" and "they" in the next question.
        generator: Who wrote the answer.
        asked: When, ISO 8601.
    """

    text: str
    question: str
    answer: str
    cited: list[CitedPlace]
    focus: list[str]
    generator: str
    asked: str


class ChatInput(TypedDict):
    """What a person typed, and when (ISO 8601).

    Attributes:
        exchanges: The conversation so far, from a caller that keeps it; by default the one that the thread has.
    """

    text: str
    asked: str
    exchanges: NotRequired[list[Exchange]]


class ChatOutput(TypedDict):
    """What came of it.

    Attributes:
        exchanges: The whole conversation, this exchange last.
        answer: A `coderag.schema.answers.Answer` as a plain dict.
        results: What it rests on.
    """

    exchanges: list[Exchange]
    answer: Annotated[dict[str, Any], UntrackedValue]
    results: Annotated[list[Candidate], UntrackedValue]


class ChatState(ChatOutput):
    """Everything the nodes share.

    Attributes:
        text, asked: As of the input.
        question: The question that stands alone.
        follow_up: Whether the typed text needs what was said before: ``unknown`` where the rules cannot tell.
        places: Places that are to be shown as they are.
        remark: Why something that was asked for cannot be shown.
        wider: Whether more results are wanted than usual.
        named: Names and paths in the question.
        approved: Of the prompt that is due.
        prompt_tokens: Its size.
    """

    text: str
    asked: str
    question: str
    follow_up: Literal["yes", "no", "unknown"]
    places: list[str]
    remark: str
    wider: bool
    named: list[str]
    approved: Approved
    prompt_tokens: int


class ChatUpdate(TypedDict, total=False):
    """What a node returns: the keys it changed."""

    exchanges: list[Exchange]
    answer: dict[str, Any]
    results: list[Candidate]
    question: str
    follow_up: Literal["yes", "no", "unknown"]
    places: list[str]
    remark: str
    wider: bool
    named: list[str]
    approved: Approved
    prompt_tokens: int


@dataclass(slots=True, kw_only=True)
class ChatContext:
    """The collaborators and limits of a conversation, given to the graph by its caller.

    Attributes:
        query: Those of the query graph; node `ask` replaces them where files turn out to be edited.
        run_query: Runs the query graph.
        history_tokens: What of the conversation a prompt carries, at most.
        reply_tokens: What of the model's window is left to its reply.
        confirm_tokens: Size of a prompt from which on a person is asked first; 0 never asks.
        price_per_million_tokens: Of prompts; None if it is not known.
    """

    query: QueryContext
    run_query: RunQuery
    history_tokens: int
    reply_tokens: int
    confirm_tokens: int = 0
    price_per_million_tokens: float | None = None
