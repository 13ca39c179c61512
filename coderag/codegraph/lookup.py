"""Look up what the symbol table and the code graph know: definitions, users, relatives, tests, places."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from coderag.codegraph.graph import CodeGraph
from coderag.schema import GraphNeighbour
from coderag.state import Analysis, Candidate
from coderag.stores.corpus import Corpus
from coderag.stores.symbol_table import SymbolMatch
from coderag.tokens import text_terms

_MOST = 50
_HIERARCHY_DEPTH = 4
_ABOUT_IMPACT = re.compile(r"\b(?:breaks?|affected|impact)\b", re.IGNORECASE)
_ABOUT_IMPORTS = re.compile(r"\b(?:imports?|imported|importers?|depends?|dependents?)\b", re.IGNORECASE)
_SURE_ENOUGH = 0.7  # a match that is the same words in another spelling
_MOST_SNIPPET_TERMS = 300


@dataclass(frozen=True, slots=True)
class Found:
    """What was looked up; the analysis may have been made more precise by it."""

    candidates: list[Candidate]
    analysis: Analysis


def look_up(corpus: Corpus, graph: CodeGraph, analysis: Analysis) -> Found:
    """Return candidates that are known to be what the question asks for, each with a ``lookup`` score of 0 to 1."""
    if analysis["intent"] == "find_similar":
        return _similar(corpus, analysis)
    names = [entity["text"] for entity in analysis["entities"] if entity["kind"] in ("identifier", "qualified_name")][
        :3
    ]
    if analysis["intent"] == "find_definition":
        found = {
            (candidate["chunk_id"], candidate["start_line"]): candidate
            for name in names
            for candidate in definitions(corpus, name)
        }
        return Found(list(found.values()), analysis)
    neighbours = [neighbour for name in names for neighbour in _neighbours(graph, analysis, name)]
    return Found(_candidates(corpus, neighbours), analysis)


def definitions(corpus: Corpus, name: str) -> list[Candidate]:
    """Return where a name is declared, best match first."""
    matches = [match for match in corpus.symbols.find(name) if match.quality >= _SURE_ENOUGH]
    return [_declared(corpus, match) for match in matches[:_MOST]]


def _neighbours(graph: CodeGraph, analysis: Analysis, name: str) -> list[GraphNeighbour]:
    if analysis["intent"] == "find_usage":
        if _ABOUT_IMPACT.search(analysis["text"]):
            return graph.impact(name)
        using = [] if _ABOUT_IMPORTS.search(analysis["text"]) else [*graph.callers(name), *graph.derived(name)]
        return using or graph.importers(name)
    if analysis["intent"] == "hierarchy":
        return [*graph.derived(name, depth=_HIERARCHY_DEPTH), *graph.bases(name)]
    if analysis["intent"] == "find_tests":
        return graph.tests(name)
    return []


def _similar(corpus: Corpus, analysis: Analysis) -> Found:
    """Turn a place in the code, or a snippet, into the terms to look for."""
    for entity in analysis["entities"]:
        if entity["kind"] == "location" and (row := _row_at(corpus, entity["text"])) is not None:
            text = corpus.texts([row])[0]
            return Found([], _about(analysis, text, corpus.value("id", row)))
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
    rows = (row for file in named[:1] for row in corpus.chunk_rows(file))
    return next((row for row in rows if corpus.start_lines[row] <= int(line) <= corpus.end_lines[row]), None)


def _candidates(corpus: Corpus, neighbours: Sequence[GraphNeighbour]) -> list[Candidate]:
    """Return one candidate a declaration, the surest reference of each."""
    rows: dict[str, list[int]] = {}
    files = {path: file for file, path in enumerate(corpus.paths)}
    found: dict[tuple[str, str], Candidate] = {}
    for neighbour in sorted(neighbours, key=lambda neighbour: -neighbour.confidence)[:_MOST]:
        chunks = rows.setdefault(neighbour.path, list(corpus.chunk_rows(files[neighbour.path])))
        row = next(
            (row for row in chunks if corpus.start_lines[row] <= neighbour.line <= corpus.end_lines[row]), chunks[0]
        )
        symbol = "" if neighbour.qualified_name == neighbour.path else neighbour.qualified_name
        inside = corpus.start_lines[row] <= neighbour.start_line and neighbour.end_line <= corpus.end_lines[row]
        lines = (neighbour.start_line, neighbour.end_line) if inside else None
        found.setdefault((neighbour.path, symbol), _candidate(corpus, row, neighbour.confidence, symbol, lines))
    return list(found.values())


def _declared(corpus: Corpus, match: SymbolMatch) -> Candidate:
    """Return the candidate of a declaration: its own lines, or its chunk's if it spans several chunks."""
    row = match.row
    inside = corpus.start_lines[row] <= match.start_line and match.end_line <= corpus.end_lines[row]
    lines = (match.start_line, match.end_line) if inside else None
    return _candidate(corpus, row, match.quality, match.qualified_name, lines)


def _candidate(corpus: Corpus, row: int, score: float, symbol: str, lines: tuple[int, int] | None) -> Candidate:
    start, end = lines or (int(corpus.start_lines[row]), int(corpus.end_lines[row]))
    return Candidate(
        chunk_id=corpus.value("id", row),
        score=0.0,
        file_score=0.0,
        channels={"lookup": score},
        signals={},
        start_line=start,
        end_line=end,
        symbol=symbol,
    )
