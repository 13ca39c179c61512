"""Results that are prototypes: their definitions take their place."""

from collections.abc import Sequence
from dataclasses import replace

from coderag.answering.evidence.index_reader import Declared, IndexReader
from coderag.stores.snippets import Snippet, find_snippets_at_lines


def prefer_definitions(index: IndexReader, pieces: Sequence[Snippet]) -> list[Snippet]:
    """Return results with definitions in place of prototypes, each once.

    A piece with several prototypes and nothing else is left out, unless there is no other result.

    Args:
        index: The open index.
        pieces: Results, best first.
    """
    kept: dict[tuple[str, str, int], Snippet] = {}
    for piece in pieces:
        definitions = index.find_definitions_of_prototypes(piece)
        if len(definitions) > 1:
            continue
        shown = _build_definition(index, piece, definitions[0]) if definitions else piece
        kept.setdefault((shown.path, shown.name, shown.start_line), shown)
    return [*kept.values()] or list(pieces)


def _build_definition(index: IndexReader, piece: Snippet, definition: Declared) -> Snippet:
    """Return a definition as a piece that was found as its prototype was."""
    snippets = find_snippets_at_lines(index.corpus, definition.path, definition.start_line, definition.end_line)
    if not snippets:
        return piece
    lines = index.lines_of(definition)
    found = replace(
        snippets[0],
        name=definition.name,
        kind=definition.kind,
        score=piece.score,
        is_looked_up=piece.is_looked_up,
        relation=piece.relation,
        related_to=piece.related_to,
    )
    if lines is None:
        return found
    return replace(found, start_line=lines.start_line, end_line=lines.end_line, text=lines.text)
