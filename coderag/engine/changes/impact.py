"""Code that depends on changed declarations: by the code graph, and by lines that name them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from coderag.codegraph.constructors import is_constructor
from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.relation_queries import find_users
from coderag.engine.changes.indexed_declarations import IndexedDeclaration
from coderag.engine.changes.related_languages import is_related_language
from coderag.ingestion.parsing.languages import detect_language
from coderag.retrieval.mentions.mention_search import MentionSearch
from coderag.retrieval.mentions.name_pattern import NamePattern
from coderag.retrieval.mentions.targets import MentionTarget, build_node_target
from coderag.schema.change_review import (
    BREAKING_CHANGES,
    DEFAULT_MAX_DEPENDENTS,
    Dependent,
    NamingLine,
    ReviewedDeclaration,
)
from coderag.schema.graph import GraphNeighbour
from coderag.schema.lineage import DeclarationChange
from coderag.schema.mentions import NameMention
from coderag.schema.vocabulary import FILE_NAMED_KINDS, MIN_RESOLVED_CONFIDENCE
from coderag.stores.symbol_table import split_qualified

MAX_SEARCHED_NAMES: Final = 60
"""Changed names whose mentions are searched for, those that may break other code first."""

_MAX_MENTIONS: Final = 300
_MAX_NAMED_FILES: Final = 400  # a name in more files says nothing, and takes seconds to look up
_MAX_KEY_MENTIONS: Final = 50
_MAX_LISTED_LINES: Final = 40
_FEW: Final = 3  # resolved dependents, below which candidates are listed as well
_MIN_NAME_CHARS: Final = 3
_CODE_CONTEXTS: Final = frozenset({"code", "string", "import"})


class NamedLines(NamedTuple):
    """Lines that name changed declarations.

    Attributes:
        documents, settings: Lines of documents and of settings.
        tests: Lines of tests, by index of the declaration.
    """

    documents: list[NamingLine]
    settings: list[NamingLine]
    tests: dict[int, list[NameMention]]


class EditedPlaces:
    """Lines that a change edits on its new side, to tell whether a dependent is edited, too.

    Args:
        changes: All changed declarations.
        paths: Changed files.
    """

    def __init__(self, changes: Sequence[DeclarationChange], paths: Collection[str]) -> None:
        self._names = {(change.path, change.qualified_name) for change in changes}
        self._paths = frozenset(paths)

    def contains(self, neighbour: GraphNeighbour) -> bool:
        """Return whether the change edits a declaration, or the module-level code of a file."""
        if neighbour.kind == "file":
            return neighbour.path in self._paths
        return (neighbour.path, neighbour.qualified_name) in self._names


def find_dependents(
    graph: CodeGraph, indexed: IndexedDeclaration, edited: EditedPlaces, *, depth: int = 1
) -> list[Dependent]:
    """Return the code that depends on a changed declaration, the most certain first, without tests."""
    if not indexed.nodes:
        return []
    permissive = graph.permissive
    own = {(graph.symbols.paths[node], graph.symbols.qualified_names[node].as_py()) for node in indexed.nodes}
    neighbours: dict[tuple[str, str, int], GraphNeighbour] = {}
    for node in indexed.nodes:
        name = graph.symbol_resolver.to_declaration(node).name
        uses = find_users(permissive, name, calls=True)
        uses += permissive.overrides(name) if graph.symbols.kinds[node] == "method" else []
        uses += permissive.callers(name, depth) if depth > 1 else []
        if sum(neighbour.confidence >= MIN_RESOLVED_CONFIDENCE for neighbour in uses) < _FEW:
            uses += [other for other in find_users(permissive, name, calls=True, candidates=True) if other.path]
        for neighbour in uses:
            neighbours.setdefault((neighbour.path, neighbour.qualified_name, neighbour.start_line), neighbour)
    listed = [
        neighbour
        for neighbour in neighbours.values()
        if neighbour.role != "test" and (neighbour.path, neighbour.qualified_name) not in own
    ]
    listed.sort(key=lambda neighbour: (neighbour.depth, -neighbour.confidence, neighbour.path, neighbour.line))
    return [Dependent(neighbour, edited.contains(neighbour)) for neighbour in listed]


def review_declarations(
    graph: CodeGraph,
    changes: Sequence[DeclarationChange],
    indexed: Mapping[int, IndexedDeclaration],
    edited: EditedPlaces,
    *,
    depth: int = 1,
) -> list[ReviewedDeclaration]:
    """Return the changed declarations, in order, with the code that depends on them by graph."""
    reviewed = []
    for position, change in enumerate(changes):
        match = indexed[position]
        dependents = find_dependents(graph, match, edited, depth=depth) if change.change != "added" else []
        node = graph.symbols.get_node(match.nodes[0]) if match.nodes else None
        reviewed.append(
            ReviewedDeclaration(
                change,
                match.match,
                node.path if node is not None else "",
                node.start_line if node is not None else 0,
                node.end_line if node is not None else 0,
                dependents[:DEFAULT_MAX_DEPENDENTS],
                len(dependents),
            )
        )
    return reviewed


def add_mentions(
    search: MentionSearch,
    graph: CodeGraph,
    declarations: list[ReviewedDeclaration],
    indexed: Mapping[int, IndexedDeclaration],
    edited_paths: Collection[str],
) -> NamedLines:
    """Add the lines that name the changed declarations, and return those of documents, settings and tests.

    Args:
        search: Search for mentions.
        graph: The code graph.
        declarations: Changed declarations, updated in place.
        indexed: Their counterparts in the index, by position.
        edited_paths: Changed files; documents among them are left out.
    """
    lines = NamedLines([], [], {})
    searched = set[tuple[str, ...]]()
    order = sorted(range(len(declarations)), key=lambda position: _rank_change(declarations[position]))
    for position in order:
        declaration = declarations[position]
        target = _build_target(graph, declaration.change, indexed[position])
        if target is None or target.pattern.words in searched or len(searched) >= MAX_SEARCHED_NAMES:
            continue
        searched.add(target.pattern.words)
        if (n_files := search.files.count_files(target.pattern)) > _MAX_NAMED_FILES:
            reason = f"its name is too common: {n_files:,} files contain it"
            declarations[position] = replace(declaration, reason=reason)
            continue
        mentions = search.find_target(target, limit=_MAX_MENTIONS)
        if declaration.change.kind == "key" and mentions.total > _MAX_KEY_MENTIONS:
            continue  # a common word, such as "name"
        name = target.pattern.words[0]
        languages = target.languages or {detect_language(declaration.change.path)}
        related_lines = [
            line
            for line in mentions.lines
            if any(is_related_language(language, line.language) for language in languages)
        ]
        aside = [line for line in related_lines if line.role in ("docs", "config") and line.path not in edited_paths]
        lines.documents.extend(_to_naming_line(line, name) for line in aside if line.role == "docs")
        lines.settings.extend(_to_naming_line(line, name) for line in aside if line.role == "config")
        lines.tests[position] = [line for line in related_lines if line.role == "test"]
        if declaration.change.change != "added":
            declarations[position] = _add_code_mentions(declaration, related_lines, mentions.reason)
    return NamedLines(lines.documents[:_MAX_LISTED_LINES], lines.settings[:_MAX_LISTED_LINES], lines.tests)


def _add_code_mentions(
    declaration: ReviewedDeclaration, lines: Sequence[NameMention], reason: str
) -> ReviewedDeclaration:
    change = declaration.change
    known_paths = {dependent.neighbour.path for dependent in declaration.dependents}
    unlinked = [
        line
        for line in lines
        if not line.linked
        and line.context in _CODE_CONTEXTS
        and line.role not in ("test", "docs", "config")
        and not (line.context == "import" and (change.change not in BREAKING_CHANGES or line.path in known_paths))
    ]
    return replace(
        declaration,
        mentions=unlinked[:DEFAULT_MAX_DEPENDENTS],
        n_mentions=len(unlinked),
        reason=reason if unlinked else "",
    )


def _build_target(graph: CodeGraph, change: DeclarationChange, indexed: IndexedDeclaration) -> MentionTarget | None:
    """Return the name to search for; None where its mentions would say nothing."""
    if change.kind in FILE_NAMED_KINDS:
        return None
    name = change.qualified_name
    if indexed.nodes:
        target = build_node_target(graph, name, indexed.nodes)
    else:
        *owners, word = split_qualified(name) or [name]
        if owners and is_constructor(detect_language(change.path), word, owners[-1]):
            return None  # the type is among the changes, too
        target = MentionTarget(name, NamePattern((word,)))
    word = target.pattern.words[0]
    return None if len(word) < _MIN_NAME_CHARS or (word.startswith("__") and word.endswith("__")) else target


def _to_naming_line(mention: NameMention, name: str) -> NamingLine:
    return NamingLine(mention.path, mention.line, mention.text.strip(), name)


def _rank_change(declaration: ReviewedDeclaration) -> tuple[bool, int]:
    return declaration.change.change not in BREAKING_CHANGES, -declaration.n_dependents
