"""The focus of a conversation: what its exchanges were about, and what the numbers of the last answer mean."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from coderag.answering.chat.state import CitedPlace, Exchange
from coderag.question.addresses import count_places
from coderag.question.conversation import Focus, MissingPlace, NumberedPlace
from coderag.schema.chunks import SymbolRecord, format_location
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.corpus import Corpus
from coderag.stores.symbol_table import split_qualified

_MAX_LISTED: Final = 10


def build_focus(exchanges: Sequence[Exchange]) -> Focus | None:
    """Build the focus of a conversation; None if nothing was said yet."""
    if not exchanges:
        return None
    cited = next((exchange["cited"] for exchange in reversed(exchanges) if exchange["cited"]), [])
    return Focus(
        question=next((exchange["question"] for exchange in reversed(exchanges) if exchange["question"]), "").strip(),
        subjects=exchanges[-1]["focus"],
        places=list(map(_to_place, cited)),
        recent=list(map(_to_place, exchanges[-1]["cited"])),
    )


def explain_missing(missing: MissingPlace, focus: Focus | None) -> str:
    """Explain why an address has no place, with the places that the last answer cites."""
    places = focus.places if focus else []
    if not places:
        return "Nothing is cited in this conversation yet, so no place has a number. Ask something first."
    counted = count_places(missing.noun, places)
    noun = missing.noun or "place"
    plural = "" if len(counted) == 1 else "es" if noun.endswith("s") else "s"
    number = f"no last {noun}" if missing.number < 0 else f"no number {missing.number}"
    listed = "\n".join(f"{at}. `{place.location}` {place.name}" for at, place in enumerate(places[:_MAX_LISTED], 1))
    cites = f"The last answer cites {len(counted) or 'no'} {noun}{plural}, so there is {number}"
    return f"{cites}. It cites:\n\n{listed}"


def find_cited_places(corpus: Corpus, citations: Sequence[Mapping[str, Any]]) -> list[CitedPlace]:
    """Return the places of an answer's citations, each with the declaration that is there.

    Args:
        corpus: The index.
        citations: `coderag.schema.answers.Citation` as plain dicts.
    """
    return [
        _to_cited_place(
            format_location(citation["path"], citation["start_line"], citation["end_line"]),
            find_declaration(corpus, citation["path"], citation["moved_from"] or citation["start_line"]),
        )
        for citation in citations
    ]


def list_named_subjects(named: Sequence[str], cited: Sequence[CitedPlace]) -> list[str]:
    """Return what a question named, as a next question names it; what was cited is called by its whole name.

    Args:
        named: Names and paths in the question.
        cited: By its answer.
    """
    places = list(map(_to_place, cited))
    return list(dict.fromkeys(_find_term(name, places) for name in named))


def list_cited_subjects(cited: Sequence[CitedPlace]) -> list[str]:
    """Return what cited lines are called."""
    return list(dict.fromkeys(_to_place(place).term for place in cited))


def find_declaration(corpus: Corpus, path: str, line: int) -> SymbolRecord | None:
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
    return _to_symbol(corpus, rows[0]) if rows else None


def _to_place(cited: CitedPlace) -> NumberedPlace:
    return NumberedPlace(cited["place"], cited["place"].rpartition(":")[0], cited["name"], cited["kind"])


def _to_cited_place(place: str, declared: SymbolRecord | None) -> CitedPlace:
    if declared is None:
        return CitedPlace(place=place, name="", kind="")
    return CitedPlace(place=place, name=declared["qualified_name"], kind=declared["kind"])


def _find_term(name: str, places: Sequence[NumberedPlace]) -> str:
    if "/" in name:
        return name
    parts = split_qualified(name)
    for place in places:
        if place.kind not in FILE_NAMED_KINDS and parts and split_qualified(place.name)[-len(parts) :] == parts:
            return place.term
    return f"`{name}`"


def _to_symbol(corpus: Corpus, row: int) -> SymbolRecord:
    return SymbolRecord(
        name=corpus.get_value("name", row),
        qualified_name=corpus.get_value("qualified_name", row),
        kind=corpus.get_value("kind", row),
        start_line=int(corpus.start_lines[row]),
        end_line=int(corpus.end_lines[row]),
    )
