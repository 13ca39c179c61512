"""Reader of the declarations of the code graph."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, get_args

import numpy as np

from coderag.answering.evidence.declared import FILE, Declared
from coderag.answering.evidence.line_reader import LineReader
from coderag.retrieval.query_context import QueryContext
from coderag.schema.graph import GraphNeighbour
from coderag.schema.vocabulary import FILE_NAMED_KINDS, Kind
from coderag.stores.snippets import Snippet
from coderag.text.tokenizer import split_raw_tokens, tokenize_query, tokenize_text

_MIN_DESCRIBED_SHARE: Final = 0.5
"""Minimum share of the words, by IDF, in the documentation of a declaration whose name has none of them."""

_DECLARED: Final[frozenset[str]] = frozenset(get_args(Kind))


class DeclarationReader(LineReader):
    """Reader of declarations, with their lines.

    Args:
        context: Context of the query.
    """

    def __init__(self, context: QueryContext) -> None:
        super().__init__(context.corpus)
        self.graph = context.graph.permissive
        self.symbols = context.graph.symbols
        self._representatives: dict[int, int] = {}

    def get_declaration(self, node: int) -> Declared:
        """Return the declaration or file of a node."""
        known = self.symbols.get_node(node)
        return Declared(
            node, known.path, known.start_line, known.end_line, known.qualified_name, known.kind, known.role
        )

    def find_file(self, path: str) -> Declared | None:
        """Find a file."""
        node = self.symbols.find_file(path)
        return None if node is None else self.get_declaration(node)

    def find_innermost(self, path: str, line: int) -> Declared | None:
        """Find the innermost declaration around a line, else the file."""
        node = self.symbols.find_innermost(path, line)
        return None if node is None else self.get_declaration(node)

    def find_at(self, path: str, line: int, name: str) -> Declared | None:
        """Find the declaration of a name nearest to a line, else the innermost one around the line."""
        file = self.symbols.find_file(path)
        if file is None:
            return None
        inside = self.symbols.get_file_nodes(file)
        names = self.symbols.qualified_names
        of_name = [node for node in inside if node != file and names[node].as_py() == name]
        if of_name:
            return self.get_declaration(min(of_name, key=lambda node: abs(int(self.symbols.start_lines[node]) - line)))
        return self.find_innermost(path, line)

    def find_declarations(self, name: str) -> list[Declared]:
        """Find the declarations of a name, the most used first; of overloads and stubs their representative."""
        nodes = self.graph.symbol_resolver.find_candidates(name, _DECLARED, {FILE})
        return [
            self.get_declaration(max(group, key=self._rank_representative))
            for group in self.graph.declaration_groups.group_nodes(nodes)
        ]

    def find_representative(self, node: int) -> int:
        """Find the declaration that represents its symbol: the definition of a prototype, the code of a stub."""
        if node not in self._representatives:
            group = self.graph.declaration_groups.find_group(node)
            self._representatives[node] = max(group, key=self._rank_representative) if len(group) > 1 else node
        return self._representatives[node]

    def _rank_representative(self, node: int) -> tuple[bool, bool, int]:
        """Rank a node as the representative of its group: no prototype, no `impl` block, then its length."""
        lines = int(self.symbols.end_lines[node] - self.symbols.start_lines[node])
        return not self.symbols.prototypes[node], self.symbols.kinds[node] != "impl", lines

    def find_snippet_declaration(self, snippet: Snippet) -> Declared | None:
        """Find the declaration that a snippet shows, or its file; of a prototype the definition."""
        declared = self.find_at(snippet.path, snippet.start_line, snippet.name)
        return declared and self.get_declaration(self.graph.declaration_groups.find_definition(declared.node))

    def find_definitions_of_prototypes(self, snippet: Snippet) -> list[Declared]:
        """Find the definitions of a snippet's declarations if all of them are prototypes; else an empty list."""
        file = self.symbols.find_file(snippet.path)
        prototypes = self.symbols.prototypes
        if file is None or snippet.kind in FILE_NAMED_KINDS:
            return []
        starts = self.symbols.start_lines
        inside = [
            node
            for node in self.symbols.get_file_nodes(file)
            if node != file and snippet.start_line <= starts[node] <= snippet.end_line
        ]
        if not inside or not all(prototypes[node] for node in inside):
            return []
        definitions = [self.graph.declaration_groups.find_definition(node) for node in inside]
        return (
            []
            if any(prototypes[node] for node in definitions)
            else [self.get_declaration(node) for node in definitions]
        )

    def find_neighbour_declaration(self, neighbour: GraphNeighbour) -> Declared | None:
        """Find the declaration of a neighbour; None if it is outside the repository."""
        if neighbour.kind == FILE:
            return self.find_file(neighbour.path)
        return self.find_at(neighbour.path, neighbour.start_line, neighbour.qualified_name)

    @cached_property
    def central(self) -> list[Declared]:
        """Declarations with a centrality, the most central first."""
        ranks = self.symbols.centralities
        nodes = [node for node in np.argsort(-ranks, kind="stable").tolist() if ranks[node] > 0]
        return [self.get_declaration(node) for node in nodes if self.symbols.kinds[node] in _DECLARED]

    def find_members(self, declared: Declared) -> list[Declared]:
        """Find the direct members of a declaration, those declared elsewhere (methods of a Go type) included, in order."""
        inside = [self.get_declaration(node) for node in self.graph.declaration_groups.find_members([declared.node])]
        return [member for member in inside if member.name.rpartition(".")[0] == declared.name]

    def list_siblings(self, declared: Declared) -> list[Declared]:
        """List the other declarations of the same kind in the same file and the same owner, in order."""
        file = self.symbols.find_file(declared.path)
        owner = declared.name.rpartition(".")[0]
        nodes = [] if file is None else self.symbols.get_file_nodes(file)
        neighbours = (self.get_declaration(node) for node in nodes if node not in (file, declared.node))
        return [
            sibling
            for sibling in neighbours
            if sibling.kind == declared.kind and sibling.name.rpartition(".")[0] == owner
        ]

    def list_file_declarations(self, path: str) -> list[Declared]:
        """List the top-level declarations of a file, in order."""
        file = self.symbols.find_file(path)
        inside = (
            []
            if file is None
            else [self.get_declaration(node) for node in self.symbols.get_file_nodes(file) if node != file]
        )
        names = {declared.name for declared in inside}
        return [
            declared
            for declared in inside
            if declared.kind in _DECLARED and declared.name.rpartition(".")[0] not in names
        ]

    def find_rows(self, node: int) -> range:
        """Find the rows of the chunks of a declaration; empty if its file is not indexed."""
        file = self._files.get(self.symbols.paths[node])
        if file is None:
            return range(0)
        rows = self.corpus.get_chunk_rows(file)
        first = int(np.searchsorted(self.corpus.end_lines[rows.start : rows.stop], self.symbols.start_lines[node]))
        last = int(
            np.searchsorted(self.corpus.start_lines[rows.start : rows.stop], self.symbols.end_lines[node], "right")
        )
        return rows[first:last]

    def match_declarations(self, words: str, results: Sequence[Snippet], kinds: Collection[str]) -> list[Declared]:
        """Match words of a question to declarations: those of that name, else those of the results with the words.

        Args:
            words: Name or description.
            results: Results, best first.
            kinds: Preferred kinds of declaration.
        """
        singular = words.removesuffix("s")
        spellings = dict.fromkeys((words, singular, "".join(split_raw_tokens(words)), singular.capitalize()))
        declared = [declaration for name in spellings for declaration in self.find_declarations(name)]
        ranked = sorted(declared, key=lambda declaration: (declaration.kind not in kinds, declaration.role != "source"))
        if ranked:
            return list(dict.fromkeys(ranked))
        weights = {term: self.corpus.idf(term) for term in set(tokenize_query(words))}
        named = [snippet for snippet in results if snippet.kind not in FILE_NAMED_KINDS]
        described = {owner.node: owner for snippet in named for owner in self._iterate_owners(snippet)}
        fits = {declaration: self._fit(declaration, weights, kinds) for declaration in described.values()}
        fitting = [declaration for declaration, fit in fits.items() if fit[0] > 0]
        return sorted(fitting, key=fits.__getitem__, reverse=True)

    def _fit(self, declared: Declared, weights: Mapping[str, float], kinds: Collection[str]) -> tuple[float, bool, int]:
        """Fit a declaration to words: weight of those it has, whether its kind is preferred, minus the terms of its name.

        Words of documentation and path count half; without a word in the name they must be most of the words.
        """
        terms = set(tokenize_text(declared.name))
        in_name = sum(weight for term, weight in weights.items() if term in terms)
        documented = set(tokenize_text(f"{declared.path} {self.get_summary(declared)}")) - terms
        in_text = sum(weight for term, weight in weights.items() if term in documented)
        is_enough = in_name or in_text > _MIN_DESCRIBED_SHARE * sum(weights.values())
        return (in_name + in_text / 2 if is_enough else 0.0), declared.kind in kinds, -len(terms)

    def _iterate_owners(self, snippet: Snippet) -> Iterator[Declared]:
        """Yield the declaration of a snippet and those that own it, innermost first."""
        parts = snippet.name.split(".")
        for number in range(len(parts), 0, -1):
            name = ".".join(parts[:number])
            declared = self.find_at(snippet.path, snippet.start_line, name)
            if declared and declared.name in (name, snippet.name):
                yield declared
