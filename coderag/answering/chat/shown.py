"""Answers of a conversation that show what was cited, as it is, or say kindly why not."""

from collections.abc import Iterator, Sequence

from coderag.answering.chat.focus import declaration_at
from coderag.answering.citations import CitationChecker
from coderag.answering.draft import Lines
from coderag.schema.answers import Answer, Citation
from coderag.schema.chunks import SymbolRecord, location_of
from coderag.schema.context import AssembledContext, ContextItem
from coderag.schema.vocabulary import NAMED_BY_FILE
from coderag.stores.corpus import Corpus
from coderag.stores.pieces import Piece
from coderag.text.code_fences import fence_for

_LONGEST_WHOLE = 80  # lines of a declaration that is shown whole where a part of it was cited


def whole_lines(corpus: Corpus, path: str, start_line: int, end_line: int) -> tuple[str, int, int]:
    """Return the lines of the declaration that some lines are in, or those lines if it is long or ends before them."""
    declared = declaration_at(corpus, path, start_line)
    if declared is None or declared["kind"] in NAMED_BY_FILE or end_line > declared["end_line"]:
        return path, start_line, end_line
    if declared["end_line"] - declared["start_line"] >= _LONGEST_WHOLE:
        return path, start_line, end_line
    return path, declared["start_line"], declared["end_line"]


def shown_answer(
    corpus: Corpus, query: str, context: AssembledContext, pieces: Sequence[Piece], checker: CitationChecker
) -> Answer:
    """Return the lines of a context as an answer.

    Args:
        corpus: The index.
        query: As typed.
        context: Made of the places.
        pieces: All lines of the places as the index has them, to compare with the files on disk.
        checker: Compares them.
    """
    citations = [checker.check(Lines(piece.path, piece.start_line, piece.end_line, piece.text)) for piece in pieces]
    items = [item for section in context.sections for item in section.items]
    shown = [_block(item, declaration_at(corpus, item.path, item.start_line)) for item in items]
    left_out = [
        f"- `{location_of(left.path, left.start_line, left.end_line)}` did not fit: `{left.fetch}`"
        for left in context.omitted
    ]
    text = "\n\n".join([*shown, *(["\n".join(left_out)] if left_out else []), *_warnings(citations)])
    return _answer(query, f"{text}\n", citations)


def remark_answer(query: str, remark: str) -> Answer:
    """Return an answer that says why nothing can be shown."""
    return _answer(query, f"{remark}\n", [])


def _answer(query: str, text: str, citations: Sequence[Citation]) -> Answer:
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


def _block(item: ContextItem, declared: SymbolRecord | None) -> str:
    fence = fence_for(item.text)
    place = f"`{location_of(item.path, item.start_line, item.end_line)}`"
    named = f"**`{declared['qualified_name']}`** ({declared['kind'].replace('_', ' ')}), " if declared else ""
    heading = f"{named}{place}"
    return f"{heading}\n\n{fence}{item.language}\n{item.text}\n{fence}"


def _warnings(citations: Sequence[Citation]) -> Iterator[str]:
    """Yield a sentence for each file that is not as it was indexed."""
    for path, reason in {citation.path: citation.reason for citation in citations if citation.reason}.items():
        yield f"*This is `{path}` as it was indexed: {reason}.*"
