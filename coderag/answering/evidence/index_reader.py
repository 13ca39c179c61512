"""What the index knows beside the pieces that were found: lines of files, and declarations with their relations.

The code graph is a collaborator of the query; this is the one place that knows which of its methods answers ask.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.codegraph.lookup import NeighbourFilter
from coderag.errors import AmbiguousNameError, UnknownNameError
from coderag.retrieval.filters import NO_FILTERS, build_chunk_mask
from coderag.retrieval.mentions.mention_search import MentionSearch
from coderag.retrieval.mentions.targets import build_node_target
from coderag.retrieval.mentions.unused import UnusedSearch
from coderag.retrieval.query_context import QueryContext
from coderag.schema.graph import GraphNeighbour
from coderag.schema.graph_queries import GraphQuery
from coderag.schema.mentions import MentionQuery, Mentions
from coderag.schema.query import FilterValues
from coderag.schema.vocabulary import FILE_NAMED_KINDS, MIN_RESOLVED_CONFIDENCE, EdgeRelation, Kind
from coderag.stores.corpus import Corpus
from coderag.stores.snippets import Snippet
from coderag.text.tokenizer import split_raw_tokens, tokenize_query, tokenize_text

CALLABLE: Final = frozenset({"function", "method", "macro"})
TYPES: Final = frozenset({"class", "interface", "struct", "trait", "enum", "union", "type_alias"})
CALLS: Final[Sequence[EdgeRelation]] = ("calls", "instantiates")
FILE: Final = "file"
LONGEST_LINE: Final = 1_000
"""Characters of a line that is looked through; a longer one is data, and patterns would take long for it."""

MOST_MENTIONS: Final = 10_000
"""Lines that mention a name, of which answers choose."""

MOST_NAMED: Final = 20
"""Declarations of one name that the code graph looks at, the most used."""

PERHAPS: Final = 0.6
"""Confidence up to which a call may run, or an import mean, something else of the same name."""

_MIN_DESCRIBED_SHARE: Final = 0.5
"""Share of some words, by IDF, that a declaration's documentation has to have to be meant without one in its name."""

_DECLARED: Final[frozenset[str]] = frozenset(get_args(Kind))


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration, or a file, of the code graph.

    Attributes:
        node: Its number there.
    """

    node: int
    path: str
    start_line: int
    end_line: int
    name: str
    kind: str
    role: str

    @property
    def key(self) -> str:
        """A name that means only this one."""
        return self.path if self.kind == FILE else f"{self.path}::{self.name}"

    @property
    def length(self) -> int:
        """Number of its lines."""
        return self.end_line - self.start_line + 1


@dataclass(frozen=True, slots=True)
class Call:
    """A call, or the making of an instance: where it stands, and what it leads to.

    Attributes:
        source: What calls, or what it counts as, such as its prototype in another file.
        path: File of the line.
        line: Number of the line.
        confidence: 0 to 1.
    """

    source: Declared
    target: Declared
    path: str
    line: int
    confidence: float


class Tie(NamedTuple):
    """A relation between two declarations."""

    source: Declared
    relation: str
    target: Declared


class IndexReader:
    """The open index, as answers ask it.

    Args:
        context: Of the query.
        filters: Of the query, for the lines that mention a name.
    """

    def __init__(self, context: QueryContext, filters: FilterValues | None = None) -> None:
        self.corpus: Corpus = context.corpus
        self.graph = context.graph.permissive
        self.symbols = context.graph.symbols
        self._strict: Any = context.graph
        self._texts: dict[int, list[str]] = {}
        self._representatives: dict[int, int] = {}
        self._filters = filters or NO_FILTERS
        self.mentions = MentionSearch(context.graph, context.corpus.snapshot, self._filters)

    # Lines

    def lines(self, path: str, start: int, end: int) -> CitedLines | None:
        """Return some lines of a file; None if the index has not all of them."""
        if path not in self._files or end < start:
            return None
        found: dict[int, str] = {}
        for row in self.corpus.get_chunk_rows(self._files[path]):
            first, last = int(self.corpus.start_lines[row]), int(self.corpus.end_lines[row])
            if first <= end and start <= last:
                found.update(enumerate(self._text(row), first))
        wanted = [found.get(number, "") for number in range(start, end + 1)]
        return CitedLines(path, start, end, "\n".join(wanted)) if start in found and end in found else None

    def line(self, path: str, number: int) -> CitedLines | None:
        """Return one line of a file; None if the index has it not."""
        return self.lines(path, number, number)

    def whole_file(self, path: str) -> list[str]:
        """Return the lines of a file; those that are in no chunk are empty."""
        rows = self.corpus.get_chunk_rows(self._files[path])
        last = max((int(self.corpus.end_lines[row]) for row in rows), default=0)
        found = {
            number: line
            for row in rows
            for number, line in enumerate(self._text(row), int(self.corpus.start_lines[row]))
        }
        return [found.get(number, "") for number in range(1, last + 1)]

    def chunks_by_words(self, weights: Mapping[str, float], limit: int, found: Sequence[int] = ()) -> list[int]:
        """Return the rows of the chunks that have most of some terms, best first; none that has none of them.

        Args:
            weights: Of the terms.
            limit: Number of chunks, at most.
            found: Rows that the search found: they count as if they had the weightiest term once more.
        """
        scores = np.zeros(self.corpus.n_chunks, np.float32)
        for term, weight in weights.items():
            scores[self.corpus.find_chunks_with_term(term)] += weight
        scores[list(found)] += max(weights.values(), default=0.0)
        return [int(row) for row in np.argsort(-scores, kind="stable")[:limit] if scores[row] > 0]

    def lines_of(self, declared: Declared) -> CitedLines | None:
        """Return the lines of a declaration."""
        return self.lines(declared.path, declared.start_line, declared.end_line)

    def head_of(self, declared: Declared) -> CitedLines | None:
        """Return the line that a declaration's name stands in, near its first."""
        last = declared.name.rpartition(".")[2]
        lines = [self.line(declared.path, declared.start_line + more) for more in range(min(declared.length, 12))]
        known = [line for line in lines if line is not None]
        return next((line for line in known if last in line.text), known[0] if known else None)

    def _text(self, row: int) -> list[str]:
        if row not in self._texts:
            self._texts[row] = self.corpus.read_texts([row])[0].removesuffix("\n").split("\n")
        return self._texts[row]

    def chunk_name(self, path: str, line: int) -> str:
        """Return the name of the chunk that a line of an indexed file is in: of a document its headings."""
        rows = self.corpus.get_chunk_rows(self._files[path])
        inside = (row for row in rows if self.corpus.start_lines[row] <= line <= self.corpus.end_lines[row])
        return next((self.corpus.get_value("qualified_name", row) for row in inside), "")

    def role(self, path: str) -> str:
        """Return what an indexed file is for."""
        return self.corpus.file_roles[self._files[path]]

    @cached_property
    def _files(self) -> dict[str, int]:
        return {path: file for file, path in enumerate(self.corpus.paths)}

    # Declarations

    def named(self, name: str) -> list[Declared]:
        """Return what a name means, the most used first; what counts as one declaration (overloads, a stub) once."""
        nodes = self.graph.symbol_resolver.find_candidates(name, _DECLARED, {FILE})
        return [
            self.declared(max(group, key=self._worth)) for group in self.graph.declaration_groups.group_nodes(nodes)
        ]

    def mentioned(self, name: str, declared: Sequence[Declared], query: MentionQuery | None = None) -> Mentions:
        """Return all lines that mention a name outside of its declarations, those of code first.

        Args:
            name: A name, as it is written; of something declared only its last part counts.
            declared: What it means.
            query: What the lines are to tell; all lines by default.
        """
        groups = self.graph.declaration_groups.group_nodes(one.node for one in declared)
        target = build_node_target(self._strict, name, [node for group in groups for node in group])
        return self.mentions.find_target(target, query, limit=MOST_MENTIONS)

    def filter_neighbours(self, neighbours: Sequence[GraphNeighbour]) -> Sequence[GraphNeighbour]:
        """Return the neighbours that the filters of the query let through."""
        return self._neighbour_filter.select(self.corpus, neighbours)

    @cached_property
    def _neighbour_filter(self) -> NeighbourFilter:
        return NeighbourFilter(build_chunk_mask(self.corpus, self._filters), self._filters["kinds"])

    @cached_property
    def unused(self) -> UnusedSearch:
        """The search for declarations without a known use."""
        return UnusedSearch(self._strict, self.corpus.snapshot)

    def askable(self, question: GraphQuery | Literal[""], name: str) -> str:
        """Return a name by which ``coderag graph`` answers a question of what a name means; empty if no one name does."""
        declared = self.named(name)
        if not question:
            return ""
        for spelling in (name, *(one.key for one in declared if len(declared) == 1)):
            with suppress(UnknownNameError, AmbiguousNameError):
                self._strict.symbol_resolver.resolve(spelling)
                return spelling
        return ""

    def find_representative(self, node: int) -> int:
        """Return the declaration that stands for all of its symbol: the definition of a prototype, the code of a stub."""
        if node not in self._representatives:
            group = self.graph.declaration_groups.find_group(node)
            self._representatives[node] = max(group, key=self._worth) if len(group) > 1 else node
        return self._representatives[node]

    def _worth(self, node: int) -> tuple[bool, bool, int]:
        """Return how well a node stands for its group: no prototype; no implementation for a type; then its length."""
        lines = int(self.symbols.end_lines[node] - self.symbols.start_lines[node])
        return not self.symbols.prototypes[node], self.symbols.kinds[node] != "impl", lines

    def of_piece(self, piece: Snippet) -> Declared | None:
        """Return the declaration that a piece shows, or its file; of a prototype the definition."""
        declared = self.find_at(piece.path, piece.start_line, piece.name)
        return declared and self.declared(self.graph.declaration_groups.find_definition(declared.node))

    def find_definitions_of_prototypes(self, piece: Snippet) -> list[Declared]:
        """Return the definitions of a piece's declarations if all of them are prototypes; else an empty list."""
        file = self.symbols.find_file(piece.path)
        prototypes = self.symbols.prototypes
        if file is None or piece.kind in FILE_NAMED_KINDS:
            return []
        starts = self.symbols.start_lines
        inside = [
            node
            for node in self.symbols.get_file_nodes(file)
            if node != file and piece.start_line <= starts[node] <= piece.end_line
        ]
        if not inside or not all(prototypes[node] for node in inside):
            return []
        definitions = [self.graph.declaration_groups.find_definition(node) for node in inside]
        return [] if any(prototypes[node] for node in definitions) else [self.declared(node) for node in definitions]

    def of_neighbour(self, neighbour: GraphNeighbour) -> Declared | None:
        """Return the declaration at the other end of a relation; None for what is outside the repository."""
        if neighbour.kind == FILE:
            return self.file(neighbour.path)
        return self.find_at(neighbour.path, neighbour.start_line, neighbour.qualified_name)

    def at(self, path: str, line: int) -> Declared | None:
        """Return the innermost declaration around a line, else the file."""
        node = self.symbols.find_innermost(path, line)
        return None if node is None else self.declared(node)

    def file(self, path: str) -> Declared | None:
        """Return a file."""
        node = self.symbols.find_file(path)
        return None if node is None else self.declared(node)

    def declared(self, node: int) -> Declared:
        """Return a node of the graph."""
        known = self.symbols.get_node(node)
        return Declared(
            node, known.path, known.start_line, known.end_line, known.qualified_name, known.kind, known.role
        )

    @cached_property
    def central(self) -> list[Declared]:
        """The declarations of the repository that other code rests on, those first that most does."""
        ranks = self.symbols.centralities
        nodes = [node for node in np.argsort(-ranks, kind="stable").tolist() if ranks[node] > 0]
        return [self.declared(node) for node in nodes if self.symbols.kinds[node] in _DECLARED]

    def members(self, declared: Declared) -> list[Declared]:
        """Return what is declared right inside a declaration, or elsewhere as its member (a Go type's methods), in order."""
        inside = [self.declared(node) for node in self.graph.declaration_groups.find_members([declared.node])]
        return [one for one in inside if one.name.rpartition(".")[0] == declared.name]

    def list_siblings(self, declared: Declared) -> list[Declared]:
        """List the other declarations of the same kind in the same file and the same owner, in order."""
        file = self.symbols.find_file(declared.path)
        owner = declared.name.rpartition(".")[0]
        nodes = [] if file is None else self.symbols.get_file_nodes(file)
        found = (self.declared(node) for node in nodes if node not in (file, declared.node))
        return [one for one in found if one.kind == declared.kind and one.name.rpartition(".")[0] == owner]

    def declared_in(self, path: str) -> list[Declared]:
        """Return what is declared right in a file, in order."""
        file = self.symbols.find_file(path)
        inside = (
            [] if file is None else [self.declared(node) for node in self.symbols.get_file_nodes(file) if node != file]
        )
        names = {one.name for one in inside}
        return [one for one in inside if one.kind in _DECLARED and one.name.rpartition(".")[0] not in names]

    def file_summary(self, path: str) -> str:
        """Return what the documentation at the beginning of a file, or a language model, says of it."""
        row = int(self.corpus.file_starts[self._files[path]])
        if self.corpus.get_value("kind", row) not in FILE_NAMED_KINDS:
            return ""
        return self.corpus.get_value("docstring", row) or self.summary_of_row(row)

    def find_rows(self, node: int) -> range:
        """Return the rows of the chunks that a declaration's lines are in; empty for what is in no indexed file."""
        file = self._files.get(self.symbols.paths[node])
        if file is None:
            return range(0)
        rows = self.corpus.get_chunk_rows(file)
        first = int(np.searchsorted(self.corpus.end_lines[rows.start : rows.stop], self.symbols.start_lines[node]))
        last = int(
            np.searchsorted(self.corpus.start_lines[rows.start : rows.stop], self.symbols.end_lines[node], "right")
        )
        return rows[first:last]

    def row_of(self, declared: Declared) -> int | None:
        """Return the chunk that a declaration begins in."""
        if declared.path not in self._files:
            return None
        rows = self.corpus.get_chunk_rows(self._files[declared.path])
        return next((row for row in rows if self.corpus.end_lines[row] >= declared.start_line), None)

    def summary(self, declared: Declared) -> str:
        """Return what a declaration's docstring, or a language model, says it is for; not what is made of its names."""
        row = self._own_row(declared)
        return "" if row is None else self.summary_of_row(row)

    def summary_of_row(self, row: int) -> str:
        """Return the same of a chunk."""
        derived = self._summary_sources[row] == "derived"
        return self.corpus.get_value("docstring", row) if derived else self.corpus.get_value("summary", row)

    def signature(self, declared: Declared) -> str:
        """Return the first line of a declaration's signature; empty if no chunk is this declaration."""
        row = self._own_row(declared)
        return "" if row is None else self.corpus.get_value("signature", row).split("\n")[0]

    def language(self, path: str) -> str:
        """Return the language of a file."""
        return self.corpus.get_value("language", int(self.corpus.file_starts[self._files[path]]))

    def _own_row(self, declared: Declared) -> int | None:
        row = self.row_of(declared)
        return row if row is not None and self.corpus.get_value("qualified_name", row) == declared.name else None

    @cached_property
    def _summary_sources(self) -> list[str]:
        found: list[str] = self.corpus.snapshot.read_chunks(["summary_source"])["summary_source"].to_pylist()
        return found

    def meant(self, words: str, results: Sequence[Snippet], kinds: Collection[str]) -> Declared | None:
        """Return the declaration that some words of a question mean, see `list_meant`."""
        return next(iter(self.list_meant(words, results, kinds)), None)

    def list_meant(self, words: str, results: Sequence[Snippet], kinds: Collection[str]) -> list[Declared]:
        """List the declarations that some words of a question may mean: those of the name, else results that have them.

        Args:
            words: A name, or what describes a thing.
            results: What the question found, best first.
            kinds: Kinds of declaration that are meant rather than others.
        """
        one = words.removesuffix("s")
        spellings = dict.fromkeys((words, one, "".join(split_raw_tokens(words)), one.capitalize()))
        declared = [found for name in spellings for found in self.named(name)]
        ranked = sorted(declared, key=lambda found: (found.kind not in kinds, found.role != "source"))
        if ranked:
            return list(dict.fromkeys(ranked))
        weights = {term: self.corpus.idf(term) for term in set(tokenize_query(words))}
        named = [piece for piece in results if piece.kind not in FILE_NAMED_KINDS]
        described = {found.node: found for piece in named for found in self._around(piece)}
        fits = {found: self._fit(found, weights, kinds) for found in described.values()}
        return sorted((found for found, fit in fits.items() if fit[0] > 0), key=lambda found: fits[found], reverse=True)

    def _fit(self, declared: Declared, weights: Mapping[str, float], kinds: Collection[str]) -> tuple[float, bool, int]:
        """Return how much of some words a declaration has, whether its kind is meant, and that fewer other words are better.

        Words of its documentation and its path count half; they alone have to be most of the words.
        """
        terms = set(tokenize_text(declared.name))
        in_name = sum(weight for term, weight in weights.items() if term in terms)
        documented = set(tokenize_text(f"{declared.path} {self.summary(declared)}")) - terms
        in_text = sum(weight for term, weight in weights.items() if term in documented)
        is_enough = in_name or in_text > _MIN_DESCRIBED_SHARE * sum(weights.values())
        return (in_name + in_text / 2 if is_enough else 0.0), declared.kind in kinds, -len(terms)

    def _around(self, piece: Snippet) -> Iterator[Declared]:
        """Yield what a piece declares, and the declarations that it is a member of."""
        parts = piece.name.split(".")
        for number in range(len(parts), 0, -1):
            name = ".".join(parts[:number])
            declared = self.find_at(piece.path, piece.start_line, name)
            if declared and declared.name in (name, piece.name):
                yield declared

    def find_at(self, path: str, line: int, name: str) -> Declared | None:
        """Return the declaration of a name at or right below a line, else what is around the line."""
        file = self.symbols.find_file(path)
        if file is None:
            return None
        inside = self.symbols.get_file_nodes(file)
        names = self.symbols.qualified_names
        of_name = [node for node in inside if node != file and names[node].as_py() == name]
        if of_name:
            return self.declared(min(of_name, key=lambda node: abs(int(self.symbols.start_lines[node]) - line)))
        return self.at(path, line)

    # Calls

    def calls(self, nodes: Collection[int], *, inwards: bool = False) -> list[Call]:
        """Return the calls that some nodes make, or those of them, by their lines; not what is outside the repository."""
        edges = self.symbols.read_edges(
            self.symbols.find_edge_positions(sorted(nodes), "in" if inwards else "out", CALLS, MIN_RESOLVED_CONFIDENCE)
        )
        made = [
            Call(source, self.declared(edge.target), source.path, edge.line, edge.confidence)
            for edge in edges
            for source in [self.declared(edge.source)]
        ]
        return sorted((call for call in made if call.target.path), key=lambda call: (call.path, call.line))

    def ties_at(self, path: str, line: int, relations: Collection[EdgeRelation]) -> list[Tie]:
        """Return what a line says: the relations of some kinds that it is the evidence of."""
        file = self.symbols.find_file(path)
        if file is None:
            return []
        nodes = self.symbols.get_file_nodes(file)
        edges = self.symbols.read_edges(
            self.symbols.find_edge_positions(nodes, "out", relations, MIN_RESOLVED_CONFIDENCE)
        )
        return [
            Tie(self.declared(edge.source), edge.relation, self.declared(edge.target))
            for edge in edges
            if edge.line == line
        ]

    def acting(self, node: int) -> list[int]:
        """Return the nodes whose calls are a node's own: itself, its constructor, what is inside a function."""
        return [node, *(other for other, _ in self.graph.declaration_groups.find_use_sources(node))]

    def same(self, nodes: Iterable[int]) -> frozenset[int]:
        """Return all nodes that count as one with some: overloads, headers, stubs."""
        return frozenset(other for node in nodes for other in self.graph.declaration_groups.find_group(node))

    def called(self, declared: Declared) -> frozenset[int]:
        """Return the nodes that a call of a declaration may name: a type by its constructors too."""
        return self.same([declared.node, *self.graph.declaration_groups.find_constructors(declared.node)])
