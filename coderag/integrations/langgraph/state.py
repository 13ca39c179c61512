"""What a CodeRAG node writes into its parent's state: plain values, so that any checkpointer can keep them."""

from typing import NotRequired

from typing_extensions import TypedDict  # as LangGraph, so that a state can inherit `MessagesState` and ours

from coderag.schema.answers import Answer
from coderag.schema.context import AssembledContext
from coderag.schema.vocabulary import Evidence


class CodeCitation(TypedDict):
    """A place in the repository that a text shows or relies on.

    Attributes:
        start_line, end_line: 1-based, both included.
        name: Qualified name of the declaration there; only of contexts.
        relation: How it is related to the results, such as ``caller``; absent for a result.
        verified: Whether the lines on disk still are those of the index; only of answers. ``reason`` says why not.
    """

    path: str
    start_line: int
    end_line: int
    name: NotRequired[str]
    relation: NotRequired[str]
    verified: NotRequired[bool]
    reason: NotRequired[str]


class CodeState(TypedDict, total=False):
    """The keys that `coderag.as_node` writes beside ``messages``; a parent's state inherits them, or has its own names.

    Attributes:
        code_context: The code for the question, as Markdown; with the goal ``answer`` the answer. Secrets are removed.
        citations: The places that it shows or relies on, in its order.
        coderag_tokens: Size of ``code_context``. A context is within the budget, but for what stands for removed secrets.
        coderag_evidence: How well the repository answers the question.
    """

    code_context: str
    citations: list[CodeCitation]
    coderag_tokens: int
    coderag_evidence: Evidence


def collect_context_citations(context: AssembledContext) -> list[CodeCitation]:
    """Return the places that a context shows, results first."""
    citations = []
    for item in (item for section in context.sections for item in section.items if item.path):
        citation = CodeCitation(path=item.path, start_line=item.start_line, end_line=item.end_line, name=item.name)
        if item.relation:
            citation["relation"] = item.relation
        citations.append(citation)
    return citations


def collect_answer_citations(answer: Answer) -> list[CodeCitation]:
    """Return the places that an answer cites, in its order."""
    return [
        CodeCitation(
            path=citation.path, start_line=citation.start_line, end_line=citation.end_line, verified=citation.verified
        )
        | ({"reason": citation.reason} if citation.reason else {})
        for citation in answer.citations
    ]
