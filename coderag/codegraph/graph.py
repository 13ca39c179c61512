"""Questions to the code graph, by name: who calls, imports, extends, tests what, and what that leads to."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, get_args

import numpy as np

from coderag.codegraph.cycles import Level
from coderag.codegraph.cycles import cycles as find_cycles
from coderag.codegraph.kin import DISPATCHED, FUNCTION_KINDS, TYPE_KINDS, Kin
from coderag.codegraph.names import NodeNames
from coderag.codegraph.relations import BASES, CALLS, NOUNS, USES
from coderag.codegraph.symbol_graph import Direction, SymbolGraph
from coderag.codegraph.targets import MODULE_KINDS, Targets
from coderag.codegraph.walks import Routes, StandIns, Step, breadth_first, shortest_path
from coderag.errors import InvalidQueryError, UnknownNameError
from coderag.schema.graph import GraphCycle, GraphNeighbour, Hotspot, OutlineEntry
from coderag.schema.vocabulary import RESOLVED, Kind
from coderag.stores.graph_tables import FILE_KIND

_CALLABLE = FUNCTION_KINDS | TYPE_KINDS
_ABSTRACT = frozenset({"interface", "trait"})
_DECLARED: Final[frozenset[str]] = frozenset(get_args(Kind))
_OVERRIDES = ("overrides",)
_NOT_USED: Final = frozenset({"test", "example", "generated", "vendored"})
_TEST_DEPTH = 3  # calls between a test and what it tests without naming it


class CodeGraph:
    """The code graph of one generation, asked by name.

    A name is one of a declaration, plain (``login``) or qualified in any language's way (``Session.login``); a path or the
    end of one; a module's dotted name; a package; ``path:line``; or ``path::name``. Overloads, and a declaration with its
    header or stub, count as one. Results come nearest first; of equally near ones tests, examples, generated and vendored code
    last, and the surest first. With ``candidates`` what is not resolved is listed too, and less sure than
    `coderag.schema.vocabulary.RESOLVED`.

    Every method that takes a name raises `UnknownNameError` if nothing has it, and `AmbiguousNameError` if several
    declarations have it that could be meant; `permissive` takes all of them, and finds nothing where there is none.

    Args:
        symbols: The nodes and edges.
        permissive: Whether an ambiguous or unknown name is no error.
    """

    def __init__(self, symbols: SymbolGraph, *, permissive: bool = False) -> None:
        self.symbols = symbols
        self._is_permissive = permissive

    @cached_property
    def permissive(self) -> "CodeGraph":
        """The same graph where an ambiguous name means all declarations of it, and an unknown one none."""
        graph = CodeGraph(self.symbols, permissive=True)
        graph.kin, graph.targets = self.kin, self.targets
        return graph

    @cached_property
    def kin(self) -> Kin:
        """What counts as one declaration."""
        return Kin(self.symbols)

    @cached_property
    def targets(self) -> Targets:
        """What names mean."""
        return Targets(self.symbols, self.kin, NodeNames(self.symbols))

    # Calls

    def callers(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what calls a function, or instantiates a type.

        A call of a method that it overrides may be one of it: such callers have a confidence of 0.6 at most.
        """
        nodes = self._nodes(name, _CALLABLE)
        found = self._walk(self._with_files(nodes), {"in": CALLS}, depth, self.kin.users_of, candidates=candidates)
        return [*self._recursions(nodes, "in"), *found]

    def callees(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what a function, or anything in a type or file, calls or instantiates."""
        nodes = self._nodes(name, _CALLABLE)
        found = self._walk(self._with_members(nodes), {"out": CALLS}, depth, self.kin.used_by, candidates=candidates)
        return [*self._recursions(nodes, "out"), *found]

    def references(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what names a declaration without calling it: as a type, a decorator, a value, or to pass it on."""
        return self._walk(self._nodes(name), {"in": ("references",)}, 1, self._same, candidates=candidates)

    def users(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what calls, instantiates, names, extends or implements a declaration."""
        starts = self._with_files(self._nodes(name))
        return self._walk(starts, {"in": USES}, depth, self.kin.users_of, candidates=candidates)

    def uses(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what a declaration, or anything inside it, calls, instantiates, names, extends or implements."""
        starts = self._with_members(self._nodes(name))
        return self._walk(starts, {"out": USES}, depth, self.kin.used_by, candidates=candidates)

    # Imports

    def imports(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the files, declarations and packages that a file, or the file of a declaration, imports."""
        starts = self._nodes(name, {FILE_KIND})
        return self._walk(starts, {"out": ("imports",)}, depth, self.kin.whole_file, candidates=candidates)

    def importers(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the files that import a file, a package or a declaration.

        If none imports the declaration itself, or a type around it, those that import its file, with a confidence of 0.6
        at most.
        """
        starts = self._nodes(name, MODULE_KINDS)
        found = self._importers(starts, depth, self._imported_with, candidates=candidates)
        return found or self._importers(starts, depth, self._imported_beside, candidates=candidates)

    def is_member(self, name: str) -> bool:
        """Whether a name means something inside a type or function: who imports that does not use it by that."""
        nodes = self.targets.all(name)
        return bool(nodes) and all(self.symbols.around(node) for node in nodes)

    def _importers(
        self, starts: Sequence[int], depth: int, first: StandIns, *, candidates: bool
    ) -> list[GraphNeighbour]:
        def stand_ins(node: int) -> Iterable[tuple[int, float]]:
            return first(node) if node in starts else self.kin.whole_file(node)

        listed = {self.symbols.file_of(node) for node in starts}
        found = []
        for step in self._steps(starts, {"in": ("imports",)}, depth, stand_ins, candidates=candidates):
            file = self.symbols.file_of(step.far)
            if file is not None and file not in listed:
                listed.add(file)
                found.append(self._neighbour(step, file))
        return _what_is_used_first(found)

    def _imported_with(self, node: int) -> Iterable[tuple[int, float]]:
        """Yield what imports a node when it is imported: what is in a file, the types around a declaration."""
        if self.symbols.kinds[node] == FILE_KIND:
            yield from self.kin.whole_file(node)
            return
        for other in self.kin.same(node):
            for outer in (other, *self.symbols.around(other)):
                yield outer, 1.0

    def _imported_beside(self, node: int) -> Iterable[tuple[int, float]]:
        file = self.symbols.file_of(node)
        return () if file is None else ((file, DISPATCHED),)

    # Types

    def bases(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the types that a type extends or implements."""
        return self._walk(self._nodes(name, TYPE_KINDS), {"out": BASES}, depth, self._same, candidates=candidates)

    def subclasses(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the types that extend or implement a type."""
        return self._walk(self._nodes(name, TYPE_KINDS), {"in": BASES}, depth, self._same, candidates=candidates)

    def implementations(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what implements a type, its subclasses that are no interfaces; or the methods that override a method."""
        starts = self._nodes(name, TYPE_KINDS, {"method"})
        routes: Routes = {"in": (*BASES, "overrides")}
        found = self._walk(starts, routes, depth, self._same, candidates=candidates)
        return [neighbour for neighbour in found if neighbour.kind not in _ABSTRACT]

    def overrides(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the methods that override a method."""
        return self._walk(self._nodes(name, {"method"}), {"in": _OVERRIDES}, depth, self._same, candidates=candidates)

    def overridden(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the methods that a method overrides."""
        return self._walk(self._nodes(name, {"method"}), {"out": _OVERRIDES}, depth, self._same, candidates=candidates)

    # Tests, documents, and what may break

    def tests(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the tests of a declaration or file; if none tests it itself, those that call it on the way, or name it."""
        starts = self._with_members(self._nodes(name))
        if direct := self._walk(starts, {"in": ("tests",)}, 1, self._same, candidates=candidates):
            return direct
        for relations, depth in ((CALLS, _TEST_DEPTH), (USES, 1)):
            users = self._walk(starts, {"in": relations}, depth, self.kin.users_of, candidates=candidates)
            if tests := [replace(one, relation="test_for") for one in users if one.role == "test"]:
                return tests
        return []

    def documents(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the documents that name a declaration."""
        return self._walk(self._nodes(name), {"in": ("documents",)}, 1, self._same, candidates=candidates)

    def impact(self, name: str, depth: int = 3, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return what may break when a declaration, or a file, changes.

        That is what calls it, names it, extends or overrides it, tests it, and so on from there; likewise for its members;
        and the files that import it, if nothing in them is listed already: not those that import the type around a member.
        """
        named = self._nodes(name)
        routes: Routes = {"in": (*USES, "overrides", "tests")}
        steps = self._steps(
            self._with_members(named), routes, depth, self.kin.users_of, candidates=candidates, own=_OVERRIDES
        )
        users = _what_is_used_first(map(self._neighbour, steps))
        listed = {user.path for user in users}
        alone = [node for node in named if not self.symbols.around(node)]
        files = self._importers(alone, 1, self._imported_with, candidates=candidates)
        direct = [user for user in users if user.depth == 1]
        return [*direct, *(file for file in files if file.path not in listed), *users[len(direct) :]]

    # The whole

    def path(self, start: str, end: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """Return the steps of a shortest way from one declaration or file to another; empty if there is none.

        Calls come first. If they do not lead there, a call of a method may go on in those that override it, with a
        confidence of 0.6 at most; then other uses and imports are followed as well.
        """
        ends = self._with_members(self._nodes(end))
        starts = sorted({*self._with_members(self._nodes(start))} - {*ends})
        least = _least(candidates=candidates)
        for relations, stand_ins in (
            (CALLS, self.kin.used_by),
            (CALLS, self.kin.run_by),
            ((*USES, "imports"), self.kin.run_by),
        ):
            if steps := shortest_path(self.symbols, starts, ends, {"out": relations}, least=least, stand_ins=stand_ins):
                return [self._neighbour(step) for step in steps]
        return []

    def cycles(self, level: Level = "files") -> list[GraphCycle]:
        """Return the groups of files that import, or of declarations that call, one another, the smallest first.

        Raises:
            InvalidQueryError: There is no such level.
        """
        if level not in get_args(Level):
            raise InvalidQueryError(f"there are no cycles of {level!r}", hint=f"Give {' or '.join(get_args(Level))}.")
        found = find_cycles(self.symbols, ("imports",) if level == "files" else CALLS, level)
        return [
            GraphCycle(
                members=[self.targets.declaration(node).name for node in cycle.nodes],
                steps=[
                    self._neighbour(Step(edge, "out", number, edge.confidence))
                    for number, edge in enumerate(cycle.edges, 1)
                ],
            )
            for cycle in sorted(found, key=lambda cycle: (len(cycle.nodes), cycle.nodes))
        ]

    def hotspots(self, limit: int = 20, kind: str | None = None) -> list[Hotspot]:
        """Return what is most central, first.

        Args:
            limit: How many, at most.
            kind: Kind of declaration, ``file`` or ``external``; None for all declarations.

        Raises:
            InvalidQueryError: There is no such kind, or the limit is below 1.
        """
        symbols = self.symbols
        if limit < 1:
            raise InvalidQueryError(f"limit is {limit}; it must be 1 or more")
        if kind is not None and kind not in _DECLARED | MODULE_KINDS:
            known = ", ".join(sorted(_DECLARED | MODULE_KINDS))
            raise InvalidQueryError(f"nothing is of kind {kind!r}", hint=f"Give one of {known}.")
        kinds = MODULE_KINDS if kind is None else (kind,)
        listed = np.array([(word in kinds) != (kind is None) for word in symbols.kinds.words], bool)
        nodes = np.flatnonzero(listed[symbols.kinds.codes]) if symbols.n_nodes else np.zeros(0, np.int64)
        best = nodes[np.lexsort((nodes, -symbols.centralities[nodes]))][:limit]
        return [self._hotspot(node) for node in best.tolist()]

    def outline(self, path: str) -> list[OutlineEntry]:
        """Return what a file or declaration declares, nested, in order.

        Raises:
            UnknownNameError: It is a folder, or nothing has the name.
        """
        folder = path.removeprefix("./").rstrip("/") if isinstance(path, str) else ""
        if folder and any(
            f"{known}/".startswith(f"{folder}/") and known != folder for known in self.symbols.paths.words
        ):
            raise UnknownNameError(f"{folder} is a folder", hint="Name a file in it.")
        nodes = self._nodes(path, {FILE_KIND})
        return [self._entry(child) for node in nodes[:1] for child in self.symbols.children(node)]

    # Inside

    def _nodes(self, name: str, *preferred: Collection[str]) -> list[int]:
        """Return the nodes that a name means: of kinds that can be meant, else of any declaration before modules."""
        find = self.targets.all if self._is_permissive else self.targets.one
        return find(name, *preferred, _DECLARED, {FILE_KIND})

    def _with_files(self, nodes: Sequence[int]) -> list[int]:
        """Return the nodes with all that is in those of them that are files."""
        files = [node for node in nodes if self.symbols.kinds[node] == FILE_KIND]
        return sorted({*nodes, *(inside for file in files for inside in self.symbols.nodes_of_file(file))})

    def _with_members(self, nodes: Sequence[int]) -> list[int]:
        """Return the nodes with all that is inside them."""
        return [*nodes, *self.kin.members(nodes)]

    def _same(self, node: int) -> Iterable[tuple[int, float]]:
        return ((other, 1.0) for other in self.kin.same(node))

    def _walk(
        self, starts: Sequence[int], routes: Routes, depth: int, stand_ins: StandIns, *, candidates: bool
    ) -> list[GraphNeighbour]:
        steps = self._steps(starts, routes, depth, stand_ins, candidates=candidates)
        return _what_is_used_first(map(self._neighbour, steps))

    def _recursions(self, nodes: Sequence[int], direction: Direction) -> list[GraphNeighbour]:
        """Return the calls of functions by themselves, each function once; a walk never comes back to where it began."""
        edges = {
            edge.source: edge
            for node in nodes
            for edge in self.symbols.edges(node, "out", CALLS)[::-1]
            if edge.target == node
        }
        return [self._neighbour(Step(edge, direction, 1, edge.confidence)) for edge in edges.values()]

    def _steps(
        self,
        starts: Sequence[int],
        routes: Routes,
        depth: int,
        stand_ins: StandIns,
        *,
        candidates: bool,
        own: Collection[str] = (),
    ) -> list[Step]:
        if depth < 1:
            raise InvalidQueryError(f"depth is {depth}; it must be 1 or more")
        least = _least(candidates=candidates)
        return breadth_first(self.symbols, starts, routes, depth, least=least, stand_ins=stand_ins, own=own)

    def _neighbour(self, step: Step, shown: int | None = None) -> GraphNeighbour:
        """Return a step as a result; `shown` is listed in the place of the node that it leads to."""
        node = self.symbols.node(step.far if shown is None else shown)
        return GraphNeighbour(
            relation=NOUNS[step.edge.relation, step.direction],
            path=node.path,
            line=step.edge.line,
            start_line=node.start_line,
            end_line=node.end_line,
            qualified_name=node.qualified_name,
            kind=node.kind,
            resolver=step.edge.resolver,
            confidence=step.confidence,
            depth=step.depth,
            via=self.symbols.qualified_names[step.near].as_py(),
            evidence=self.symbols.paths[step.edge.source],
            role=node.role,
        )

    def _hotspot(self, id: int) -> Hotspot:  # noqa: A002 - as of `SymbolGraph.node`
        node = self.symbols.node(id)
        routes: tuple[Routes, Routes] = ({"in": (*USES, "imports")}, {"out": (*USES, "imports")})
        users, used = (len(breadth_first(self.symbols, [id], route)) for route in routes)
        return Hotspot(
            path=node.path,
            start_line=node.start_line,
            end_line=node.end_line,
            qualified_name=node.qualified_name,
            kind=node.kind,
            centrality=round(node.centrality, 4),
            users=users,
            uses=used,
        )

    def _entry(self, id: int) -> OutlineEntry:  # noqa: A002 - as of `SymbolGraph.node`
        node = self.symbols.node(id)
        children = [self._entry(child) for child in self.symbols.children(id)]
        return OutlineEntry(node.name, node.qualified_name, node.kind, node.start_line, node.end_line, children)


def _what_is_used_first(found: Iterable[GraphNeighbour]) -> list[GraphNeighbour]:
    """Return neighbours with what is made to be used before tests, examples and what was generated, at each distance."""
    return sorted(found, key=lambda one: (one.depth, one.role in _NOT_USED))


def _least(*, candidates: bool) -> float:
    return 0.0 if candidates else RESOLVED
