"""Lines of a context for the neighbours that a question about a relation asks for, each with its place and its code."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from coderag.codegraph.declaration_groups import DISPATCH_CONFIDENCE
from coderag.codegraph.relation_queries import select_neighbours
from coderag.retrieval.context.parts import to_single_line
from coderag.schema.graph import GraphNeighbour, RelationQuery
from coderag.schema.query import QuestionReading
from coderag.schema.vocabulary import GraphRelation
from coderag.stores.corpus import Corpus
from coderag.text.code_fences import format_code_span

_INCOMING_VERBS: Final[Mapping[GraphRelation, str]] = MappingProxyType(
    {
        "caller": "calls",
        "user": "uses",
        "derived": "extends",
        "implementation": "implements",
        "override": "overrides",
        "imported_by": "imports",
        "test_for": "tests",
    }
)
_OUTGOING_VERBS: Final[Mapping[GraphRelation, str]] = MappingProxyType(
    {
        "callee": "calls",
        "used": "uses",
        "base": "extends",
        "interface_of": "implements",
        "overridden": "overrides",
        "imports": "imports",
        "tested": "tests",
    }
)
_MAX_LINES: Final = 30
_MAX_CODE_CHARS: Final = 100


def build_relation_lines(corpus: Corpus, reading: QuestionReading, queries: Sequence[RelationQuery]) -> list[str]:
    """Build a line for each neighbour of the relation that is asked for, nearest first; the first line has their number.

    Paths are left out: their calls are the flow of a context.

    Args:
        corpus: Corpus of the open index.
        reading: Reading of the question.
        queries: Queries of the question, with their neighbours.
    """
    files = {path: file for file, path in enumerate(corpus.paths)}
    lines = []
    for query in queries:
        neighbours = [] if query.end else select_neighbours(reading, query.neighbours)
        if len(neighbours) > 1:
            lines.append(f"{_format_name(query.subject)}: {len(neighbours):,} neighbours in the code graph")
        lines += [_format_neighbour(corpus, files, query, neighbour) for neighbour in neighbours[:_MAX_LINES]]
    return lines


def _format_neighbour(corpus: Corpus, files: Mapping[str, int], query: RelationQuery, neighbour: GraphNeighbour) -> str:
    near_name = _format_name(neighbour.via or query.subject)
    far_name = _format_name(neighbour.qualified_name or neighbour.path)
    if neighbour.relation in _INCOMING_VERBS:
        source, verb, target = far_name, _INCOMING_VERBS[neighbour.relation], near_name
    else:
        source, verb, target = near_name, _OUTGOING_VERBS.get(neighbour.relation, "uses"), far_name
        if neighbour.path:
            target = f"{target} ({to_single_line(neighbour.path)}:{neighbour.start_line})"
    if verb == "calls" and neighbour.confidence <= DISPATCH_CONFIDENCE:
        verb = "may call"
    text = _read_line(corpus, files, neighbour.evidence, neighbour.line)
    code = f": {format_code_span(text[:_MAX_CODE_CHARS])}" if text else ""
    return f"{source} {verb} {target} at {to_single_line(neighbour.evidence)}:{neighbour.line}{code}"


def _format_name(name: str) -> str:
    return format_code_span(to_single_line(name))


def _read_line(corpus: Corpus, files: Mapping[str, int], path: str, line: int) -> str:
    """Return a line of a file without its indentation; empty if it is not indexed."""
    rows = corpus.get_chunk_rows(files[path]) if path in files else ()
    row = next((row for row in rows if corpus.start_lines[row] <= line <= corpus.end_lines[row]), None)
    if row is None:
        return ""
    texts = corpus.read_texts([row])[0].split("\n")
    return to_single_line(texts[line - int(corpus.start_lines[row])])
