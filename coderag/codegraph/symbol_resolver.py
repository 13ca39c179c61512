"""Resolution of names to declarations of a code graph, with errors that suggest valid names."""

import re
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple, NoReturn

from coderag.codegraph.declaration_groups import TYPE_KINDS, DeclarationGroups
from coderag.codegraph.node_names import NodeMatch, NodeNames
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.codegraph.traversal import Routes, walk_breadth_first
from coderag.errors import AmbiguousNameError, InvalidQueryError, UnknownNameError
from coderag.schema.graph import GraphDeclaration
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND
from coderag.stores.symbol_table import fold_name, split_qualified
from coderag.text.composition import compose

MODULE_KINDS: Final = frozenset({FILE_KIND, EXTERNAL_KIND})

_MAX_NAMESAKES = 20
"""Maximum number of declarations of one name; a more frequent name carries no information."""

_MAX_SUGGESTIONS = 8
_MAX_BASE_DEPTH = 20
_OWNER_KINDS: Final = (TYPE_KINDS | {"impl", "namespace"}) - {"type_alias"}
_VALUE_KINDS: Final = frozenset({"variable", "constant", "field", "function", "macro", "type_alias"})
"""Kinds of values, whose members are declared by their type; the code graph does not know types of values."""

_VARIABLE_KINDS: Final = frozenset({"variable", "constant"})
_MIN_NAMESAKES = 2
_TYPE_ARGUMENTS: Final = re.compile(r"(?<=\w)<([\w\s,.:?&*'\[\]<>]+)>")
_NESTED_TYPE_ARGUMENTS: Final = re.compile(r"<.*>")
_TYPE_NAME: Final = re.compile(r"[A-Z]\w*[a-z]\w*")
_NAME_FORMS_HINT: Final = "Use a declaration's name, a path, `path:line` or `path::name`."
_MENTIONS_HINT: Final = f"{_NAME_FORMS_HINT} `coderag graph mentions NAME` lists the lines with any other."


class MissingMember(NamedTuple):
    """A member that its owner lacks, although another declaration has the member's name.

    Attributes:
        owner: The qualifier of the member, as the name spells it.
        member: The name without the qualifier.
        nodes: Types or modules with the owner's name; empty if there are none.
    """

    owner: str
    member: str
    nodes: list[int]


class SymbolResolver:
    """Resolves names to nodes.

    Args:
        graph: The graph.
        declaration_groups: Groups of declarations of one symbol.
        names: Names of the nodes.
    """

    def __init__(self, graph: SymbolGraph, declaration_groups: DeclarationGroups, names: NodeNames) -> None:
        self._graph = graph
        self._declaration_groups = declaration_groups
        self._names = names

    def resolve(self, name: str, *preferred_kinds: Collection[str]) -> list[int]:
        """Return the nodes of the one declaration, file or package that a name means.

        Args:
            name: As for `NodeNames.find`; also a folder, for all files directly in it, and an inherited member.
            preferred_kinds: Sets of kinds, most likely first.

        Raises:
            InvalidQueryError: The name is empty or not text.
            UnknownNameError: Nothing has the name.
            AmbiguousNameError: Several declarations have the name.
        """
        groups = self._find_groups(name, preferred_kinds, strict=True)
        if not groups:
            self._raise_unknown(name)
        groups = self._drop_tests(groups)
        if len(groups) > 1:
            self._raise_ambiguous(name, groups)
        return groups[0]

    def resolve_base(self, name: str, *preferred_kinds: Collection[str]) -> list[int]:
        """Return the nodes of the declaration that a name means; of several, the one that all others derive from.

        Raises:
            InvalidQueryError, UnknownNameError, AmbiguousNameError: As for `resolve`.
        """
        groups = self._find_groups(name, preferred_kinds, strict=True)
        for group in groups if len(groups) > 1 else ():
            routes: Routes = {"in": ("inherits", "implements", "overrides")}
            derived = {step.far_node for step in walk_breadth_first(self._graph, group, routes, _MAX_BASE_DEPTH)}
            if all(other is group or not derived.isdisjoint(other) for other in groups):
                return group
        return self.resolve(name, *preferred_kinds)

    def _drop_tests(self, groups: list[list[int]]) -> list[list[int]]:
        """Return the groups outside of tests, or all if there are none: a test may be named after its subject."""
        outside = [group for group in groups if any(self._graph.get_node(node).role != "test" for node in group)]
        return outside or groups

    def find_candidates(self, name: str, *preferred_kinds: Collection[str]) -> list[int]:
        """Return the nodes of all declarations that a name may mean, most central first; empty if there are none.

        The qualifier of a member may be a value of any type (``store.commit``). Then all members of that name are
        candidates, unless `find_missing_member` rules them out.
        """
        return [
            node for group in self._find_groups(name, preferred_kinds, strict=False)[:_MAX_NAMESAKES] for node in group
        ]

    def find_missing_member(self, name: str) -> MissingMember | None:
        """Return the missing member of ``Type.member`` if there is no such type, or it neither has nor inherits the member.

        None also if nothing has a member of that name, or if its qualifier may be a value.
        """
        matches = self._names.find(name)
        if not matches or self._find_in_scope(name, matches) or self._find_inherited(name):
            return None
        *scopes, member = split_qualified(name) or [""]
        if not scopes:
            return None
        owner = ".".join(scopes)
        owner_candidates = [
            match.node for match in self._names.find(scopes[-1]) if self._has_exact_name(match.node, scopes[-1])
        ]
        if any(self._graph.kinds[node] in _VALUE_KINDS for node in owner_candidates):
            return None
        owners = [node for node in owner_candidates if self._graph.kinds[node] in _OWNER_KINDS] or self._find_modules(
            scopes, member
        )
        # After one lower-case word comes a field of a value (`context.Request.Get`), after several a package.
        is_field = len(scopes) == 2 and scopes[0][0].islower()
        if owners or (_TYPE_NAME.fullmatch(scopes[-1]) and not is_field and not self._find_files(owner)):
            return MissingMember(owner, member, owners)
        return None

    def _has_exact_name(self, node: int, word: str) -> bool:
        """Return whether a declaration has a name in this exact spelling: ``store`` is a value, ``Store`` may be a type."""
        return (split_qualified(self._graph.names[node].as_py()) or [""])[-1] == word

    def _find_modules(self, scopes: Collection[str], member: str) -> list[int]:
        """Return the modules of a dotted name, unless one of them may re-export a member of that name.

        A single word does not count: it may be a value that shares its name with a module.
        """
        files = self._find_files(".".join(scopes)) if len(scopes) > 1 else []
        import_targets = (edge.target for file in files for edge in self._graph.find_edges(file, "out", ("imports",)))
        is_reexported = any(
            self._graph.kinds[node] in MODULE_KINDS or self._has_exact_name(node, member) for node in import_targets
        )
        return [] if is_reexported else files

    def _find_files(self, name: str) -> list[int]:
        return [match.node for match in self._names.find(name) if self._graph.kinds[match.node] == FILE_KIND]

    def to_declaration(self, node: int) -> GraphDeclaration:
        """Return a node as a public result, with a name that is unique in the graph."""
        symbol = self._graph.get_node(node)
        name = symbol.qualified_name
        distinct_namesakes = set(self._declaration_groups.find_namesakes(node)) - set(
            self._declaration_groups.find_group(node)
        )
        if any(self._graph.paths[other] == symbol.path for other in distinct_namesakes):
            name = f"{symbol.path}:{symbol.start_line}"
        elif symbol.path and symbol.kind != FILE_KIND and (distinct_namesakes or "." not in name):
            name = f"{symbol.path}::{name}"
        return GraphDeclaration(
            name, symbol.qualified_name, symbol.kind, symbol.path, symbol.start_line, symbol.end_line
        )

    def _find_groups(self, name: str, preferred_kinds: Iterable[Collection[str]], *, strict: bool) -> list[list[int]]:
        """Return the groups of declarations that a name means, most central first.

        Type arguments select the types with that many type parameters, if there are any. A name without arguments
        selects the types that are not generic if `strict`.
        """
        if not isinstance(name, str):
            raise InvalidQueryError(f"the name must be text, not {name!r}", hint=_NAME_FORMS_HINT)
        if not name.strip():
            raise InvalidQueryError("the name is empty", hint=_NAME_FORMS_HINT)
        groups = self._find_named_groups(name, preferred_kinds, strict=strict)
        if not groups and (type_arguments := _TYPE_ARGUMENTS.search(name)):
            groups = self._find_named_groups(
                name[: type_arguments.start()] + name[type_arguments.end() :], preferred_kinds, strict=strict
            )
            count = _NESTED_TYPE_ARGUMENTS.sub("", type_arguments[1]).count(",") + 1
            return self._filter_by_type_parameters(groups, count) or groups
        return (self._filter_by_type_parameters(groups, 0) if strict else []) or groups

    def _find_named_groups(
        self, name: str, preferred_kinds: Iterable[Collection[str]], *, strict: bool
    ) -> list[list[int]]:
        matches = self._names.find(name)
        nodes = self._find_in_scope(name, matches) or self._find_inherited(name)
        if not nodes and not strict and self.find_missing_member(name) is None:
            nodes = _select_best(matches)
        if not nodes and (files := self._names.find_files_in(name)):
            return [files]
        for kinds in preferred_kinds:
            if preferred_nodes := [node for node in nodes if self._graph.kinds[node] in kinds]:
                nodes = preferred_nodes
                break
        members = {node for node in nodes if int(self._graph.parents[node]) in nodes}  # a class's constructor
        imported = {node for node in nodes if self._is_import(node, nodes)}
        groups = self._declaration_groups.group_nodes(node for node in nodes if node not in members | imported)
        return sorted(groups, key=lambda group: -max(float(self._graph.centralities[node]) for node in group))

    def _is_import(self, node: int, nodes: Collection[int]) -> bool:
        """Return whether a variable is the local name of an imported one of the nodes: ``const run = require("./run")``."""
        graph = self._graph
        file = graph.find_containing_file(node)
        if len(nodes) < _MIN_NAMESAKES or file is None or graph.kinds[node] not in _VARIABLE_KINDS:
            return False
        line = int(graph.start_lines[node])
        imports = graph.find_edges(file, "out", ("imports",))
        return any(edge.line == line and edge.target in nodes and edge.target != node for edge in imports)

    def _filter_by_type_parameters(self, groups: Iterable[list[int]], count: int) -> list[list[int]]:
        return [group for group in groups if self._declaration_groups.count_type_parameters(group[0]) == count]

    def _find_in_scope(self, name: str, matches: Iterable[NodeMatch]) -> list[int]:
        """Return the best matches whose scopes or path contain all qualifiers of the name."""
        *qualifiers, _ = split_qualified(name) or [""]
        candidates = [
            match for match in matches if not qualifiers or self._has_qualifiers(match.node, name, qualifiers)
        ]
        named = [match for match in candidates if not self._is_titled(match.node)]
        nodes = _select_best(named or candidates)
        return (_filter_exact(self._graph, name, nodes) if qualifiers else []) or nodes

    def _is_titled(self, node: int) -> bool:
        """Return whether a node is a test case whose title reads as a qualified name: ``describe Net::Pool``."""
        return self._graph.roles[node] == "test" and len(split_qualified(self._graph.names[node].as_py())) > 1

    def _has_qualifiers(self, node: int, name: str, qualifiers: Iterable[str]) -> bool:
        symbol = self._graph.get_node(node)
        if symbol.kind in MODULE_KINDS or ":" in name.replace("::", ""):  # matched by path or module name
            return True
        words = {fold_name(word) for word in (*split_qualified(symbol.qualified_name), *split_qualified(symbol.path))}
        return all(fold_name(word) in words for word in qualifiers)

    def _find_inherited(self, name: str) -> list[int]:
        """Return the member of ``Type.member`` in the nearest base that has it."""
        *scopes, member_name = split_qualified(name) or [""]
        if not scopes:
            return []
        owners = self._find_in_scope(".".join(scopes), self._names.find(".".join(scopes)))
        for step in walk_breadth_first(self._graph, owners, {"out": ("inherits", "implements")}, _MAX_BASE_DEPTH):
            members = (
                node
                for node in self._declaration_groups.find_members([step.far_node])
                if compose(self._graph.names[node].as_py()) == member_name
            )
            if inherited_members := list(members):
                return inherited_members
        return []

    def _raise_unknown(self, name: str) -> NoReturn:
        suggestions = [f"`{similar_name}`" for similar_name in self._names.find_similar(name)]
        raise UnknownNameError(
            f"no declaration, file or package in the index is called {name!r}",
            hint=f"Did you mean {' or '.join(suggestions)}?" if suggestions else _MENTIONS_HINT,
        )

    def _raise_ambiguous(self, name: str, groups: list[list[int]]) -> NoReturn:
        candidates = [self.to_declaration(group[0]) for group in groups]
        suggestions = [f"`{candidate.name}`" for candidate in candidates[:_MAX_SUGGESTIONS]]
        more = f" or {len(candidates) - len(suggestions):,} others" if len(candidates) > len(suggestions) else ""
        message = f"{name!r} is the name of {len(candidates):,} declarations"
        raise AmbiguousNameError(message, hint=f"Use one of {', '.join(suggestions)}{more}.", candidates=candidates)


def _select_best(matches: Iterable[NodeMatch]) -> list[int]:
    candidates = list(matches)
    best = max((match.quality for match in candidates), default=0.0)
    return [match.node for match in candidates if match.quality == best]


def _filter_exact(graph: SymbolGraph, name: str, nodes: Iterable[int]) -> list[int]:
    """Return the nodes whose full qualified name equals the given one, with or without a path before it."""
    exact_names = {".".join(split_qualified(part)) for part in (name, name.partition("::")[2]) if part}
    return [node for node in nodes if compose(graph.qualified_names[node].as_py()) in exact_names]
