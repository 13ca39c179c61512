"""Look up what the symbol table and the code graph know: definitions, users, relatives, tests, places."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.kin import DISPATCHED, FUNCTION_KINDS, TYPE_KINDS
from coderag.codegraph.questions import answer
from coderag.codegraph.relations import NOUNS
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.schema.graph import GraphNeighbour
from coderag.schema.query import Analysis, Candidate
from coderag.schema.vocabulary import RESOLVED, GraphRelation
from coderag.stores.corpus import Corpus
from coderag.stores.graph_tables import FILE_KIND
from coderag.stores.symbol_table import SymbolMatch
from coderag.text.tokenizer import text_terms

_MOST = 50  # results of one look-up
_MOST_NAMES = 3
_DECAY = 0.7  # of what makes a result better than a candidate, for each further step
_SURENESS_SHARE = 0.2  # so that no step further away is better for being surer
_MORE_STEPS: Final[Mapping[GraphRelation, int]] = MappingProxyType({"user": 1, "used": 1, "imported_by": 2})
_NAMES = frozenset({"identifier", "qualified_name"})
_LOCATIONS = frozenset({"location"})
_PLACES = _LOCATIONS | {"path"}
_EXACT_PLACE = 1.0
_SURE_ENOUGH = 0.7  # a match that is the same words in another spelling
_MOST_SNIPPET_TERMS = 300
_CALLING = frozenset({"caller", "user", "test_for"})
_LEAST_DOTS = 2  # in the name of what may be inside a function: ``function.Class.method``, ``function.variable``
_USERS = frozenset(noun for (_, direction), noun in NOUNS.items() if direction == "in")
"""What has the line of evidence itself: it is shown by that one, and what is used by its first."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was looked up; the analysis may have been made more precise by it."""

    candidates: list[Candidate]
    analysis: Analysis


def look_up(corpus: Corpus, graph: CodeGraph, analysis: Analysis) -> Found:
    """Return candidates that are known to be what the question asks for, each with a ``lookup`` score of 0 to 1."""
    if analysis["intent"] == "find_similar":
        return _similar(corpus, analysis)
    if analysis["intent"] == "find_definition":
        at_places = [_at(corpus, location) for location in _named(analysis, _LOCATIONS)]
        names = [_as_type(corpus, analysis["question"], name) for name in _named(analysis, _NAMES)]
        declared = [candidate for name in names for candidate in definitions(corpus, name)]
        found = {
            (candidate["chunk_id"], candidate["start_line"]): candidate
            for candidate in (*at_places, *declared)
            if candidate is not None
        }
        return Found(list(found.values()), analysis)
    names = _named(analysis, _NAMES | _PLACES)
    neighbours = answer(graph.permissive, analysis, names)
    return Found(_candidates(corpus, graph.symbols, neighbours), analysis)


def _named(analysis: Analysis, kinds: Collection[str]) -> list[str]:
    """Return the first things of some kinds that the question names."""
    return [entity["text"] for entity in analysis["entities"] if entity["kind"] in kinds][:_MOST_NAMES]


def definitions(corpus: Corpus, name: str) -> list[Candidate]:
    """Return where a name is declared, best match first."""
    matches = [match for match in corpus.symbols.find(name) if match.quality >= _SURE_ENOUGH]
    return [_declared(corpus, match) for match in matches[:_MOST]]


def _as_type(corpus: Corpus, question: str, name: str) -> str:
    """Return the name of the type that is meant by a word with an article, though a function or a field is called so too."""
    capital = name.capitalize()
    is_word = name.islower() and re.search(rf"\ban?\s+{re.escape(name)}\b", question) is not None
    found = corpus.symbols.find(capital) if is_word else []
    return capital if any(match.name == capital and match.kind in TYPE_KINDS for match in found) else name


def _at(corpus: Corpus, location: str) -> Candidate | None:
    """Return the innermost declaration at ``path:line``, or the chunk there; None if nothing of the index is."""
    row = _row_at(corpus, location)
    if row is None:
        return None
    line = int(location.rpartition(":")[2])
    around = [member for member in corpus.chunk_symbols[row] if member["start_line"] <= line <= member["end_line"]]
    if not around:
        return _candidate(corpus, row, _EXACT_PLACE, "", None)
    inner = max(around, key=lambda member: member["start_line"])
    return _candidate(
        corpus, row, _EXACT_PLACE, inner["qualified_name"], _shown(corpus, row, inner["start_line"], inner["end_line"])
    )


def _similar(corpus: Corpus, analysis: Analysis) -> Found:
    """Turn a place in the code, or a snippet, into the terms to look for."""
    for entity in analysis["entities"]:
        if entity["kind"] == "location" and (row := _row_at(corpus, entity["text"])) is not None:
            text = corpus.read_texts([row])[0]
            return Found([], _about(analysis, text, corpus.get_value("id", row)))
        if entity["kind"] == "snippet":
            return Found([], _about(analysis, entity["text"], ""))
    return Found([], analysis)


def _about(analysis: Analysis, text: str, chunk_id: str) -> Analysis:
    return {**analysis, "text": text, "terms": text_terms(text)[:_MOST_SNIPPET_TERMS], "similar_to": chunk_id}


def _row_at(corpus: Corpus, location: str) -> int | None:
    """Return the chunk at ``path:line``; the path may be the end of one."""
    path, _, line = location.rpartition(":")
    named = [file for file, known in enumerate(corpus.paths) if f"/{known}".endswith(f"/{path}")]
    named.sort(key=lambda file: len(corpus.paths[file]))  # the whole path before the end of another
    rows = (row for file in named[:1] for row in corpus.get_chunk_rows(file))
    return next((row for row in rows if corpus.start_lines[row] <= int(line) <= corpus.end_lines[row]), None)


def _candidates(corpus: Corpus, symbols: SymbolGraph, neighbours: Sequence[GraphNeighbour]) -> list[Candidate]:
    """Return one candidate a declaration, the best first."""
    files = {path: file for file, path in enumerate(corpus.paths)}
    declared = {(one.evidence, one.line) for one in neighbours if one.kind != FILE_KIND}
    found: dict[tuple[str, str, int], Candidate] = {}
    for neighbour in sorted(neighbours, key=lambda neighbour: -_score(neighbour)):
        if len(found) == _MOST:
            break
        is_file = neighbour.kind == FILE_KIND
        if is_file and (neighbour.path, neighbour.line) in declared:  # a decorator's call is the file's and the class's
            continue
        if neighbour.path not in files:  # outside the repository, or without text
            continue
        shown = symbols.node(outer) if (outer := _function_around(symbols, neighbour)) is not None else neighbour
        line = neighbour.line if neighbour.relation in _USERS else neighbour.start_line
        chunks = corpus.get_chunk_rows(files[neighbour.path])
        row = next((row for row in chunks if corpus.start_lines[row] <= line <= corpus.end_lines[row]), chunks[0])
        symbol = "" if is_file else shown.qualified_name
        lines = _shown(corpus, row, min(shown.start_line, line), shown.end_line)
        place = (neighbour.path, symbol, shown.start_line)
        found.setdefault(place, _candidate(corpus, row, _score(neighbour), symbol, lines))
    return list(found.values())


def _function_around(symbols: SymbolGraph, neighbour: GraphNeighbour) -> int | None:
    """Return the function that a user is a part of without being one, such as a variable or a method of a local class."""
    dots = neighbour.qualified_name.count(".") + (neighbour.kind not in FUNCTION_KINDS)
    if dots < _LEAST_DOTS or neighbour.relation not in _CALLING or neighbour.kind == FILE_KIND:
        return None
    node = symbols.at(neighbour.path, neighbour.start_line)
    if node is None:
        return None
    around = [node, *symbols.around(node)]
    is_function = [symbols.kinds[one] in FUNCTION_KINDS for one in around]
    inside = [place for place, is_one in enumerate(is_function) if not is_one and any(is_function[place:])]
    return around[is_function.index(True, inside[-1])] if inside else None


def _score(neighbour: GraphNeighbour) -> float:
    """Return how well a neighbour answers the question: the nearest best, of equally near ones the surest.

    What only names a declaration, may call it by way of another method, or helps tests without being one is as good as what
    is a step further away, what only imports it as what is two.
    """
    if neighbour.confidence < RESOLVED:
        return neighbour.confidence
    more = _MORE_STEPS.get(neighbour.relation, int(neighbour.confidence <= DISPATCHED or _helps_tests(neighbour)))
    steps = neighbour.depth - 1 + more
    nearness = _DECAY**steps * (1 - _SURENESS_SHARE + _SURENESS_SHARE * neighbour.confidence)
    return RESOLVED + (1 - RESOLVED) * nearness


def _helps_tests(neighbour: GraphNeighbour) -> bool:
    """Whether a function among tests is none, nor in one, by its name."""
    if neighbour.role != "test" or neighbour.kind not in FUNCTION_KINDS:
        return False
    names = neighbour.qualified_name.split(".")
    return not (names[-1].startswith("Test") or any(name.startswith("test") for name in names))


def _declared(corpus: Corpus, match: SymbolMatch) -> Candidate:
    """Return the candidate of a declaration: its own lines, or its chunk's if it spans several chunks."""
    row = match.row
    inside = corpus.start_lines[row] <= match.start_line and match.end_line <= corpus.end_lines[row]
    lines = (match.start_line, match.end_line) if inside else None
    return _candidate(corpus, row, match.quality, match.qualified_name, lines)


def _shown(corpus: Corpus, row: int, start_line: int, end_line: int) -> tuple[int, int] | None:
    """Return those lines of a declaration that are in a chunk; None if none are."""
    lines = max(int(corpus.start_lines[row]), start_line), min(int(corpus.end_lines[row]), end_line)
    return lines if lines[0] <= lines[1] else None


def _candidate(corpus: Corpus, row: int, score: float, symbol: str, lines: tuple[int, int] | None) -> Candidate:
    start, end = lines or (int(corpus.start_lines[row]), int(corpus.end_lines[row]))
    return Candidate(
        chunk_id=corpus.get_value("id", row),
        score=0.0,
        file_score=0.0,
        channels={"lookup": score},
        signals={},
        start_line=start,
        end_line=end,
        symbol=symbol,
    )
