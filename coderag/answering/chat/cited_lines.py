"""Chat answers that show cited lines, or explain why they cannot."""

from collections.abc import Iterator, Sequence

from coderag.answering.chat.focus import find_declaration
from coderag.answering.evidence.citation_checker import CitationChecker
from coderag.answering.evidence.cited_lines import to_cited_lines
from coderag.schema.answers import Answer, Citation
from coderag.schema.chunks import SymbolRecord, format_location
from coderag.schema.context import AssembledContext, ContextItem
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.corpus import Corpus
from coderag.stores.snippets import Snippet
from coderag.text.code_fences import make_fence

_MAX_WHOLE_DECLARATION_LINES = 80  # longer declarations are not extended to


def extend_to_declaration(corpus: Corpus, path: str, start_line: int, end_line: int) -> tuple[str, int, int]:
    """Extend lines to their declaration, unless it is too long or ends before them."""
    declared = find_declaration(corpus, path, start_line)
    if declared is None or declared["kind"] in FILE_NAMED_KINDS or end_line > declared["end_line"]:
        return path, start_line, end_line
    if declared["end_line"] - declared["start_line"] >= _MAX_WHOLE_DECLARATION_LINES:
        return path, start_line, end_line
    return path, declared["start_line"], declared["end_line"]


def build_cited_lines_answer(
    corpus: Corpus, query: str, context: AssembledContext, snippets: Sequence[Snippet], checker: CitationChecker
) -> Answer:
    """Build an answer from the lines of a context.

    Args:
        corpus: Corpus of the query.
        query: Typed text.
        context: Context of the locations.
        snippets: All lines of the locations as indexed, to compare with the files on disk.
        checker: Checker of citations.
    """
    citations = [checker.check(to_cited_lines(snippet)) for snippet in snippets]
    items = [item for section in context.sections for item in section.items]
    blocks = [_format_item(item, find_declaration(corpus, item.path, item.start_line)) for item in items]
    left_out = [
        f"- `{format_location(omission.path, omission.start_line, omission.end_line)}` did not fit: `{omission.fetch}`"
        for omission in context.omitted
    ]
    text = "\n\n".join([*blocks, *(["\n".join(left_out)] if left_out else []), *_format_warnings(citations)])
    return _build_answer(query, f"{text}\n", citations)


def build_remark_answer(query: str, remark: str) -> Answer:
    """Build an answer that explains why nothing can be shown."""
    return _build_answer(query, f"{remark}\n", [])


def _build_answer(query: str, text: str, citations: Sequence[Citation]) -> Answer:
    return Answer(
        query=query,
        intent="find_definition",
        text=text,
        citations=citations,
        verified=sum(citation.verified for citation in citations),
        total=len(citations),
        evidence="found" if citations else "not_found",
        hits=[],
        shape="definition" if citations else "not_found",
    )


def _format_item(item: ContextItem, declared: SymbolRecord | None) -> str:
    fence = make_fence(item.text)
    place = f"`{format_location(item.path, item.start_line, item.end_line)}`"
    title = f"**`{declared['qualified_name']}`** ({declared['kind'].replace('_', ' ')}), " if declared else ""
    heading = f"{title}{place}"
    return f"{heading}\n\n{fence}{item.language}\n{item.text}\n{fence}"


def _format_warnings(citations: Sequence[Citation]) -> Iterator[str]:
    """Yield a sentence for each file that changed since it was indexed."""
    for path, reason in {citation.path: citation.reason for citation in citations if citation.reason}.items():
        yield f"*This is `{path}` as it was indexed: {reason}.*"
