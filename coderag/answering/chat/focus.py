"""What an exchange was about, and what its citations are called, for the references of the next question."""

from collections.abc import Mapping, Sequence
from typing import Any

from coderag.answering.chat.references import spoken
from coderag.answering.chat.state import CitedPlace
from coderag.schema.chunks import SymbolRecord, format_location
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.corpus import Corpus
from coderag.stores.symbol_table import split_qualified


def cited_places(corpus: Corpus, citations: Sequence[Mapping[str, Any]]) -> list[CitedPlace]:
    """Return the places of an answer's citations, each with the declaration that is there.

    Args:
        corpus: The index.
        citations: `coderag.schema.answers.Citation` as plain dicts.
    """
    return [
        _cited(
            format_location(citation["path"], citation["start_line"], citation["end_line"]),
            declaration_at(corpus, citation["path"], citation["moved_from"] or citation["start_line"]),
        )
        for citation in citations
    ]


def focus_of(named: Sequence[str], cited: Sequence[CitedPlace]) -> list[str]:
    """Return what a question named, as a next question would say it; what was cited is called by its whole name.

    Args:
        named: Names and paths in the question.
        cited: By its answer.
    """
    return list(dict.fromkeys(_spoken_name(name, cited) for name in named))


def shown_focus(cited: Sequence[CitedPlace]) -> list[str]:
    """Return what lines that were shown are called."""
    return list(dict.fromkeys(map(spoken, cited)))


def _cited(place: str, declared: SymbolRecord | None) -> CitedPlace:
    if declared is None:
        return CitedPlace(place=place, name="", kind="")
    return CitedPlace(place=place, name=declared["qualified_name"], kind=declared["kind"])


def _spoken_name(name: str, cited: Sequence[CitedPlace]) -> str:
    if "/" in name:
        return name
    parts = split_qualified(name)
    for place in cited:
        if place["kind"] not in FILE_NAMED_KINDS and parts and split_qualified(place["name"])[-len(parts) :] == parts:
            return spoken(place)
    return f"`{name}`"


def declaration_at(corpus: Corpus, path: str, line: int) -> SymbolRecord | None:
    """Return the innermost declaration that a line is in, or the chunk as one; None for a file that is not in the index."""
    if path not in corpus.paths:
        return None
    rows = [
        row
        for row in corpus.get_chunk_rows(corpus.paths.index(path))
        if corpus.start_lines[row] <= line <= corpus.end_lines[row]
    ]
    symbols = [
        symbol
        for row in rows
        for symbol in corpus.chunk_symbols[row]
        if symbol["start_line"] <= line <= symbol["end_line"]
    ]
    if symbols:
        return max(symbols, key=lambda symbol: (symbol["start_line"], -symbol["end_line"]))
    return _chunk(corpus, rows[0]) if rows else None


def _chunk(corpus: Corpus, row: int) -> SymbolRecord:
    return SymbolRecord(
        name=corpus.get_value("name", row),
        qualified_name=corpus.get_value("qualified_name", row),
        kind=corpus.get_value("kind", row),
        start_line=int(corpus.start_lines[row]),
        end_line=int(corpus.end_lines[row]),
    )
