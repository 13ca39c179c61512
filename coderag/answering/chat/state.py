"""Types of the chat graph: input, output, state and context.

As in `coderag.schema.query`, state holds plain values. What need not be stored (the answer with its evidence) is in
untracked channels.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from langgraph.channels import UntrackedValue

from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import Candidate, QueryInput, QueryOutput

Approved = Literal["", "needed", "given", "declined"]
"""Approval of a long prompt; empty before it is needed."""

RunQuery = Callable[[QueryContext, QueryInput], Awaitable[tuple[QueryContext, QueryOutput]]]
"""Runner of the query graph inside the calling graph, whose stream gets its events.

It returns the output and the context that it was finally computed with, which differs if files were edited.
"""


class CitedPlace(TypedDict):
    """Citation of an answer.

    Attributes:
        place: ``path:10-42``, or ``path:10`` for one line.
        name: Qualified name of the declaration there, or that of its file.
        kind: A `coderag.schema.vocabulary.Kind`; empty if unknown.
    """

    place: str
    name: str
    kind: str


class Exchange(TypedDict):
    """A question and its answer.

    Attributes:
        text: Text that the person typed.
        question: Stand-alone question that was searched for; empty if lines were shown instead.
        answer: Answer in Markdown.
        cited: Citations in the order of their numbers, 1 first.
        focus: Names of the exchange's topic, for pronouns in the next question.
        generator: Author of the answer.
        asked: Time of the question, ISO 8601.
    """

    text: str
    question: str
    answer: str
    cited: list[CitedPlace]
    focus: list[str]
    generator: str
    asked: str


class ChatInput(TypedDict):
    """Typed text and its time (ISO 8601).

    Attributes:
        exchanges: Conversation so far, from a caller that keeps it; by default that of the thread.
    """

    text: str
    asked: str
    exchanges: NotRequired[list[Exchange]]


class ChatOutput(TypedDict):
    """Result of a turn.

    Attributes:
        exchanges: The whole conversation, this exchange last.
        answer: A `coderag.schema.answers.Answer` as a plain dict.
        results: Results that it is based on.
    """

    exchanges: list[Exchange]
    answer: Annotated[dict[str, Any], UntrackedValue]
    results: Annotated[list[Candidate], UntrackedValue]


class ChatState(ChatOutput):
    """State shared by the nodes.

    Attributes:
        text, asked: As in the input.
        question: Stand-alone question.
        follow_up: Whether the text depends on earlier turns; ``unknown`` if the rules cannot tell.
        places: Locations to show as they are.
        remark: Reason why something cannot be shown.
        wider: Whether more results than usual are wanted.
        named: Names and paths in the question.
        approved: Approval of the pending prompt.
        prompt_tokens: Size of that prompt.
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
    """Keys that a node changed."""

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
    """Collaborators and limits of a conversation, given to the graph by its caller.

    Attributes:
        query: Context of the query graph; node `ask` replaces it if files were edited.
        run_query: Runs the query graph.
        history_tokens: Maximum size of the conversation in a prompt.
        reply_tokens: Part of the model's window reserved for its reply.
        confirm_tokens: Prompt size that requires approval; 0 never does.
        price_per_million_tokens: Price of prompts; None if unknown.
    """

    query: QueryContext
    run_query: RunQuery
    history_tokens: int
    reply_tokens: int
    confirm_tokens: int = 0
    price_per_million_tokens: float | None = None
