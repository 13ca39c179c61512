"""Queries to the code graph by name: callers, importers, types, tests, impact, paths, cycles."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, get_args

import numpy as np

from coderag.codegraph.cycles import find_cycles
from coderag.codegraph.declaration_groups import DISPATCH_CONFIDENCE, FUNCTION_KINDS, TYPE_KINDS, DeclarationGroups
from coderag.codegraph.node_names import NodeNames
from coderag.codegraph.relations import BASE_RELATIONS, CALL_RELATIONS, NEIGHBOUR_RELATIONS, USE_RELATIONS
from coderag.codegraph.symbol_graph import Direction, SymbolGraph
from coderag.codegraph.symbol_resolver import MODULE_KINDS, SymbolResolver
from coderag.codegraph.traversal import Equivalents, Routes, TraversalStep, find_shortest_path, walk_breadth_first
from coderag.errors import InvalidQueryError, UnknownNameError
from coderag.schema.graph import GraphCycle, GraphDeclaration, GraphNeighbour, Hotspot, OutlineEntry
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE, CycleLevel, Kind
from coderag.stores.graph_tables import FILE_KIND

_CALLABLE_KINDS = FUNCTION_KINDS | TYPE_KINDS
ABSTRACT_KINDS = frozenset({"interface", "trait"})
_DECLARATION_KINDS: Final[frozenset[str]] = frozenset(get_args(Kind))
_OVERRIDE_RELATIONS = ("overrides",)
_SECONDARY_ROLES: Final = frozenset({"test", "example", "generated", "vendored"})
_MIN_NAMESAKES = 2
_MAX_TEST_DEPTH = 3  # calls from a test to the tested declaration


class CodeGraph:
    """The code graph of one generation, queried by name.

    A name is a declaration's name, plain (``login``) or qualified in any language's syntax (``Session.login``); a path or
    the end of one; a module's dotted name; a package; ``path:line``; or ``path::name``. Overloads count as one declaration,
    and so does a declaration with its header or stub.

    Results are ordered by distance; then tests, examples, generated and vendored code come last; then by confidence.
    With ``candidates``, unresolved edges are included; their confidence is below `MIN_RESOLVED_CONFIDENCE`.

    Every method that takes a name raises `UnknownNameError` if nothing has it. It raises `AmbiguousNameError` if several
    declarations have it. `permissive` uses all of them, and returns nothing for an unknown name.

    Args:
        symbols: The nodes and edges.
        permissive: Whether ambiguous and unknown names are accepted.
    """

    def __init__(self, symbols: SymbolGraph, *, permissive: bool = False) -> None:
        self.symbols = symbols
        self._is_permissive = permissive

    @cached_property
    def permissive(self) -> "CodeGraph":
        """The same graph, where an ambiguous name means all its declarations and an unknown name means none."""
        graph = CodeGraph(self.symbols, permissive=True)
        graph.declaration_groups, graph.symbol_resolver = self.declaration_groups, self.symbol_resolver
        return graph

    @cached_property
    def declaration_groups(self) -> DeclarationGroups:
        """Groups of declarations of one symbol."""
        return DeclarationGroups(self.symbols)

    @cached_property
    def symbol_resolver(self) -> SymbolResolver:
        """Resolver of names."""
        return SymbolResolver(self.symbols, self.declaration_groups, NodeNames(self.symbols))

    # Calls

    def callers(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the callers of a function, or the code that instantiates a type.

        A call of an overridden method may dispatch to the given one; such callers have a confidence of at most 0.6.
        """
        nodes = self._resolve_nodes(name, _CALLABLE_KINDS)
        neighbours = self._walk(
            self._expand_files(nodes),
            {"in": CALL_RELATIONS},
            depth,
            self.declaration_groups.find_use_targets,
            candidates=candidates,
            nodes=nodes,
        )
        return [*self._find_recursive_calls(nodes, "in"), *neighbours]

    def callees(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the functions that a function, type or file calls, and the types that it instantiates."""
        nodes = self._resolve_nodes(name, _CALLABLE_KINDS)
        neighbours = self._walk(
            self._expand_members(nodes),
            {"out": CALL_RELATIONS},
            depth,
            self.declaration_groups.find_use_sources,
            candidates=candidates,
            nodes=nodes,
            has_members=True,
        )
        return [*self._find_recursive_calls(nodes, "out"), *neighbours]

    def references(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the code that names a declaration without calling it: as a type, decorator, value or argument."""
        return self._walk(
            self._resolve_nodes(name), {"in": ("references",)}, 1, self._find_group, candidates=candidates
        )

    def users(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the code that calls, instantiates, names, extends or implements a declaration."""
        nodes = self._resolve_nodes(name)
        return self._walk(
            self._expand_files(nodes),
            {"in": USE_RELATIONS},
            depth,
            self.declaration_groups.find_use_targets,
            candidates=candidates,
            nodes=nodes,
        )

    def uses(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the declarations that a declaration or its members call, instantiate, name, extend or implement."""
        nodes = self._resolve_nodes(name)
        return self._walk(
            self._expand_members(nodes),
            {"out": USE_RELATIONS},
            depth,
            self.declaration_groups.find_use_sources,
            candidates=candidates,
            nodes=nodes,
            has_members=True,
        )

    # Imports

    def imports(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the files, declarations and packages that a file imports; for a declaration, those of its file."""
        starts = self._resolve_nodes(name, {FILE_KIND})
        return self._walk(
            starts, {"out": ("imports",)}, depth, self.declaration_groups.find_file_nodes, candidates=candidates
        )

    def importers(
        self, name: str, depth: int = 1, *, candidates: bool = False, members: bool = True
    ) -> list[GraphNeighbour]:
        """Return the files that import a file, package or declaration.

        If no file imports the declaration or an enclosing type, the importers of its file are returned, with a confidence of at
        most 0.6.

        Args:
            name: Name of the file, package or declaration.
            depth: Maximum number of steps.
            candidates: Whether to include unresolved imports.
            members: Whether importing a type counts as importing its members.
        """
        starts = self._resolve_nodes(name, MODULE_KINDS)
        if not members:
            starts = [node for node in starts if not self.symbols.find_ancestors(node)]
        neighbours = self._find_importers(starts, depth, self._find_importable_nodes, candidates=candidates)
        return neighbours or self._find_importers(starts, depth, self._find_containing_file, candidates=candidates)

    def _find_importers(
        self, starts: Sequence[int], depth: int, start_equivalents: Equivalents, *, candidates: bool
    ) -> list[GraphNeighbour]:
        def find_equivalents(node: int) -> Iterable[tuple[int, float]]:
            return start_equivalents(node) if node in starts else self.declaration_groups.find_file_nodes(node)

        listed_files = {self.symbols.find_containing_file(node) for node in starts}
        neighbours = []
        for step in self._walk_steps(starts, {"in": ("imports",)}, depth, find_equivalents, candidates=candidates):
            file = self.symbols.find_containing_file(step.far_node)
            if file is not None and file not in listed_files:
                listed_files.add(file)
                neighbours.append(self._to_neighbour(step, file))
        return _sort_neighbours(neighbours)

    def _find_importable_nodes(self, node: int) -> Iterable[tuple[int, float]]:
        """Yield the nodes whose import imports this one, too: all nodes of a file; a declaration and its enclosing types."""
        if self.symbols.kinds[node] == FILE_KIND:
            yield from self.declaration_groups.find_file_nodes(node)
            return
        for other in self.declaration_groups.find_group(node):
            for outer in (other, *self.symbols.find_ancestors(other)):
                yield outer, 1.0

    def _find_containing_file(self, node: int) -> Iterable[tuple[int, float]]:
        file = self.symbols.find_containing_file(node)
        return () if file is None else ((file, DISPATCH_CONFIDENCE),)

    # Types

    def bases(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the types that a type extends or implements."""
        return self._walk(
            self._resolve_nodes(name, TYPE_KINDS),
            {"out": BASE_RELATIONS},
            depth,
            self._find_group,
            candidates=candidates,
        )

    def subclasses(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the types that extend or implement a type."""
        return self._walk(
            self._resolve_base_nodes(name, TYPE_KINDS),
            {"in": BASE_RELATIONS},
            depth,
            self._find_group,
            candidates=candidates,
        )

    def implementations(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the implementations of a type (subclasses other than interfaces), or the overrides of a method."""
        starts = self._resolve_base_nodes(name, TYPE_KINDS, {"method"})
        routes: Routes = {"in": (*BASE_RELATIONS, "overrides")}
        neighbours = self._walk(starts, routes, depth, self._find_group, candidates=candidates)
        return [neighbour for neighbour in neighbours if neighbour.kind not in ABSTRACT_KINDS]

    def overrides(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the methods that override a method."""
        return self._walk(
            self._resolve_base_nodes(name, {"method"}),
            {"in": _OVERRIDE_RELATIONS},
            depth,
            self._find_group,
            candidates=candidates,
        )

    def overridden(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the methods that a method overrides."""
        return self._walk(
            self._resolve_nodes(name, {"method"}),
            {"out": _OVERRIDE_RELATIONS},
            depth,
            self._find_group,
            candidates=candidates,
        )

    # Tests, documents, impact

    def tests(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the tests of a declaration or file; if there are none, tests that call it indirectly or name it."""
        nodes = self._resolve_nodes(name)
        starts = self._expand_members(nodes)
        if direct := self._walk(
            starts, {"in": ("tests",)}, 1, self._find_group, candidates=candidates, nodes=nodes, has_members=True
        ):
            return direct
        for relations, depth in ((CALL_RELATIONS, _MAX_TEST_DEPTH), (USE_RELATIONS, 1)):
            users = self._walk(
                starts,
                {"in": relations},
                depth,
                self.declaration_groups.find_use_targets,
                candidates=candidates,
                nodes=nodes,
                has_members=True,
            )
            if tests := [replace(user, relation="test_for") for user in users if user.role == "test"]:
                return tests
        return []

    def documents(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the documents that name a declaration."""
        return self._walk(self._resolve_nodes(name), {"in": ("documents",)}, 1, self._find_group, candidates=candidates)

    def impact(self, name: str, depth: int = 3, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the code that may break if a declaration or file changes.

        This is the code that calls, names, extends, overrides or tests it or its members, transitively. Importing files follow
        if none of their declarations is listed; importers of the type around a member are not included.
        """
        nodes = self._resolve_nodes(name)
        routes: Routes = {"in": (*USE_RELATIONS, "overrides", "tests")}
        steps = self._walk_steps(
            self._expand_members(nodes),
            routes,
            depth,
            self.declaration_groups.find_use_targets,
            candidates=candidates,
            exact_relations=_OVERRIDE_RELATIONS,
        )
        namesake_steps = self._list_namesake_steps(nodes, routes, candidates=candidates, has_members=True)
        users = _sort_neighbours(map(self._to_neighbour, [*namesake_steps, *steps]))
        listed_paths = {user.path for user in users}
        top_level = [node for node in nodes if not self.symbols.find_ancestors(node)]
        files = self._find_importers(top_level, 1, self._find_importable_nodes, candidates=candidates)
        direct = [user for user in users if user.depth == 1]
        return [*direct, *(file for file in files if file.path not in listed_paths), *users[len(direct) :]]

    # Whole graph

    def path(self, start: str, end: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the steps of a shortest path between two declarations or files; empty if there is none.

        Calls are tried first; then calls that dispatch to overriding methods, with a confidence of at most 0.6; then all uses
        and imports.
        """
        ends = self._expand_members(self._resolve_nodes(end))
        starts = sorted({*self._expand_members(self._resolve_nodes(start))} - {*ends})
        min_confidence = _get_min_confidence(candidates=candidates)
        for relations, equivalents in (
            (CALL_RELATIONS, self.declaration_groups.find_use_sources),
            (CALL_RELATIONS, self.declaration_groups.find_dispatch_targets),
            ((*USE_RELATIONS, "imports"), self.declaration_groups.find_dispatch_targets),
        ):
            if steps := find_shortest_path(
                self.symbols, starts, ends, {"out": relations}, min_confidence=min_confidence, equivalents=equivalents
            ):
                return [self._to_neighbour(step) for step in steps]
        return []

    def cycles(self, level: CycleLevel = "files") -> list[GraphCycle]:
        """Return the groups of files that import one another, or of declarations that call one another, smallest first.

        Raises:
            InvalidQueryError: The level is unknown.
        """
        if level not in get_args(CycleLevel):
            raise InvalidQueryError(
                f"unknown level of cycles: {level!r}", hint=f"Use {' or '.join(get_args(CycleLevel))}."
            )
        node_cycles = find_cycles(self.symbols, ("imports",) if level == "files" else CALL_RELATIONS, level)
        return [
            GraphCycle(
                members=[self.symbol_resolver.to_declaration(node).name for node in cycle.nodes],
                steps=[
                    self._to_neighbour(TraversalStep(edge, "out", number, edge.confidence))
                    for number, edge in enumerate(cycle.edges, 1)
                ],
            )
            for cycle in sorted(node_cycles, key=lambda cycle: (len(cycle.nodes), cycle.nodes))
        ]

    def hotspots(self, limit: int = 20, kind: str | None = None) -> list[Hotspot]:
        """Return the most central declarations, highest first.

        Args:
            limit: Maximum number of results.
            kind: Kind of declaration, ``file`` or ``external``; None for all declarations.

        Raises:
            InvalidQueryError: The kind is unknown, or the limit is below 1.
        """
        symbols = self.symbols
        if limit < 1:
            raise InvalidQueryError(f"limit is {limit}; it must be 1 or more")
        if kind is not None and kind not in _DECLARATION_KINDS | MODULE_KINDS:
            valid_kinds = ", ".join(sorted(_DECLARATION_KINDS | MODULE_KINDS))
            raise InvalidQueryError(f"unknown kind: {kind!r}", hint=f"Use one of {valid_kinds}.")
        kinds = MODULE_KINDS if kind is None else (kind,)
        is_listed = np.array([(word in kinds) != (kind is None) for word in symbols.kinds.values], bool)
        nodes = np.flatnonzero(is_listed[symbols.kinds.codes]) if symbols.n_nodes else np.zeros(0, np.int64)
        best = nodes[np.lexsort((nodes, -symbols.centralities[nodes]))][:limit]
        return [self._to_hotspot(node) for node in best.tolist()]

    def outline(self, path: str) -> list[OutlineEntry]:
        """Return the declarations of a file or declaration, nested, in order.

        Raises:
            UnknownNameError: The path is a folder, or nothing has the name.
        """
        nodes = self._find_outlined_nodes(path)
        return [self._to_outline_entry(child) for node in nodes[:1] for child in self.symbols.find_children(node)]

    def find_declaration(self, name: str) -> GraphDeclaration:
        """Return the one declaration, file or package that a name means.

        Raises:
            UnknownNameError: Nothing has the name.
            AmbiguousNameError: Several declarations have it.
        """
        return self.symbol_resolver.to_declaration(self._resolve_nodes(name)[0])

    def find_file(self, name: str) -> str:
        """Return the path of the file of which `outline` lists the declarations. Raises as `outline`."""
        nodes = self._find_outlined_nodes(name)
        return self.symbols.paths[nodes[0]] if nodes else ""

    def _find_outlined_nodes(self, path: str) -> list[int]:
        folder = path.removeprefix("./").rstrip("/") if isinstance(path, str) else ""
        if folder and any(
            f"{indexed_path}/".startswith(f"{folder}/") and indexed_path != folder
            for indexed_path in self.symbols.paths.values
        ):
            raise UnknownNameError(f"{folder} is a folder", hint="Name a file in it.")
        return self._resolve_nodes(path, {FILE_KIND})

    # Helpers

    def _resolve_nodes(self, name: str, *preferred_kinds: Collection[str]) -> list[int]:
        """Return the nodes that a name means, preferring some kinds, then any declaration, then files."""
        find = self.symbol_resolver.find_candidates if self._is_permissive else self.symbol_resolver.resolve
        return find(name, *preferred_kinds, _DECLARATION_KINDS, {FILE_KIND})

    def _resolve_base_nodes(self, name: str, *preferred_kinds: Collection[str]) -> list[int]:
        """Return the nodes that a name means as in `_resolve_nodes`; of several declarations, the base of all others."""
        if self._is_permissive:
            return self._resolve_nodes(name, *preferred_kinds)
        return self.symbol_resolver.resolve_base(name, *preferred_kinds, _DECLARATION_KINDS, {FILE_KIND})

    def _expand_files(self, nodes: Sequence[int]) -> list[int]:
        """Return the nodes, with all nodes of those that are files."""
        files = [node for node in nodes if self.symbols.kinds[node] == FILE_KIND]
        return sorted({*nodes, *(inside for file in files for inside in self.symbols.get_file_nodes(file))})

    def _expand_members(self, nodes: Sequence[int]) -> list[int]:
        """Return the nodes with all their members."""
        return [*nodes, *self.declaration_groups.find_members(nodes)]

    def _find_group(self, node: int) -> Iterable[tuple[int, float]]:
        return ((other, 1.0) for other in self.declaration_groups.find_group(node))

    def _walk(
        self,
        starts: Sequence[int],
        routes: Routes,
        depth: int,
        equivalents: Equivalents,
        *,
        candidates: bool,
        nodes: Sequence[int] | None = None,
        has_members: bool = False,
    ) -> list[GraphNeighbour]:
        """Return the neighbours of some declarations.

        Args:
            nodes: The declarations, if the starts include others.
            has_members: Whether the starts include the members of the declarations.
        """
        steps = self._walk_steps(starts, routes, depth, equivalents, candidates=candidates)
        namesake_steps = self._list_namesake_steps(
            starts if nodes is None else nodes, routes, candidates=candidates, has_members=has_members
        )
        return _sort_neighbours(map(self._to_neighbour, [*namesake_steps, *steps]))

    def _list_namesake_steps(
        self, nodes: Sequence[int], routes: Routes, *, candidates: bool, has_members: bool = False
    ) -> Iterator[TraversalStep]:
        """Yield the steps between declarations of one name, one to each: a traversal never returns to its starts.

        An implementation may have the name of its interface, and a caller that of its callee.

        Args:
            has_members: Whether the members of each declaration count as part of it.
        """
        groups = self.declaration_groups.group_nodes(nodes) if self._is_permissive else []
        if len(groups) < _MIN_NAMESAKES:
            return
        parts = [self._expand_members(group) if has_members else group for group in groups]
        numbers = {node: number for number, part in enumerate(parts) for node in part}
        listed: set[int] = set()
        for node, number in numbers.items():
            for direction, relations in routes.items():
                for edge in self.symbols.find_edges(
                    node, direction, relations, _get_min_confidence(candidates=candidates)
                ):
                    far_node = edge.source if direction == "in" else edge.target
                    if numbers.get(far_node, number) != number and far_node not in listed:
                        listed.add(far_node)
                        yield TraversalStep(edge, direction, 1, edge.confidence)

    def _find_recursive_calls(self, nodes: Sequence[int], direction: Direction) -> list[GraphNeighbour]:
        """Return the calls of functions by themselves, once per function; a traversal never returns to its start."""
        edges = {
            edge.source: edge
            for node in nodes
            for edge in self.symbols.find_edges(node, "out", CALL_RELATIONS)[::-1]
            if edge.target == node
        }
        return [self._to_neighbour(TraversalStep(edge, direction, 1, edge.confidence)) for edge in edges.values()]

    def _walk_steps(
        self,
        starts: Sequence[int],
        routes: Routes,
        depth: int,
        equivalents: Equivalents,
        *,
        candidates: bool,
        exact_relations: Collection[str] = (),
    ) -> list[TraversalStep]:
        if depth < 1:
            raise InvalidQueryError(f"depth is {depth}; it must be 1 or more")
        min_confidence = _get_min_confidence(candidates=candidates)
        return walk_breadth_first(
            self.symbols,
            starts,
            routes,
            depth,
            min_confidence=min_confidence,
            equivalents=equivalents,
            exact_relations=exact_relations,
        )

    def _to_neighbour(self, step: TraversalStep, listed_node: int | None = None) -> GraphNeighbour:
        """Return a step as a result; `listed_node` is shown instead of the node to which the step leads."""
        node = self.symbols.get_node(step.far_node if listed_node is None else listed_node)
        return GraphNeighbour(
            relation=NEIGHBOUR_RELATIONS[step.edge.relation, step.direction],
            path=node.path,
            line=step.edge.line,
            start_line=node.start_line,
            end_line=node.end_line,
            qualified_name=node.qualified_name,
            kind=node.kind,
            resolver=step.edge.resolver,
            confidence=step.confidence,
            depth=step.depth,
            via=self.symbols.qualified_names[step.near_node].as_py(),
            evidence=self.symbols.paths[step.edge.source],
            role=node.role,
        )

    def _to_hotspot(self, id: int) -> Hotspot:  # noqa: A002 - as in `SymbolGraph.get_node`
        node = self.symbols.get_node(id)
        routes: tuple[Routes, Routes] = ({"in": (*USE_RELATIONS, "imports")}, {"out": (*USE_RELATIONS, "imports")})
        users, uses = (len(walk_breadth_first(self.symbols, [id], route)) for route in routes)
        return Hotspot(
            path=node.path,
            start_line=node.start_line,
            end_line=node.end_line,
            qualified_name=node.qualified_name,
            kind=node.kind,
            centrality=round(node.centrality, 4),
            users=users,
            uses=uses,
        )

    def _to_outline_entry(self, id: int) -> OutlineEntry:  # noqa: A002 - as in `SymbolGraph.get_node`
        node = self.symbols.get_node(id)
        children = [self._to_outline_entry(child) for child in self.symbols.find_children(id)]
        return OutlineEntry(node.name, node.qualified_name, node.kind, node.start_line, node.end_line, children)


def _sort_neighbours(neighbours: Iterable[GraphNeighbour]) -> list[GraphNeighbour]:
    """Return neighbours by distance, with tests, examples, generated and vendored code last at each distance."""
    return sorted(neighbours, key=lambda neighbour: (neighbour.depth, neighbour.role in _SECONDARY_ROLES))


def _get_min_confidence(*, candidates: bool) -> float:
    return 0.0 if candidates else MIN_RESOLVED_CONFIDENCE
