"""Reader of the open index for answers: its lines, declarations, calls and mentions."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Final, Literal

from coderag.answering.evidence.declaration_reader import DeclarationReader
from coderag.answering.evidence.declared import CALLS, Call, Declared
from coderag.codegraph.lookup import NeighbourFilter
from coderag.errors import AmbiguousNameError, UnknownNameError
from coderag.retrieval.filters import NO_FILTERS, build_chunk_mask
from coderag.retrieval.mentions.mention_search import MentionSearch
from coderag.retrieval.mentions.targets import build_node_target
from coderag.retrieval.mentions.unused import UnusedSearch
from coderag.retrieval.path_gaps import PathGapSearch
from coderag.retrieval.query_context import QueryContext
from coderag.schema.graph import GraphNeighbour
from coderag.schema.graph_queries import GraphQuery
from coderag.schema.mentions import MentionQuery, Mentions
from coderag.schema.path_gaps import PathGap
from coderag.schema.query import FilterValues
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE

_MAX_MENTIONS: Final = 10_000
"""Maximum number of lines that mention a name; answers choose from them."""


class IndexReader(DeclarationReader):
    """Reader of the open index.

    Args:
        context: Context of the query.
        filters: Filters of the query, for neighbours and mentions.
    """

    def __init__(self, context: QueryContext, filters: FilterValues | None = None) -> None:
        super().__init__(context)
        self._strict: Any = context.graph
        self._filters = filters or NO_FILTERS
        self._mentions = MentionSearch(context.graph, context.corpus.snapshot, self._filters)

    def find_calls(self, nodes: Collection[int], *, inwards: bool = False) -> list[Call]:
        """Find the calls from some nodes, or inwards to them, by location; callees are inside the repository."""
        edges = self.symbols.read_edges(
            self.symbols.find_edge_positions(sorted(nodes), "in" if inwards else "out", CALLS, MIN_RESOLVED_CONFIDENCE)
        )
        found_calls = [
            Call(source, self.get_declaration(edge.target), source.path, edge.line, edge.confidence)
            for edge in edges
            for source in [self.get_declaration(edge.source)]
        ]
        return sorted((call for call in found_calls if call.target.path), key=lambda call: (call.path, call.line))

    def find_call_sources(self, node: int) -> list[int]:
        """Find the nodes whose calls count as a node's own: itself, its constructor, what a function has inside."""
        return [node, *(source for source, _ in self.graph.declaration_groups.find_use_sources(node))]

    def find_call_targets(self, declared: Declared) -> frozenset[int]:
        """Find the nodes that a call of a declaration may name: of a type also its constructors."""
        return self._expand_groups([declared.node, *self.graph.declaration_groups.find_constructors(declared.node)])

    def _expand_groups(self, nodes: Iterable[int]) -> frozenset[int]:
        """Expand nodes to all of their symbols: overloads, prototypes, stubs."""
        return frozenset(member for node in nodes for member in self.graph.declaration_groups.find_group(node))

    def filter_neighbours(self, neighbours: Sequence[GraphNeighbour]) -> Sequence[GraphNeighbour]:
        """Return the neighbours that the filters of the query let through."""
        return self._neighbour_filter.select(self.corpus, neighbours)

    @cached_property
    def _neighbour_filter(self) -> NeighbourFilter:
        return NeighbourFilter(build_chunk_mask(self.corpus, self._filters), self._filters["kinds"])

    def find_mentions(self, name: str, declared: Sequence[Declared], query: MentionQuery | None = None) -> Mentions:
        """Find the lines that mention a name outside of its declarations, code first.

        Args:
            name: Name as written; if it is declared, only its last part counts.
            declared: Declarations of the name.
            query: Query that the lines answer; all lines by default.
        """
        groups = self.graph.declaration_groups.group_nodes(declaration.node for declaration in declared)
        target = build_node_target(self._strict, name, [node for group in groups for node in group])
        return self._mentions.find_target(target, query, limit=_MAX_MENTIONS)

    def find_path_gap(self, start: str, end: str) -> PathGap | None:
        """Find what is known on both sides of two names that no known calls connect; None if a name means several."""
        first, last = (self.find_unambiguous_name("callers", name) for name in (start, end))
        if not first or not last:
            return None
        return PathGapSearch(self._strict, self.corpus.snapshot).find(first, last)

    @cached_property
    def unused(self) -> UnusedSearch:
        """Search for declarations without a known use."""
        return UnusedSearch(self._strict, self.corpus.snapshot)

    def find_unambiguous_name(self, question: GraphQuery | Literal[""], name: str) -> str:
        """Find a spelling of a name that ``coderag graph`` resolves to one declaration; empty if there is none."""
        declared = self.find_declarations(name)
        if not question:
            return ""
        for spelling in (name, *(declaration.key for declaration in declared if len(declared) == 1)):
            with suppress(UnknownNameError, AmbiguousNameError):
                self._strict.symbol_resolver.resolve(spelling)
                return spelling
        return ""
