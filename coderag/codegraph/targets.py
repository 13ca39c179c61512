"""What a name asks for in a code graph: one declaration, or an error that says what to write instead."""

import re
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple, NoReturn

from coderag.codegraph.kin import TYPE_KINDS, Kin
from coderag.codegraph.names import Named, NodeNames
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.codegraph.walks import breadth_first
from coderag.errors import AmbiguousNameError, InvalidQueryError, UnknownNameError
from coderag.schema.graph import Declaration
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND
from coderag.stores.symbol_table import fold_name, split_qualified

MODULE_KINDS: Final = frozenset({FILE_KIND, EXTERNAL_KIND})

_MOST_NAMESAKES = 20
"""Declarations of one name that are looked at where all are meant; what is declared more often says nothing."""

_MOST_SHOWN = 8
_DEEPEST = 20  # bases of bases
_OWNERS: Final = (TYPE_KINDS | {"impl", "namespace"}) - {"type_alias"}
_VALUES: Final = frozenset({"variable", "constant", "field", "function", "macro", "type_alias"})
"""What may have members that are declared somewhere else: the code graph knows no types of values."""

_GENERIC: Final = re.compile(r"(?<=\w)<([\w\s,.:?&*'\[\]<>]+)>")
_INNER_ARGUMENTS: Final = re.compile(r"<.*>")
_LIKE_A_TYPE: Final = re.compile(r"[A-Z]\w*[a-z]\w*")
_WAYS_TO_SAY: Final = "Give a declaration's name, a path, `path:line` or `path::name`."


class Absent(NamedTuple):
    """A member that what is named before it has not, though something else has one of that name.

    Attributes:
        owner: What is named before it, as the name puts it.
        member: The name without that.
        nodes: The types or modules that are called as the owner is; none if nothing is.
    """

    owner: str
    member: str
    nodes: list[int]


class Targets:
    """Finds the nodes that a name asks for.

    Args:
        graph: The graph.
        kin: What counts as one in it.
        names: Its names.
    """

    def __init__(self, graph: SymbolGraph, kin: Kin, names: NodeNames) -> None:
        self._graph = graph
        self._kin = kin
        self._names = names

    def one(self, name: str, *preferred: Collection[str]) -> list[int]:
        """Return the nodes of one declaration, file or package.

        Args:
            name: See `NodeNames.find`; also a folder, for all files right in it, and a member that a type inherits.
            preferred: Kinds that can be meant, the likeliest first.

        Raises:
            InvalidQueryError: It is empty, or no text.
            UnknownNameError: Nothing has the name.
            AmbiguousNameError: Several have it.
        """
        groups = self._groups(name, preferred, strict=True)
        if not groups:
            self._unknown(name)
        if len(groups) > 1:
            self._ambiguous(name, groups)
        return groups[0]

    def all(self, name: str, *preferred: Collection[str]) -> list[int]:
        """Return the nodes of all that may be meant by a name, the most used first; none if nothing has it.

        What stands before a member may be a value of any type (``store.commit``): then all members of that name may be
        meant, unless the member is `absent`.
        """
        return [node for group in self._groups(name, preferred, strict=False)[:_MOST_NAMESAKES] for node in group]

    def absent(self, name: str) -> Absent | None:
        """Return what is wrong with ``Type.member`` if there is no such type, or it neither has nor inherits the member.

        None as well if nothing has a member of that name, or if what stands before it may be a value.
        """
        found = self._names.find(name)
        if not found or self._in_scope(name, found) or self._inherited(name):
            return None
        *scopes, member = split_qualified(name) or [""]
        if not scopes:
            return None
        owner = ".".join(scopes)
        named = [one.node for one in self._names.find(scopes[-1]) if self._is_called(one.node, scopes[-1])]
        if any(self._graph.kinds[node] in _VALUES for node in named):
            return None
        owners = [node for node in named if self._graph.kinds[node] in _OWNERS] or self._modules(scopes, member)
        # Behind one word in small letters is a field of a value (`context.Request.Get`), behind several a package.
        is_field = len(scopes) == 2 and scopes[0][0].islower()
        if owners or (_LIKE_A_TYPE.fullmatch(scopes[-1]) and not is_field and not self._files_of(owner)):
            return Absent(owner, member, owners)
        return None

    def _is_called(self, node: int, word: str) -> bool:
        """Whether a declaration has a name in this very spelling: ``store`` is a value, whatever ``Store`` is."""
        return (split_qualified(self._graph.names[node].as_py()) or [""])[-1] == word

    def _modules(self, scopes: Collection[str], member: str) -> list[int]:
        """Return the modules of a dotted name, if none can have got a member of that name by importing it.

        A single word may as well be a value that is called as some module is.
        """
        files = self._files_of(".".join(scopes)) if len(scopes) > 1 else []
        imported = (edge.target for file in files for edge in self._graph.edges(file, "out", ("imports",)))
        passed_on = any(self._graph.kinds[node] in MODULE_KINDS or self._is_called(node, member) for node in imported)
        return [] if passed_on else files

    def _files_of(self, name: str) -> list[int]:
        return [one.node for one in self._names.find(name) if self._graph.kinds[one.node] == FILE_KIND]

    def declaration(self, node: int) -> Declaration:
        """Return a node as a result."""
        known = self._graph.node(node)
        name = known.qualified_name
        others = set(self._kin.namesakes(node)) - set(self._kin.same(node))
        if any(self._graph.paths[other] == known.path for other in others):
            name = f"{known.path}:{known.start_line}"
        elif known.path and known.kind != FILE_KIND and (others or "." not in name):
            name = f"{known.path}::{name}"
        return Declaration(name, known.qualified_name, known.kind, known.path, known.start_line, known.end_line)

    def _groups(self, name: str, preferred: Iterable[Collection[str]], *, strict: bool) -> list[list[int]]:
        """Return the groups of nodes that count as one, the most used first.

        Where types are told apart by it, ``Box<T>`` has one type parameter, and ``Box`` none if there is such a one.
        """
        if not isinstance(name, str):
            raise InvalidQueryError(f"a name is text, not {name!r}", hint=_WAYS_TO_SAY)
        if not name.strip():
            raise InvalidQueryError("a name is empty", hint=_WAYS_TO_SAY)
        groups = self._named_groups(name, preferred, strict=strict)
        if not groups and (generic := _GENERIC.search(name)):
            groups = self._named_groups(name[: generic.start()] + name[generic.end() :], preferred, strict=strict)
            count = _INNER_ARGUMENTS.sub("", generic[1]).count(",") + 1
            return self._with_type_parameters(groups, count) or groups
        return (self._with_type_parameters(groups, 0) if strict else []) or groups

    def _named_groups(self, name: str, preferred: Iterable[Collection[str]], *, strict: bool) -> list[list[int]]:
        found = self._names.find(name)
        nodes = self._in_scope(name, found) or self._inherited(name)
        if not nodes and not strict and self.absent(name) is None:
            nodes = _best(found)
        if not nodes and (files := self._names.files_in(name)):
            return [files]
        for kinds in preferred:
            if of_kinds := [node for node in nodes if self._graph.kinds[node] in kinds]:
                nodes = of_kinds
                break
        members = {node for node in nodes if int(self._graph.parents[node]) in nodes}  # a class's constructor
        groups = self._kin.grouped(node for node in nodes if node not in members)
        return sorted(groups, key=lambda group: -max(float(self._graph.centralities[node]) for node in group))

    def _with_type_parameters(self, groups: Iterable[list[int]], count: int) -> list[list[int]]:
        return [group for group in groups if self._kin.n_type_parameters(group[0]) == count]

    def _in_scope(self, name: str, found: Iterable[Named]) -> list[int]:
        """Return the best of the nodes that have all words before a name in their scopes or path."""
        *qualifiers, _ = split_qualified(name) or [""]
        nodes = _best([one for one in found if not qualifiers or self._has_all(one.node, name, qualifiers)])
        return (_equal(self._graph, name, nodes) if qualifiers else []) or nodes

    def _has_all(self, node: int, name: str, qualifiers: Iterable[str]) -> bool:
        known = self._graph.node(node)
        if known.kind in MODULE_KINDS or ":" in name.replace("::", ""):  # found by the whole of it
            return True
        words = {fold_name(word) for word in (*split_qualified(known.qualified_name), *split_qualified(known.path))}
        return all(fold_name(word) in words for word in qualifiers)

    def _inherited(self, name: str) -> list[int]:
        """Return the member that a type has from the nearest of its bases, for ``Type.member``."""
        *scopes, last = split_qualified(name) or [""]
        if not scopes:
            return []
        owners = self._in_scope(".".join(scopes), self._names.find(".".join(scopes)))
        for step in breadth_first(self._graph, owners, {"out": ("inherits", "implements")}, _DEEPEST):
            members = (node for node in self._kin.members([step.far]) if self._graph.names[node].as_py() == last)
            if found := list(members):
                return found
        return []

    def _unknown(self, name: str) -> NoReturn:
        similar = [f"`{other}`" for other in self._names.similar(name)]
        raise UnknownNameError(
            f"nothing in the index is called {name!r}",
            hint=f"Did you mean {' or '.join(similar)}?" if similar else _WAYS_TO_SAY,
        )

    def _ambiguous(self, name: str, groups: list[list[int]]) -> NoReturn:
        candidates = [self.declaration(group[0]) for group in groups]
        ways = [f"`{one.name}`" for one in candidates[:_MOST_SHOWN]]
        more = f" or {len(candidates) - len(ways):,} others" if len(candidates) > len(ways) else ""
        message = f"{name!r} is the name of {len(candidates):,} declarations"
        raise AmbiguousNameError(message, hint=f"Say which: {', '.join(ways)}{more}.", candidates=candidates)


def _best(found: Iterable[Named]) -> list[int]:
    named = list(found)
    best = max((one.quality for one in named), default=0.0)
    return [one.node for one in named if one.quality == best]


def _equal(graph: SymbolGraph, name: str, nodes: Iterable[int]) -> list[int]:
    """Return the nodes whose whole qualified name is the one given, behind a path or without."""
    wanted = {".".join(split_qualified(part)) for part in (name, name.partition("::")[2]) if part}
    return [node for node in nodes if graph.qualified_names[node].as_py() in wanted]
