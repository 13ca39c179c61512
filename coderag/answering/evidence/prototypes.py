"""Replacement of prototypes among the results by their definitions."""

from collections.abc import Sequence
from dataclasses import replace

from coderag.answering.evidence.declared import Declared
from coderag.answering.evidence.index_reader import IndexReader
from coderag.stores.snippets import Snippet, find_snippets_at_lines


def prefer_definitions(index: IndexReader, pieces: Sequence[Snippet]) -> list[Snippet]:
    """Return results with definitions in place of prototypes, each once.

    A piece with several prototypes and nothing else is left out, unless there is no other result.

    Args:
        index: The open index.
        pieces: Results, best first.
    """
    results: dict[tuple[str, str, int], Snippet] = {}
    for piece in pieces:
        definitions = index.find_definitions_of_prototypes(piece)
        if len(definitions) > 1:
            continue
        result = _build_definition(index, piece, definitions[0]) if definitions else piece
        results.setdefault((result.path, result.name, result.start_line), result)
    return [*results.values()] or list(pieces)


def _build_definition(index: IndexReader, piece: Snippet, definition: Declared) -> Snippet:
    """Build the snippet of a definition with the score and relation of its prototype."""
    snippets = find_snippets_at_lines(index.corpus, definition.path, definition.start_line, definition.end_line)
    if not snippets:
        return piece
    lines = index.read_declaration(definition)
    snippet = replace(
        snippets[0],
        name=definition.name,
        kind=definition.kind,
        score=piece.score,
        is_looked_up=piece.is_looked_up,
        relation=piece.relation,
        related_to=piece.related_to,
    )
    if lines is None:
        return snippet
    return replace(snippet, start_line=lines.start_line, end_line=lines.end_line, text=lines.text)
