"""Spellings of a name in code, and its declarations."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, get_args

from coderag.codegraph.constructors import is_constructor
from coderag.codegraph.declaration_groups import TYPE_KINDS
from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.symbol_graph import GraphNode
from coderag.retrieval.mentions.name_pattern import NamePattern
from coderag.schema.vocabulary import Kind
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND
from coderag.stores.symbol_table import split_qualified

_DECLARATION_KINDS: Final[frozenset[str]] = frozenset(get_args(Kind))
_CASELESS_LANGUAGES: Final = frozenset({"sql", "pascal", "fortran", "vhdl", "powershell", "cmake"})
_COMPONENT_LANGUAGES: Final = frozenset({"vue", "svelte", "astro"})
_SPLIT_LANGUAGES: Final = frozenset({"c", "cpp", "objective_c"})
_ENTRY_STEMS: Final = frozenset({"index", "__init__", "mod", "lib"})
"""Files that are imported by the name of their folder."""

_SELECTOR_NAME: Final = re.compile(r"[.#](-?[\w-]*\w)")
_TYPE_ARGUMENTS: Final = re.compile(r"(?<=\w)<.*>$")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class MentionTarget:
    """A name that is searched for.

    Attributes:
        nodes: Its declarations in the graph.
        ranges: First and last line of each declaration, by path; a file's is empty.
        languages: Languages that declare it.
        member_prefixes: Beginnings of the qualified names of members that stand outside of their type, as in C++.
    """

    name: str
    pattern: NamePattern
    nodes: Sequence[GraphNode] = ()
    ranges: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    languages: frozenset[str] = frozenset()
    member_prefixes: tuple[str, ...] = ()

    @property
    def is_file(self) -> bool:
        """True if it names files only."""
        return bool(self.nodes) and all(node.kind == FILE_KIND for node in self.nodes)

    def contains(self, path: str, line: int) -> bool:
        """Return whether a line is inside one of the declarations or a member of it."""
        return any(first <= line <= last for first, last in self.ranges.get(path, ()))


def build_target(graph: CodeGraph, name: str) -> MentionTarget:
    """Build the target of a name: of a declaration its last part, of a file its stem, of anything else the name itself."""
    node_ids = graph.permissive.symbol_resolver.find_candidates(name, _DECLARATION_KINDS, {FILE_KIND})
    return build_node_target(graph, name, node_ids)


def build_node_target(graph: CodeGraph, name: str, node_ids: Sequence[int]) -> MentionTarget:
    """Build the target of some nodes of the graph that a name means."""
    nodes = [graph.symbols.get_node(node) for node in node_ids]
    if not nodes:
        word = name.strip().removesuffix("()") or name
        return MentionTarget(name, NamePattern((word,), is_kebab="-" in word))
    words = dict.fromkeys(word for node in nodes for word in _spell_node(graph, node) if word)
    ranges: dict[str, list[tuple[int, int]]] = defaultdict(list)
    members = graph.declaration_groups.find_members(
        [node for node in node_ids if graph.symbols.kinds[node] in TYPE_KINDS]
    )
    for node in (*nodes, *map(graph.symbols.get_node, members)):
        ranges[node.path].append((node.start_line, node.end_line))
    languages = frozenset(node.language for node in nodes if node.language)
    return MentionTarget(
        name,
        NamePattern(
            tuple(words) or (name,),
            ignores_case=bool(languages) and languages <= _CASELESS_LANGUAGES,
            is_kebab=all(node.kind in ("rule", "key") for node in nodes),
        ),
        nodes,
        dict(ranges),
        languages,
        tuple(
            f"{node.qualified_name}." for node in nodes if node.kind in TYPE_KINDS and node.language in _SPLIT_LANGUAGES
        ),
    )


def _spell_node(graph: CodeGraph, node: GraphNode) -> Sequence[str]:
    """Return how code that uses a node may write it."""
    if node.kind == FILE_KIND:
        return spell_file(node.path, node.language)
    if node.kind == EXTERNAL_KIND:
        return ((split_qualified(node.name) or [node.name])[-1],)
    if node.language == "terraform":
        return (node.name if node.qualified_name.startswith(("output.", "local.")) else node.qualified_name,)
    if node.kind == "rule" and (selectors := _SELECTOR_NAME.findall(node.name)):
        return (selectors[-1],)
    owner = graph.symbols.names[node.parent].as_py() if node.parent >= 0 else ""
    if owner and node.kind == "method" and is_constructor(node.language, node.name, owner):
        return (owner,)
    word = _TYPE_ARGUMENTS.sub("", node.name.strip("`"))
    if len(word) > 1 and word.endswith("=") and word[:-1].isidentifier():  # a setter of Ruby
        word = word[:-1]
    return (word,)


def spell_file(path: str, language: str) -> Sequence[str]:
    """Return how code that uses a file may write it: its stem or its folder; of a component in kebab case, too."""
    file = PurePosixPath(path)
    stem = file.name.split(".")[0] or file.name
    if stem in _ENTRY_STEMS and file.parent.name:
        stem = file.parent.name
    words = [stem]
    if language in _COMPONENT_LANGUAGES and len(parts := _HUMP.split(stem)) > 1:
        words.append("-".join(parts).lower())
    return words
