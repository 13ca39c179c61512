"""Lookup of definitions, usages, relatives, tests and locations in the symbol table and the code graph."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.declaration_groups import DISPATCH_CONFIDENCE, FUNCTION_KINDS
from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.relation_queries import find_relations, select_neighbours
from coderag.codegraph.relations import NEIGHBOUR_RELATIONS
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.schema.graph import GraphNeighbour, RelationQuery
from coderag.schema.query import Analysis, Candidate
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE, GraphRelation
from coderag.stores.corpus import Corpus
from coderag.stores.graph_tables import FILE_KIND
from coderag.stores.symbol_table import SymbolMatch
from coderag.text.tokenizer import tokenize_text

_MAX_RESULTS = 50
_MAX_NAMES = 3
_STEP_DECAY = 0.7  # factor per step on the score above `MIN_RESOLVED_CONFIDENCE`
_CONFIDENCE_SHARE = 0.2  # small enough that distance always outweighs confidence
_EXTRA_STEPS: Final[Mapping[GraphRelation, int]] = MappingProxyType({"user": 1, "used": 1, "imported_by": 2})
_NAME_ENTITIES = frozenset({"identifier", "qualified_name"})
_LOCATION_ENTITIES = frozenset({"location"})
_PLACE_ENTITIES = _LOCATION_ENTITIES | {"path"}
_EXACT_SCORE = 1.0
_MIN_QUALITY = 0.7  # the same words in another spelling
_MAX_SNIPPET_TERMS = 300
_USING_RELATIONS = frozenset({"caller", "user", "test_for"})
_MIN_DOTS = 2  # names inside functions: ``function.Class.method``, ``function.variable``
_INCOMING_RELATIONS = frozenset(
    relation for (_, direction), relation in NEIGHBOUR_RELATIONS.items() if direction == "in"
)
"""Relations whose far end contains the line of evidence, which selects its chunk; else its first line does."""


@dataclass(frozen=True, slots=True)
class LookupResult:
    """Result of a lookup.

    Attributes:
        analysis: The analysis, refined where the lookup made it more precise.
        relations: Relations that the question asks for, with their neighbours.
    """

    candidates: list[Candidate]
    analysis: Analysis
    relations: Sequence[RelationQuery] = ()


@dataclass(frozen=True, slots=True)
class NeighbourFilter:
    """Filter of neighbours by their declaration and the chunk with their line of evidence.

    Attributes:
        allowed: Chunks that may be results, shape (n_chunks,); None if all may.
        kinds: Kinds that may be results; empty if all may.
    """

    allowed: NDArray[np.bool_] | None = None
    kinds: Collection[str] = ()

    def select(self, corpus: Corpus, neighbours: Sequence[GraphNeighbour]) -> Sequence[GraphNeighbour]:
        """Return the neighbours that may be results."""
        if self.allowed is None:
            return neighbours
        files = _number_files(corpus)
        return [
            neighbour
            for neighbour in neighbours
            if neighbour.path in files
            and self.allowed[_find_neighbour_row(corpus, files[neighbour.path], neighbour)]
            and (not self.kinds or neighbour.kind in self.kinds)
        ]


def look_up(
    corpus: Corpus,
    graph: CodeGraph,
    analysis: Analysis,
    neighbour_filter: NeighbourFilter = NeighbourFilter(),  # immutable
    *,
    in_full: bool = False,
) -> LookupResult:
    """Return candidates that are known to answer the question, each with a ``lookup`` score of 0 to 1.

    Args:
        corpus: Corpus of the open index.
        graph: Its code graph.
        analysis: Analysis of the question.
        neighbour_filter: Filter of the neighbours; the steps of a path are not filtered.
        in_full: Whether to list all neighbours, see `find_relations`.
    """
    if analysis["intent"] == "find_similar":
        return _build_similarity_query(corpus, analysis)
    if analysis["intent"] == "find_definition":
        location_candidates = [
            _find_at_location(corpus, location) for location in _select_entities(analysis, _LOCATION_ENTITIES)
        ]
        names = _select_entities(analysis, _NAME_ENTITIES)
        definition_candidates = [candidate for name in names for candidate in find_definitions(corpus, name)]
        candidates = {
            (candidate["chunk_id"], candidate["start_line"]): candidate
            for candidate in (*location_candidates, *definition_candidates)
            if candidate is not None
        }
        return LookupResult(list(candidates.values()), analysis)
    names = _select_entities(analysis, _NAME_ENTITIES | _PLACE_ENTITIES)
    relations = [
        query if query.end else replace(query, neighbours=neighbour_filter.select(corpus, query.neighbours))
        for query in find_relations(graph.permissive, analysis["reading"], names, in_full=in_full)
    ]
    neighbours = [
        neighbour for query in relations for neighbour in select_neighbours(analysis["reading"], query.neighbours)
    ]
    return LookupResult(_rank_candidates(corpus, graph.symbols, neighbours), analysis, relations)


def _select_entities(analysis: Analysis, kinds: Collection[str]) -> list[str]:
    """Return the first entities of some kinds in the question."""
    return [entity["text"] for entity in analysis["entities"] if entity["kind"] in kinds][:_MAX_NAMES]


def find_definitions(corpus: Corpus, name: str) -> list[Candidate]:
    """Return the definitions of a name, best match first."""
    matches = [match for match in corpus.symbols.find(name) if match.quality >= _MIN_QUALITY]
    return [_build_declaration_candidate(corpus, match) for match in matches[:_MAX_RESULTS]]


def _find_at_location(corpus: Corpus, location: str) -> Candidate | None:
    """Return the innermost declaration at ``path:line``, or the chunk there; None if the place is not indexed."""
    row = _find_chunk_row(corpus, location)
    if row is None:
        return None
    line = int(location.rpartition(":")[2])
    enclosing = [member for member in corpus.chunk_symbols[row] if member["start_line"] <= line <= member["end_line"]]
    if not enclosing:
        return _build_candidate(corpus, row, _EXACT_SCORE, "", None)
    innermost = max(enclosing, key=lambda member: member["start_line"])
    return _build_candidate(
        corpus,
        row,
        _EXACT_SCORE,
        innermost["qualified_name"],
        _clip_lines(corpus, row, innermost["start_line"], innermost["end_line"]),
    )


def _build_similarity_query(corpus: Corpus, analysis: Analysis) -> LookupResult:
    """Replace the question by the terms of the code to compare with: a location, a snippet or a declaration."""
    for entity in analysis["entities"]:
        if entity["kind"] == "location" and (row := _find_chunk_row(corpus, entity["text"])) is not None:
            text = corpus.read_texts([row])[0]
            return LookupResult([], _replace_query_text(analysis, text, corpus.get_value("id", row)))
        if entity["kind"] == "snippet":
            return LookupResult([], _replace_query_text(analysis, entity["text"], ""))
        if entity["kind"] in _NAME_ENTITIES and (matches := corpus.symbols.find(entity["text"])):
            row = matches[0].row
            return LookupResult(
                [], _replace_query_text(analysis, corpus.read_texts([row])[0], corpus.get_value("id", row))
            )
    return LookupResult([], analysis)


def _replace_query_text(analysis: Analysis, text: str, chunk_id: str) -> Analysis:
    return {**analysis, "text": text, "terms": tokenize_text(text)[:_MAX_SNIPPET_TERMS], "similar_to": chunk_id}


def _find_chunk_row(corpus: Corpus, location: str) -> int | None:
    """Return the row of the chunk at ``path:line``; the path may be the end of one."""
    path, _, line = location.rpartition(":")
    files = [file for file, file_path in enumerate(corpus.paths) if f"/{file_path}".endswith(f"/{path}")]
    files.sort(key=lambda file: len(corpus.paths[file]))  # an equal path before a longer one that ends with it
    rows = (row for file in files[:1] for row in corpus.get_chunk_rows(file))
    return next((row for row in rows if corpus.start_lines[row] <= int(line) <= corpus.end_lines[row]), None)


def _rank_candidates(corpus: Corpus, symbols: SymbolGraph, neighbours: Sequence[GraphNeighbour]) -> list[Candidate]:
    """Return one candidate per declaration, best first."""
    files = _number_files(corpus)
    declared_lines = {(neighbour.evidence, neighbour.line) for neighbour in neighbours if neighbour.kind != FILE_KIND}
    candidates: dict[tuple[str, str, int], Candidate] = {}
    for neighbour in sorted(neighbours, key=lambda neighbour: -_score_neighbour(neighbour)):
        if len(candidates) == _MAX_RESULTS:
            break
        is_file = neighbour.kind == FILE_KIND
        # A decorator's call counts for the file and the class.
        if is_file and (neighbour.path, neighbour.line) in declared_lines:
            continue
        if neighbour.path not in files:  # external, or without chunks
            continue
        declaration = (
            symbols.get_node(outer)
            if (outer := _find_enclosing_function(symbols, neighbour)) is not None
            else neighbour
        )
        line = _get_shown_line(neighbour)
        row = _find_neighbour_row(corpus, files[neighbour.path], neighbour)
        symbol = "" if is_file else declaration.qualified_name
        lines = _clip_lines(corpus, row, min(declaration.start_line, line), declaration.end_line)
        key = (neighbour.path, symbol, declaration.start_line)
        candidates.setdefault(key, _build_candidate(corpus, row, _score_neighbour(neighbour), symbol, lines))
    return list(candidates.values())


def _number_files(corpus: Corpus) -> dict[str, int]:
    return {path: file for file, path in enumerate(corpus.paths)}


def _get_shown_line(neighbour: GraphNeighbour) -> int:
    return neighbour.line if neighbour.relation in _INCOMING_RELATIONS else neighbour.start_line


def _find_neighbour_row(corpus: Corpus, file: int, neighbour: GraphNeighbour) -> int:
    """Return the chunk of a neighbour, in its file: with the line of evidence if it is there, else its first."""
    line, rows = _get_shown_line(neighbour), corpus.get_chunk_rows(file)
    return next((row for row in rows if corpus.start_lines[row] <= line <= corpus.end_lines[row]), rows[0])


def _find_enclosing_function(symbols: SymbolGraph, neighbour: GraphNeighbour) -> int | None:
    """Return the outer function of a user that is only a part of it, such as a variable or a local class's method."""
    dots = neighbour.qualified_name.count(".") + (neighbour.kind not in FUNCTION_KINDS)
    if dots < _MIN_DOTS or neighbour.relation not in _USING_RELATIONS or neighbour.kind == FILE_KIND:
        return None
    node = symbols.find_innermost(neighbour.path, neighbour.start_line)
    if node is None:
        return None
    enclosing = [node, *symbols.find_ancestors(node)]
    is_function = [symbols.kinds[enclosing_node] in FUNCTION_KINDS for enclosing_node in enclosing]
    inner_positions = [
        position
        for position, is_function_node in enumerate(is_function)
        if not is_function_node and any(is_function[position:])
    ]
    return enclosing[is_function.index(True, inner_positions[-1])] if inner_positions else None


def _score_neighbour(neighbour: GraphNeighbour) -> float:
    """Return the score of a neighbour: nearest first, then by confidence.

    A mere mention, a call through dispatch and a helper of tests count as one step further away, an import as two.
    """
    if neighbour.confidence < MIN_RESOLVED_CONFIDENCE:
        return neighbour.confidence
    extra_steps = _EXTRA_STEPS.get(
        neighbour.relation, int(neighbour.confidence <= DISPATCH_CONFIDENCE or _is_test_helper(neighbour))
    )
    steps = neighbour.depth - 1 + extra_steps
    nearness = _STEP_DECAY**steps * (1 - _CONFIDENCE_SHARE + _CONFIDENCE_SHARE * neighbour.confidence)
    return MIN_RESOLVED_CONFIDENCE + (1 - MIN_RESOLVED_CONFIDENCE) * nearness


def _is_test_helper(neighbour: GraphNeighbour) -> bool:
    """Return whether a function in test code is, by its name, neither a test nor part of one."""
    if neighbour.role != "test" or neighbour.kind not in FUNCTION_KINDS:
        return False
    names = neighbour.qualified_name.split(".")
    return not (names[-1].startswith("Test") or any(name.startswith("test") for name in names))


def _build_declaration_candidate(corpus: Corpus, match: SymbolMatch) -> Candidate:
    """Return the candidate of a declaration, with the chunk's lines if the declaration spans several chunks."""
    row = match.row
    is_in_chunk = corpus.start_lines[row] <= match.start_line and match.end_line <= corpus.end_lines[row]
    lines = (match.start_line, match.end_line) if is_in_chunk else None
    return _build_candidate(corpus, row, match.quality, match.qualified_name, lines)


def _clip_lines(corpus: Corpus, row: int, start_line: int, end_line: int) -> tuple[int, int] | None:
    """Return the lines of a declaration that are in a chunk; None if none are."""
    lines = max(int(corpus.start_lines[row]), start_line), min(int(corpus.end_lines[row]), end_line)
    return lines if lines[0] <= lines[1] else None


def _build_candidate(corpus: Corpus, row: int, score: float, symbol: str, lines: tuple[int, int] | None) -> Candidate:
    start, end = lines or (int(corpus.start_lines[row]), int(corpus.end_lines[row]))
    return Candidate(
        chunk_id=corpus.get_value("id", row),
        score=0.0,
        channels={"lookup": score},
        signals={},
        start_line=start,
        end_line=end,
        symbol=symbol,
    )
