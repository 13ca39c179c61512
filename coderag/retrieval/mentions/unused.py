"""Declarations without a known use, with the reasons for and against removing them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from coderag.codegraph.declaration_groups import FUNCTION_KINDS, TYPE_KINDS
from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.link_tiers import find_link_tier
from coderag.codegraph.relations import USE_RELATIONS
from coderag.codegraph.symbol_graph import GraphEdge, GraphNode
from coderag.errors import InvalidQueryError
from coderag.ingestion.parsing.line_contexts import LineContexts
from coderag.retrieval.mentions.declaration_heads import find_head_line
from coderag.retrieval.mentions.indexed_files import IndexedFiles
from coderag.retrieval.mentions.reachability import find_hidden_use, is_exported
from coderag.schema.mentions import (
    DEFAULT_MAX_UNUSED,
    LinkTier,
    UnusedCertainty,
    UnusedDeclaration,
    UnusedReport,
)
from coderag.stores.graph_tables import FILE_KIND
from coderag.stores.protocols import IndexSnapshot

_EXAMINED_KINDS: Final = (FUNCTION_KINDS | TYPE_KINDS) - {"impl"}
_EXAMINED_ROLES: Final = frozenset({"source"})
_USE_RELATIONS: Final = (*USE_RELATIONS, "imports", "tests")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_MAX_PLACES: Final = 100
"""Occurrences of a name that are looked at; a name with more is in use."""

_EXPORTED: Final = "it is exported: code outside the repository may use it"
_MENTIONED: Final = "mentioned by name, without a resolved use"
_COMPOSING_SIGNS: Final = frozenset("{%$#\"'`")
"""Signs after the beginning of a name that code completes: ``f"visit_{kind}"``, ``"visit_" + kind``."""

_NO_MENTION: Final = "no other line mentions it"
_MAX_PARSED_BYTES: Final = 2_000_000


@dataclass(slots=True)
class _Words:
    """Occurrences of names: path, line, column.

    Attributes:
        prefixes: Words that end in an underscore, which code may complete at run time (``visit_``).
        suffixes: Words that begin with one and follow a value or a pasted token (``f"{kind}_run"``, ``kind##_run``).
    """

    places: dict[str, list[tuple[str, int, int]]] = field(default_factory=lambda: defaultdict(list))
    prefixes: set[str] = field(default_factory=set)
    suffixes: set[str] = field(default_factory=set)


class UnusedSearch:
    """Search for declarations without a known use in one state of the index.

    Args:
        graph: Code graph of the index.
        snapshot: The index, with edits on disk as far as it has them.
    """

    def __init__(self, graph: CodeGraph, snapshot: IndexSnapshot) -> None:
        self._graph = graph
        self._files = IndexedFiles(snapshot)
        self._contexts = LineContexts(_MAX_PARSED_BYTES)
        self._lines: dict[str, list[str]] = {}

    def find(self, path: str = "", *, limit: int = DEFAULT_MAX_UNUSED) -> UnusedReport:
        """Find functions, methods and types of source files that nothing is known to use.

        Declarations that a framework, a language or an override reaches are counted, but not listed.

        Args:
            path: File or folder to examine; empty for the whole repository.
            limit: Maximum number of returned declarations; all are counted.

        Raises:
            InvalidQueryError: No indexed file is at the path.
        """
        folder = path.strip().removeprefix("./").strip("/")
        folder = "" if folder == "." else folder
        if folder and not any(f"{name}/".startswith(f"{folder}/") for name in self._files.records):
            raise InvalidQueryError(f"no indexed file is at {path}", hint="Name a file or folder of the repository.")
        examined = [node for node in self._list_nodes() if not folder or f"{node.path}/".startswith(f"{folder}/")]
        unlinked = [(node, users) for node in examined if (users := self._find_test_users(node)) is not None]
        words = self._collect_words({_get_core(node.name) for node, _ in unlinked})
        results, excluded = [], Counter[str]()
        for node, test_users in unlinked:
            judged = self._judge(node, test_users, words)
            if isinstance(judged, str):
                excluded[judged] += 1
            else:
                results.append(judged)
        results.sort(key=_rank_result)
        return UnusedReport(
            folder, results[:limit], len(results), len(examined), dict(excluded.most_common()), self._files.n_left_out
        )

    def explain(self, node: int) -> list[str]:
        """Explain how a declaration may be reached although nothing is known to use it."""
        declared = self._graph.symbols.get_node(node)
        lines = self._read_lines(declared.path)
        hidden_use = find_hidden_use(self._graph, declared, lines)
        return [
            *([hidden_use] if hidden_use else []),
            *([_EXPORTED] if is_exported(declared, lines) else []),
        ]

    def _list_nodes(self) -> list[GraphNode]:
        """List the declarations that may be unused: one of each group, in source files of linked languages."""
        symbols = self._graph.symbols
        is_examined = np.array([kind in _EXAMINED_KINDS for kind in symbols.kinds.values], bool)
        rows = np.flatnonzero(is_examined[symbols.kinds.codes]).tolist() if symbols.n_nodes else []
        tiers: dict[str, LinkTier] = {}
        nodes = []
        for row in rows:
            language = symbols.languages[row]
            tier = tiers.setdefault(language, find_link_tier([language]))
            if tier != "none" and symbols.roles[row] in _EXAMINED_ROLES:
                group = self._graph.declaration_groups.find_group(row)
                if row == max(group, key=lambda node: int(symbols.end_lines[node] - symbols.start_lines[node])):
                    nodes.append(symbols.get_node(row))
        return nodes

    def _find_test_users(self, node: GraphNode) -> list[GraphEdge] | None:
        """Return the edges from tests to a declaration without other users; None if it has any."""
        symbols = self._graph.symbols
        group = self._graph.declaration_groups.find_group(node.id)
        members = self._graph.declaration_groups.find_members(group) if node.kind in TYPE_KINDS else []
        own = {*group, *members, *symbols.find_descendants(node.id)}
        targets = [*group, *members]
        edges = [
            edge
            for edge in symbols.read_edges(symbols.find_edge_positions(sorted(targets), "in", _USE_RELATIONS))
            if edge.source not in own
        ]
        tests = [edge for edge in edges if symbols.roles[edge.source] == "test"]
        return tests if len(tests) == len(edges) else None

    def _collect_words(self, names: set[str]) -> _Words:
        """Collect the occurrences of some names in all files, in one pass."""
        words = _Words()
        for record, lines in self._files.iterate_files():
            for number, line in enumerate(lines, 1):
                for match in _WORD.finditer(line):
                    word = match[0]
                    if word in names and len(words.places[word]) < _MAX_PLACES:
                        words.places[word].append((record.path, number, match.start()))
                    elif word.endswith("_") and line[match.end() : match.end() + 1] in _COMPOSING_SIGNS:
                        words.prefixes.add(word)
                    elif word.startswith("_") and line[: match.start()].endswith(("}", "##")):
                        words.suffixes.add(word)
        return words

    def _judge(self, node: GraphNode, test_users: Sequence[GraphEdge], words: _Words) -> UnusedDeclaration | str:
        """Judge a declaration without a known user; a text says why it is not listed."""
        lines = self._read_lines(node.path)
        if hidden_use := find_hidden_use(self._graph, node, lines):
            return re.sub(r"`.*`", "a decorator or annotation", hidden_use)
        if len(words.places.get(_get_core(node.name), ())) >= _MAX_PLACES:
            return _MENTIONED
        contexts = Counter[str]()
        for context in self._iterate_contexts(node, words):
            if context == "code":
                return _MENTIONED
            contexts[context] += 1
        reasons = _explain(contexts, has_tests=bool(test_users))
        prefix = next((prefix for prefix in words.prefixes if node.name.startswith(prefix) and node.name != prefix), "")
        suffix = next((suffix for suffix in words.suffixes if node.name.endswith(suffix) and node.name != suffix), "")
        if (completed := prefix or suffix) and node.kind in FUNCTION_KINDS:
            reasons.append(f"code that completes `{completed}` may reach it")
        exported = is_exported(node, lines)
        if exported:
            reasons.append(_EXPORTED)
        certainty: UnusedCertainty = "likely" if len(reasons) == 1 and not contexts and not test_users else "possible"
        return UnusedDeclaration(
            node.path, node.start_line, node.end_line, node.qualified_name, node.kind, node.language, certainty, reasons,
            contexts.total(),
        )  # fmt: skip

    def _iterate_contexts(self, node: GraphNode, words: _Words) -> Iterator[str]:
        """Yield the syntax around each line that may use a declaration, or ``tests`` or ``documents``.

        Lines in the declaration do not count, nor do those that belong to another declaration of the name.
        """
        symbols = self._graph.symbols
        group = set(self._graph.declaration_groups.find_group(node.id))
        namesakes = [other for other in self._nodes_by_name[node.name] if symbols.kinds[other] != FILE_KIND]
        places = words.places.get(_get_core(node.name), [])
        named_lines: dict[str, set[int]] = defaultdict(set)
        for path, line, _ in places:
            named_lines[path].add(line)
        heads = {
            (other.path, find_head_line(other, self._read_lines(other.path), named_lines[other.path]))
            for other in map(symbols.get_node, namesakes)
            if other.path in named_lines
        }
        other_nodes = sorted(set(namesakes) - group)
        linked = {
            (symbols.paths[edge.source], edge.line)
            for edge in symbols.read_edges(symbols.find_edge_positions(other_nodes, "in"))
        }
        ranges = [(symbols.paths[other], symbols.start_lines[other], symbols.end_lines[other]) for other in group]
        listed: set[tuple[str, int]] = set()
        for path, line, column in places:
            place, record = (path, line), self._files.records[path]
            if place in listed or place in heads or place in linked:
                continue
            if any(path == own and first <= line <= last for own, first, last in ranges):
                continue
            listed.add(place)
            context = self._contexts.classify(record, self._read_lines(path), line, column)
            yield "tests" if record.role == "test" else "documents" if context == "text" else context

    @cached_property
    def _nodes_by_name(self) -> dict[str, list[int]]:
        nodes: dict[str, list[int]] = defaultdict(list)
        for node, name in enumerate(self._graph.symbols.names.to_pylist()):
            nodes[name].append(node)
        return nodes

    def _read_lines(self, path: str) -> list[str]:
        if path not in self._lines:
            self._lines[path] = self._files.read_lines(path)
        return self._lines[path]


def _get_core(name: str) -> str:
    """Return the longest word of a name: ``save`` of ``save!``."""
    return max(_WORD.findall(name), key=len, default=name)


def _explain(contexts: Counter[str], *, has_tests: bool) -> list[str]:
    """Return what speaks for it that a declaration is unused."""
    reasons = []
    if has_tests or contexts["tests"]:
        reasons.append("only tests use it")
    if contexts["import"]:
        reasons.append(f"it is imported ({_count_lines(contexts['import'])}), but no other line uses it")
    if contexts["string"]:
        reasons.append(f"strings name it ({_count_lines(contexts['string'])}), so code may reach it by its name")
    if asides := contexts["comment"] + contexts["documents"]:
        only = "" if reasons else "only "
        reasons.append(f"{only}comments or documents mention it ({_count_lines(asides)})")
    return reasons or [_NO_MENTION]


def _rank_result(result: UnusedDeclaration) -> tuple[bool, int, int, str, int]:
    return result.certainty != "likely", len(result.reasons), result.mentions, result.path, result.start_line


def _count_lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"
