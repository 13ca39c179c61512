"""State keys written by a CodeRAG node: plain values that any checkpointer can store."""

from typing import NotRequired

from typing_extensions import TypedDict  # as LangGraph, so that a state can inherit `MessagesState` and ours

from coderag.schema.answers import Answer
from coderag.schema.context import AssembledContext
from coderag.schema.vocabulary import Evidence


class CodeCitation(TypedDict):
    """A location in the repository that a text shows or relies on.

    Attributes:
        start_line, end_line: 1-based, both included.
        name: Qualified name of the declaration there; contexts only.
        relation: Relation to the results, such as ``caller``; absent for a result.
        verified: Whether the lines on disk match the index; answers only. ``reason`` explains a mismatch.
    """

    path: str
    start_line: int
    end_line: int
    name: NotRequired[str]
    relation: NotRequired[str]
    verified: NotRequired[bool]
    reason: NotRequired[str]


class CodeState(TypedDict, total=False):
    """Keys that `coderag.as_node` writes in addition to ``messages``; a parent's state may inherit them or rename them.

    Attributes:
        code_context: Code for the question as Markdown, or the answer with the goal ``answer``. Secrets are removed.
        citations: Locations that it shows or relies on, in its order.
        coderag_tokens: Tokens of ``code_context``. A context is within the budget, except for placeholders of removed
            secrets.
        coderag_evidence: Verdict of the search.
    """

    code_context: str
    citations: list[CodeCitation]
    coderag_tokens: int
    coderag_evidence: Evidence


def collect_context_citations(context: AssembledContext) -> list[CodeCitation]:
    """Collect the locations shown by a context, results first."""
    citations = []
    for item in (item for section in context.sections for item in section.items if item.path):
        citation = CodeCitation(path=item.path, start_line=item.start_line, end_line=item.end_line, name=item.name)
        if item.relation:
            citation["relation"] = item.relation
        citations.append(citation)
    return citations


def collect_answer_citations(answer: Answer) -> list[CodeCitation]:
    """Collect the locations cited by an answer, in its order."""
    return [
        CodeCitation(
            path=citation.path, start_line=citation.start_line, end_line=citation.end_line, verified=citation.verified
        )
        | ({"reason": citation.reason} if citation.reason else {})
        for citation in answer.citations
    ]
